"""What fits may be handled; everything else is told what is wrong with it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.messages import (
    MESSAGES,
    MalformedMessage,
    Message,
    Persist,
    UnknownMessage,
    message_from,
)
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
    ("client_request", {"command": "status"}, 0),
    ("client_request", {"command": "checkpoint", "name": "before-lr"}, 0),
    ("event_report", {"event": {"kind": "level_known"}}, 0),
    ("arena_offer", {"size_bytes": 4096, "backing": "memory"}, 1),
    ("snapshot_report", SNAPSHOT, 0),
    ("restore_request", {"checkpoint": "00000007"}, 0),
    ("vitals_report", VITALS, 0),
]

BAD: list[tuple[str, dict[str, Any], int]] = [
    ("hello", {"pid": "abc"}, 0),
    ("hello", {**HELLO, "argv": 5}, 0),
    ("hello", {**HELLO, "pid": True}, 0),
    ("client_request", {}, 0),
    ("client_request", {"command": "checkpoint", "name": "x" * 63 + "\u00e9"}, 0),
    ("client_request", {"command": "stop", "reason": ["now"]}, 0),
    ("event_report", {}, 0),
    ("event_report", {"event": "level_known"}, 0),
    ("arena_offer", {"size_bytes": 4096}, 0),
    ("arena_offer", {"size_bytes": -1}, 1),
    ("snapshot_report", {**SNAPSHOT, "step": 1 << 70}, 0),
    ("restore_request", {"checkpoint": "../../etc"}, 0),
    ("vitals_report", {**VITALS, "metrics": {"loss": "low"}}, 0),
    ("vitals_report", {**VITALS, "allocators": [{"device": "GPU:0"}]}, 0),
]


@pytest.mark.parametrize(("type_", "body", "fds"), GOOD)
def test_what_our_own_processes_say_fits(type_: str, body: dict[str, Any], fds: int) -> None:
    message = message_from({"type": type_, **body}, fds)
    assert message.type == type_
    assert {**message.to_body(), **body} == message.to_body()


@pytest.mark.parametrize(("type_", "body", "fds"), BAD)
def test_what_nobody_could_handle_does_not(type_: str, body: dict[str, Any], fds: int) -> None:
    assert isinstance(message_from({"type": type_, **body}, fds), MalformedMessage)


def test_members_and_messages_of_a_newer_version_are_passed_by() -> None:
    assert message_from({"type": "persist", "reason": "stop", "moon": 1}, 0) == Persist("stop")
    assert message_from({"type": "dance", "moon": 1}, 0) == UnknownMessage("dance")


def test_every_member_of_every_message_is_checked() -> None:
    for cls in MESSAGES.values():
        members = {each.name: object() for each in fields(cls)}
        found = message_from({**members, "type": cls.type}, max(cls.fds, 0))
        assert isinstance(found, MalformedMessage) or not members


@given(
    st.sampled_from(sorted(MESSAGES)),
    st.dictionaries(st.sampled_from(["pid", "argv", "name", "event", "step"]), JSON_VALUES),
)
def test_whatever_comes_there_is_a_message(type_: str, body: dict[str, Any]) -> None:
    assert isinstance(message_from({"type": type_, **body}, 0), Message)
