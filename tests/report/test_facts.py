"""What was run, in a few words."""

from __future__ import annotations

from dataclasses import replace

from pitstop.events import LevelKnown
from pitstop.report.why import facts
from tests.diagnosis.attempts import CONNECTED, STARTED, attempt_of


def test_the_facts_of_an_attempt() -> None:
    started = replace(STARTED, command=["python", "my train.py", "x" * 500])
    found = dict(
        facts(attempt_of(started, CONNECTED, LevelKnown("exact_by_replay", "a generator")))
    )
    assert found["command"].startswith("python 'my train.py' xx")
    assert len(found["command"]) == 300
    assert found["host"] == "box"
    assert found["versions"] == "python 3.11.7, keras 3.15.1"
    assert found["a resume is"] == "exact by replay (a generator)"


def test_what_is_not_known_is_left_out() -> None:
    assert list(facts(attempt_of(CONNECTED))) == [("versions", "python 3.11.7, keras 3.15.1")]
