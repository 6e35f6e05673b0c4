"""Ways of scripts to keep state: each comes back, or is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.script_state.scripted import begun, process, saved_of

_RESTORED = {
    "structured array": """
        import numpy
        replay = numpy.zeros(3, [("n", "i4"), ("state", "f8", (2,))])
        def act(value):
            replay[0]["n"] += value
            replay["state"][1] += 0.5
            return int(replay[0]["n"]), replay["state"].tolist()
    """,
    "ctypes structure": """
        import ctypes
        class Place(ctypes.Structure):
            _fields_ = [("n", ctypes.c_int), ("parts", ctypes.c_double * 2)]
        place = Place()
        def act(value):
            place.n += value
            place.parts[1] += 0.5
            return place.n, place.parts[1]
    """,
    "globals()": """
        def act(value):
            globals()["total"] = globals().get("total", 0) + value
            return globals()["total"]
    """,
    "set of frozen objects": """
        import dataclasses
        @dataclasses.dataclass(frozen=True)
        class Seen:
            value: int
        seen = set()
        def act(value):
            seen.add(Seen(value))
            return sorted(each.value for each in seen)
    """,
    "objects as keys": """
        class Key:
            def __init__(self, name):
                self.name = name
            def __hash__(self):
                return hash(self.name)
            def __eq__(self, other):
                return self.name == other.name
        seen = {}
        def act(value):
            seen[Key(value)] = value
            return sum(seen.values()), seen[Key(2)]
    """,
}
_NAMED = {
    "views": """
        import numpy
        place = {}
        def act(value):
            if not place:
                place["all"] = numpy.zeros(4)
                place["part"] = place["all"][1:]
            place["part"][0] += value
            return place["all"].tolist()
    """,
    "another class": """
        class Warm:
            rate = 1
        class Cold(Warm):
            rate = 2
        now = Warm()
        def act(value):
            now.__class__ = Cold
            return now.rate
    """,
    "a queue of C": """
        import queue
        waiting = queue.SimpleQueue()
        def act(value):
            waiting.put(value)
            return waiting.qsize()
    """,
    "an object of a library with a lock": """
        import sched
        plan = sched.scheduler()
        def act(value):
            plan.enter(value, 1, print)
            return len(plan.queue)
    """,
    "objects in a long list": """
        class Item:
            hits = 0
        items = [Item() for _ in range(5000)]
        def act(value):
            items[-1].hits += value
            return items[-1].hits
    """,
}


def _script(source: str) -> str:
    return "\n".join(line.removeprefix(" " * 8) for line in source.splitlines())


@pytest.mark.parametrize("idiom", _RESTORED)
def test_it_comes_back(idiom: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected, found, told = _run(_RESTORED[idiom], monkeypatch, tmp_path)
    assert (found, told) == (expected, [])


@pytest.mark.parametrize("idiom", _NAMED)
def test_it_is_named(idiom: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _run(_NAMED[idiom], monkeypatch, tmp_path)[2]


def _run(
    source: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> tuple[list[Any], list[Any], list[str]]:
    """What the last steps give without and with an interruption, and what was told."""
    again = process(_script(source), monkeypatch, folder)
    script = again()
    expected = [script.act(value) for value in (2, 3, 4, 5)][2:]
    script = again()
    state = begun(act=script.act)
    for value in (2, 3):
        script.act(value)
    saved, arrays = saved_of(state)
    script = again()
    lost = begun(act=script.act).restore(saved, arrays, read_ahead=False)
    return expected, [script.act(value) for value in (4, 5)], state.unverified + lost
