"""What fits may be handled; everything else is told what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.grammar import malformation_of
from pitstop.link.wire import Message
from tests.strategies import JSON_VALUES

HELLO = {"protocol": 1, "pid": 7, "python": "3.11", "argv": ["train.py"]}
SNAPSHOT = {"sequence": 1, "step": 2, "epoch": 0, "reason": "cadence", "durable": False}
VITALS: dict[str, Any] = {
    "metrics": {"loss": 0.5},
    "allocators": [],
    "learning_rate": None,
    "log_folder": "",
}

GOOD: list[tuple[str, dict[str, Any], int]] = [
    ("hello", HELLO, 0),
    ("request", {"command": "status"}, 0),
    ("request", {"command": "checkpoint", "name": "before-lr"}, 0),
    ("event", {"event": {"kind": "level_known"}}, 0),
    ("arena", {"size_bytes": 4096, "backing": "memory"}, 1),
    ("snapshot", SNAPSHOT, 0),
    ("restore", {"checkpoint": "00000007"}, 0),
    ("vitals", VITALS, 0),
]

BAD: list[tuple[str, dict[str, Any], int]] = [
    ("hello", {"pid": "abc"}, 0),
    ("hello", {**HELLO, "argv": 5}, 0),
    ("hello", {**HELLO, "pid": True}, 0),
    ("request", {}, 0),
    ("request", {"command": "checkpoint", "name": "x" * 63 + "\u00e9"}, 0),
    ("request", {"command": "stop", "reason": ["now"]}, 0),
    ("event", {}, 0),
    ("event", {"event": {"kind": None}}, 0),
    ("arena", {"size_bytes": 4096}, 0),
    ("arena", {"size_bytes": -1}, 1),
    ("snapshot", {**SNAPSHOT, "step": 1 << 70}, 0),
    ("restore", {"checkpoint": "../../etc"}, 0),
    ("vitals", {**VITALS, "metrics": {"loss": "low"}}, 0),
    ("vitals", {**VITALS, "time_seconds": 0.0}, 0),
    ("vitals", {**VITALS, "allocators": [{"device": "GPU:0"}]}, 0),
    ("malformed", {"reason": "no object"}, 0),
]


@pytest.mark.parametrize(("type_", "body", "fds"), GOOD)
def test_what_our_own_processes_say_fits(type_: str, body: dict[str, Any], fds: int) -> None:
    assert malformation_of(Message(type_, body, (0,) * fds)) == ""


@pytest.mark.parametrize(("type_", "body", "fds"), BAD)
def test_what_nobody_could_handle_does_not(type_: str, body: dict[str, Any], fds: int) -> None:
    assert malformation_of(Message(type_, body, (0,) * fds)) != ""


@given(
    st.sampled_from(sorted({type_ for type_, _, _ in GOOD})),
    st.dictionaries(st.sampled_from(["pid", "argv", "name", "event", "step"]), JSON_VALUES),
)
def test_whatever_comes_there_is_an_answer(type_: str, body: dict[str, Any]) -> None:
    assert isinstance(malformation_of(Message(type_, body)), str)
