"""What the trials of a drill prove."""

from __future__ import annotations

import pytest

from pitstop.drill import Drill, Verdict
from tests.drill.samples import AFTER_RESUME, EXACT, TWICE, UNSEEDED, WHOLE, drill, trial


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (drill(trial(EXACT), trial(EXACT)), Verdict.EXACT),
        (drill(trial(EXACT), trial(AFTER_RESUME), again=WHOLE), Verdict.NOT_EXACT),
        (drill(trial(AFTER_RESUME), again=UNSEEDED), Verdict.NOT_REPRODUCIBLE),
        (drill(trial(TWICE), again=WHOLE), Verdict.NOT_EXACT),
        (drill(trial(None, "it failed"), again=WHOLE), Verdict.NOT_EXACT),
        (drill(trial(EXACT, "it ended early"), again=WHOLE), Verdict.NOT_EXACT),
    ],
)
def test_verdicts(found: Drill, verdict: Verdict) -> None:
    assert found.verdict is verdict
