"""The timeline of an attempt on a page."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from pitstop.diagnosis.event_words import MarkKind
from pitstop.report.page.timeline_section import fold, script_text, timeline_section
from pitstop.report.timeline import Mark, Panel, Series, Timeline, Unit

_SAVED = [Mark(float(i), MarkKind.CHECKPOINT, f"step {i} saved") for i in range(1, 101)]
_KILLED = Mark(100.5, MarkKind.END, "killed by </script><b>")
_LOSS = Panel("loss", "Loss", Unit.PLAIN, (Series("loss", ((0.0, 1.23456), (100.0, 0.5))),))
_TIMELINE = Timeline(0.0, 101.0, (_LOSS,), (*_SAVED, _KILLED))


def test_rows_of_checkpoints_are_told_once() -> None:
    stop = Mark(50.5, MarkKind.STOP, "stop")
    told = list(fold([*_SAVED[:50], stop, _SAVED[60], _KILLED]))
    assert [each.text for each in told] == [
        "step 50 saved, the last of 50",
        "stop",
        "step 61 saved",
        _KILLED.text,
    ]
    assert list(fold([])) == []


def test_the_script_gets_the_points_and_never_ends_early() -> None:
    section = timeline_section(_TIMELINE)
    [script] = section.iter("script")
    text = script.text or ""
    assert "<" not in text
    data = json.loads(text)
    assert data["seconds"] == 101
    assert data["panels"][0]["series"] == [{"name": "loss", "points": [0, 1.235, 100, 0.5]}]
    assert data["marks"][-1] == [100.5, _KILLED.text]


def test_signs_are_few_and_the_last_ones() -> None:
    signs = [
        each
        for each in timeline_section(_TIMELINE).iter("span")
        if each.get("class", "").startswith("sign") and each.get("title")
    ]
    assert len(signs) == 60
    assert signs[-1].get("title") == _KILLED.text
    assert signs[0].get("title") == "step 42 saved"


@pytest.mark.parametrize("seconds", [0.0, 0.004, 0.7, 101.0, 1e6])
def test_no_label_lies_beyond_the_axis(seconds: float) -> None:
    section = timeline_section(replace(_TIMELINE, ended_seconds=seconds))
    [axis] = [each for each in section.iter("div") if each.get("class") == "x"]
    places = [float(label.get("style", "")[len("left:") : -1]) for label in axis]
    assert places[0] == 0
    assert max(places) <= 100


def test_json_in_a_script() -> None:
    assert script_text({"a": "</script>"}) == '{"a":"\\u003c/script>"}'
