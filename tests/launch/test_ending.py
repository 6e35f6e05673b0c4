"""The exit code of a launch, and how each member ended."""

from __future__ import annotations

import pytest

from pitstop.launch.member_process import (
    MEMBER_DISMISSED,
    MEMBER_OVER,
    MemberEnd,
    dismissal,
    exit_code,
)

COMPLETE = MemberEnd(0)
STOPPED = MemberEnd(75)
LED = MemberEnd(0, leads=True)
LED_STOPPED = MemberEnd(75, leads=True)
LED_FAILED = MemberEnd(1, failed=True, leads=True)
LED_WAITED = MemberEnd(75, dismissed=True, assembling=True, leads=True)
LED_DISMISSED = MemberEnd(75, dismissed=True, leads=True)
LED_BEFORE = MemberEnd(0, leads=True, idle=True)
FAILED = MemberEnd(3, failed=True)
SERVER_STOPPED = MemberEnd(143)
SERVER_DISMISSED = MemberEnd(143, failed=True, dismissed=True)


@pytest.mark.parametrize(
    ("ends", "code"),
    [
        ((COMPLETE, LED), 0),
        ((LED_STOPPED, STOPPED), 75),
        ((FAILED, LED_FAILED), 1),
        ((FAILED, LED_STOPPED), 3),
        ((MemberEnd(137, failed=True), LED_STOPPED), 75),
        ((MemberEnd(137, failed=True), FAILED, LED_STOPPED), 75),
        ((LED, FAILED, MemberEnd(4, failed=True)), 3),
        ((MemberEnd(137, failed=True), LED, FAILED), 137),
        ((LED, STOPPED), 75),
        ((LED, SERVER_STOPPED), 0),
        ((LED, MemberEnd(143, needed=True)), 143),
        ((LED, SERVER_DISMISSED), 0),
        ((LED, SERVER_DISMISSED, FAILED), 3),
        ((SERVER_STOPPED, LED_STOPPED), 75),
        ((FAILED, LED_WAITED), 3),
        ((STOPPED, LED_WAITED), 75),
        ((FAILED, LED_DISMISSED), 3),
        ((LED_BEFORE, SERVER_DISMISSED), 0),
        ((LED_BEFORE, MemberEnd(75, dismissed=True)), 75),
        ((LED_BEFORE, MemberEnd(75, dismissed=True, assembling=True)), 2),
        ((MemberEnd(137, failed=True), LED_DISMISSED), 75),
        ((MemberEnd(0, idle=True), LED_DISMISSED), 2),
        ((LED, MemberEnd(75, dismissed=True, evaluates=True)), 0),
        ((LED, MemberEnd(75, evaluates=True)), 75),
        ((LED_STOPPED, MemberEnd(75, dismissed=True, evaluates=True)), 75),
    ],
)
def test_the_exit_code_is_the_leaders_or_of_who_failed_first(
    ends: tuple[MemberEnd, ...], code: int
) -> None:
    assert exit_code(ends) == code


def test_how_each_ended_is_said_in_words() -> None:
    said = [str(each) for each in (COMPLETE, STOPPED, FAILED, MemberEnd(143, dismissed=True))]
    assert said == [
        "completed",
        "stopped (exit code 75)",
        "failed (exit code 3)",
        "was stopped because another member had ended (exit code 143)",
    ]


def test_why_others_are_dismissed() -> None:
    failed = dismissal("worker 1", FAILED)
    assert failed.code == MEMBER_DISMISSED
    assert failed.message == f"worker 1 {FAILED}"
    assert "worker 1" in failed.remedy
    over = dismissal("worker 0", MemberEnd(0, idle=True))
    assert over.code == MEMBER_OVER
    assert "--new" in over.remedy
