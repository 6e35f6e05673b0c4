"""Whatever a journal holds, there is a report on it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from pitstop.events import Event
from pitstop.journal import Journal
from pitstop.report import markdown, page, terminal, why
from pitstop.report.files import FORMS
from pitstop.steps import FILE_NAME, StepRecord, StepTrace
from tests.report.page.parsed import Page
from tests.strategies import any_event

_STEPS = st.lists(
    st.builds(
        StepRecord,
        st.integers(0, 2**63),
        st.integers(0, 9),
        st.integers(0, 9),
        st.floats(),
        st.floats(0, 4e9),
        st.just(0),
    ),
    max_size=9,
)


@settings(max_examples=25, deadline=None)
@given(st.lists(any_event, min_size=1, max_size=12), _STEPS, st.booleans())
def test_every_form_of_a_report(events: list[Event], steps: list[StepRecord], live: bool) -> None:
    with TemporaryDirectory() as name:
        run_dir = Path(name)
        folder = run_dir / "attempts" / "1"
        folder.mkdir(parents=True)
        trace = StepTrace(folder / FILE_NAME)
        for step in steps:
            trace.append(step)
        with Journal(run_dir / "journal.jsonl", 1) as journal:
            for event in events:
                journal.append(event)
        report = why(run_dir, live=live)
    assert not Page(page.render(report)).open
    json.loads(FORMS["report.json"](report))
    assert markdown.render(report).startswith("# Why ")
    terminal.show(report, Console(file=io.StringIO(), width=80))
