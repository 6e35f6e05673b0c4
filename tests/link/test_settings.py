"""Settings travel in a message without change."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.settings import Settings
from pitstop.record import build

SETTINGS = st.builds(
    Settings,
    overhead=st.floats(0.0001, 1),
    every_steps=st.integers(0, 10**9),
    every_seconds=st.floats(0, 1e6),
    snapshot_memory_bytes=st.integers(0, 2**50),
    input_mode=st.sampled_from(["auto", "native", "replay"]),
    force=st.booleans(),
    halt_at_step=st.integers(0, 10**9),
    die_at_step=st.integers(0, 10**9),
    keep_best=st.lists(st.text(), max_size=2).map(tuple),
    saved_metrics=st.lists(
        st.tuples(st.integers(0, 1 << 60), st.dictionaries(st.text(), st.floats(allow_nan=False))),
        max_size=2,
    ).map(tuple),
)


@given(SETTINGS)
def test_there_and_back(settings: Settings) -> None:
    assert build(Settings, "settings", json.loads(json.dumps(vars(settings)))) == settings


@pytest.mark.parametrize(
    ("halt_at_step", "die_at_step", "last_step"), [(0, 0, 0), (9, 0, 9), (0, 4, 4), (9, 4, 4)]
)
def test_the_first_of_two_ends_counts(halt_at_step: int, die_at_step: int, last_step: int) -> None:
    settings = Settings(halt_at_step=halt_at_step, die_at_step=die_at_step)
    assert settings.last_step == last_step


def test_deterministic_ops_are_asked_for_in_the_environment() -> None:
    assert Settings().variables == {}
    assert Settings(deterministic=True).variables == {"TF_DETERMINISTIC_OPS": "1"}
