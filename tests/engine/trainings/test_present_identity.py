"""Where a training is called, and what the loops around it count with."""

from __future__ import annotations

import argparse
import linecache
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pitstop.engine.trainings import present_identity
from pitstop.engine.trainings.identity import Identity
from pitstop.engine.trainings.present_identity import site_of

_SCRIPT = """
def train(rate, epochs=3):
    {extra}
    fit(rate); fit(
        epochs)

for trial, (rate, name) in enumerate([(0.1, "a"), (0.2, "b")]):
    if trial == 5:
        continue
    train(rate)

count = 0
while count < 1:
    count += 1
    fit(count)

list(map(train, [0.5]))
[fit(each) for each in range(1)]
"""


def sites(
    tmp_path: Path, extra: str = "pass", above: str = "", values: Mapping[str, Any] | None = None
) -> list[Identity]:
    """The sites of all calls of `fit` in the script."""
    file = tmp_path / "script.py"
    file.write_text(above + _SCRIPT.format(extra=extra))
    found: list[Identity] = []

    def fit(_: object) -> None:
        frame: FrameType | None = sys._getframe(1)
        stack: list[FrameType] = []
        while frame is not None and frame.f_code.co_filename == str(file):
            stack.insert(0, frame)
            frame = frame.f_back
        found.append(site_of(stack))

    names: dict[str, Any] = {"fit": fit, **(values or {})}
    linecache.checkcache(str(file))
    exec(compile(file.read_text(), str(file), "exec"), names)
    return found


def test_loops_tell_calls_of_one_place_apart(tmp_path: Path) -> None:
    first, second, third, *_ = sites(tmp_path)
    assert first.counters == ("trial=0", "rate=0.1", "name='a'")
    assert first.frames == ("script.py:<module>:train:0", "script.py:train:fit:0")
    assert second.frames[-1] == "script.py:train:fit:1"
    assert third.counters == ("trial=1", "rate=0.2", "name='b'")
    assert first.complete


def test_a_while_loop_does_not_say_where_it_is(tmp_path: Path) -> None:
    in_while = sites(tmp_path)[4]
    assert (in_while.counters, in_while.complete) == ((), False)


def test_what_a_library_calls_is_told_by_its_arguments(tmp_path: Path) -> None:
    mapped = sites(tmp_path)[5]
    assert mapped.arguments == ("rate=0.5", "epochs=3")
    assert mapped.complete


def test_a_comprehension_counts(tmp_path: Path) -> None:
    assert sites(tmp_path)[7].counters == ("each=0",)


@dataclass(frozen=True, slots=True)
class _Trial:
    rate: float
    layers: list[int] = field(default_factory=list)


class _Settings:
    def __init__(self, rate: object) -> None:
        self.rate = rate


def _counter(tmp_path: Path, value: object) -> tuple[tuple[str, ...], bool]:
    site = sites(tmp_path, values={"range": lambda _: [value]})[7]
    return site.counters, site.complete


def test_settings_in_an_object_count(tmp_path: Path) -> None:
    for kind in (_Trial, lambda rate: argparse.Namespace(rate=rate), _Settings):
        counters, complete = _counter(tmp_path, kind(0.1))
        assert complete
        assert (counters, True) == _counter(tmp_path, kind(0.1)) != _counter(tmp_path, kind(0.2))


def test_an_object_that_holds_more_than_settings_does_not_count(tmp_path: Path) -> None:
    for value in (_Settings(object()), object(), _Trial(0.1, [object()])):  # type: ignore[list-item]
        assert _counter(tmp_path, value) == ((), False)


def test_edits_elsewhere_change_nothing(tmp_path: Path) -> None:
    assert [each.frames for each in sites(tmp_path)] == [
        each.frames for each in sites(tmp_path, "print('x')", "import os\n\n")
    ]


def test_a_class_of_the_script_holds_values(monkeypatch: pytest.MonkeyPatch) -> None:
    class Settings:
        scale = 1.0

    own = {__name__: sys.modules[__name__]}
    monkeypatch.setattr(present_identity, "user_modules", lambda: own)

    before = site_of([sys._getframe()]).names
    Settings.scale = 2.0
    after = site_of([sys._getframe()]).names
    name = "Settings of test_a_class_of_the_script_holds_values"
    assert before[name] != after[name]


def test_a_look_leaves_the_names_of_a_function_alone() -> None:
    seen: list[Identity] = []

    def train(rate: float, look: Callable[[], None]) -> dict[str, Any]:
        given = dict(locals())
        given.pop("look")
        made_later = rate
        look()
        assert made_later == rate
        return given

    def look() -> None:
        seen.append(site_of([sys._getframe(1)]))

    assert train(0.5, look) == {"rate": 0.5}
    assert len(seen) == 1
