"""A drill as people and programs read it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

from rich.console import Console

from pitstop.drill import Drill
from pitstop.plain_text import json_text
from pitstop.report import drill as report
from tests.drill.samples import AFTER_RESUME, EXACT, TWICE, UNSEEDED, WHOLE, drill, trial


def _text(found: Drill) -> str:
    out = io.StringIO()
    report.show(found, Console(file=out, width=200))
    return out.getvalue()


def test_an_exact_drill() -> None:
    text = _text(drill(trial(EXACT)))
    row = next(line for line in text.splitlines() if line.startswith("kill after step 6"))
    assert row.split()[4:] == ["4", "2", "identical", "8.5"]
    assert "Exact: 1 of 1 interrupted runs are identical." in text


def test_a_run_that_started_over_proves_no_resume() -> None:
    text = _text(drill(trial(EXACT), replace(trial(EXACT), resumed_at_step=0)))
    assert text.count("identical, started over") == 1
    assert "1 started over because nothing had been saved" in text


def test_a_resume_that_is_not_exact_names_step_and_reason() -> None:
    text = _text(drill(trial(AFTER_RESUME), again=WHOLE))
    assert "Not exact: an interrupted run differs" in text
    assert "at step 7 (epoch 2) the loss differs" in text
    assert "first step after drill/kill-at-6 was resumed at step 6" in text
    assert "`pitstop compare drill/uninterrupted drill/kill-at-6`" in text


def test_a_script_that_is_not_reproducible_by_itself() -> None:
    text = _text(drill(trial(AFTER_RESUME), trial(EXACT), again=UNSEEDED))
    assert "Not reproducible by itself" in text
    assert "First difference: at step 1" in text
    assert "All 2 steps that were repeated after a kill gave the same results." in text


def test_repeated_steps_that_differ_are_no_consolation() -> None:
    text = _text(drill(trial(TWICE), again=UNSEEDED))
    assert "gave the same results" not in text


def test_a_failed_resume() -> None:
    text = _text(drill(trial(None, "the resumed attempt failed with exit code 1"), again=WHOLE))
    assert "the resumed attempt failed with exit code 1" in text


def test_json() -> None:
    record = json.loads(
        json_text(report.to_json(drill(trial(EXACT), trial(AFTER_RESUME), again=WHOLE)))
    )
    assert record["verdict"] == "not_exact"
    assert [each["identical"] for each in record["trials"]] == [True, False]
    assert record["trials"][1]["comparison"]["step"]["step"] == 7
    assert record["repetition"]["same"] is True
