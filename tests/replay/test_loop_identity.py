"""Which loops are one loop."""

from __future__ import annotations

from dataclasses import replace

import pytest
import tensorflow as tf

from pitstop.engine.trainings.identity import Identity
from pitstop.replay import loop_identity
from pitstop.replay.loop_identity import LoopIdentity, LoopMatch, match

_PLACE = Identity(
    program="p",
    command="c",
    frames=("train.py:<module>:step:0",),
    counters=("seed=3", "step=0"),
    complete=True,
    seed="3",
)


def _loop(place: Identity = _PLACE, weight: float = 1.0) -> LoopIdentity:
    return LoopIdentity(place, loop_identity.look([tf.Variable([weight, 2.0])]))


_UNSEEDED = replace(_PLACE, seed="", counters=("batch=float32[2] 1a2b",))
_IN_A_WHILE = replace(_PLACE, counters=(), complete=False, values="1a")


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        (_loop(), _loop(), ""),
        (_loop(), _loop(replace(_PLACE, counters=("seed=4", "step=0"))), "another"),
        (_loop(), _loop(replace(_PLACE, frames=("train.py:tune:step:0",))), "another"),
        (_loop(), _loop(weight=1.5), "another"),
        (_loop(), _loop(weight=1.0001), "doubt"),
        (_loop(), _loop(replace(_PLACE, program="edited")), ""),
        (_loop(), _loop(replace(_PLACE, program="edited", counters=())), ""),
        (_loop(), _loop(replace(_PLACE, command="--rate"), weight=1.5), "changed"),
        (_loop(_UNSEEDED), _loop(_UNSEEDED, weight=1.5), "doubt"),
        (
            _loop(_UNSEEDED),
            _loop(replace(_UNSEEDED, counters=("batch=float32[2] 3c4d",)), weight=1.5),
            "doubt",
        ),
        (_loop(_UNSEEDED), _loop(replace(_UNSEEDED, counters=("trial=1",))), "another"),
        (_loop(_IN_A_WHILE), _loop(_IN_A_WHILE), ""),
        (_loop(_IN_A_WHILE), _loop(replace(_IN_A_WHILE, values="2b")), "another"),
    ],
)
def test_one_loop(before: LoopIdentity, now: LoopIdentity, verdict: str) -> None:
    said = [name for name, text in vars(match(before, now)).items() if text]
    assert said[:1] == ([verdict] if verdict else [])


def test_equal_loops_say_nothing() -> None:
    assert match(_loop(), _loop()) == LoopMatch()


def test_other_values_are_named() -> None:
    before = _loop(replace(_IN_A_WHILE, names={"rate": "1", "size": "7"}))
    now = _loop(replace(_IN_A_WHILE, values="2b", names={"rate": "2", "size": "7"}))
    assert "(rate)" in match(before, now).another
