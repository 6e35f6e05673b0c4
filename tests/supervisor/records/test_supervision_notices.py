"""What the user is told of standstills and restarts."""

from __future__ import annotations

from dataclasses import replace

from pitstop.events import (
    RestartCancelled,
    RestartPlanned,
    RestartRefused,
    ScriptEnded,
    TrainingStalled,
    TrainingWentOn,
)
from pitstop.supervisor.records.notices import line_for

STALLED = TrainingStalled(
    63.4, "first_step", 0, "input", "it waits for its input at data.py:7 in rows()", "warn"
)


def test_a_standstill_says_how_long_where_and_what_is_done() -> None:
    where = "no progress for 63 s at step 0 (first step)"
    assert line_for(STALLED) == f"{where}: {STALLED.place}."
    ended = line_for(replace(STALLED, action="kill", stacks_file="attempts/1/stacks.txt"))
    assert "Stacks: attempts/1/stacks.txt." in ended
    assert ended.endswith("It is being killed.")
    assert line_for(replace(STALLED, action="restart")).endswith(
        "It is being killed and restarted."
    )


def test_restarts_say_what_comes_next() -> None:
    planned = line_for(RestartPlanned("worker_lost", 1.26, 2, 5))
    assert planned == "failed (worker_lost); restart 2 of 5 in 1.3 s."
    at_once = line_for(RestartPlanned("native_crash", 0.0, 1, 5))
    assert at_once == "failed (native_crash); restart 1 of 5 at once."
    assert line_for(RestartRefused("unknown", "why")) == "not restarted: why."
    assert "run the same command again" in line_for(RestartCancelled("file"))
    assert "after 90 s" in line_for(TrainingWentOn(90.0))


def test_most_events_have_no_line() -> None:
    assert line_for(ScriptEnded(3)) == ""
