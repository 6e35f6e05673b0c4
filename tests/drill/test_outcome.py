"""What the trials of a drill prove."""

from __future__ import annotations

import pytest

from pitstop.drill import Drill, DrillVerdict
from tests.drill.samples import AFTER_RESUME, EXACT, TWICE, UNSEEDED, WHOLE, drill, trial


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        (drill(trial(EXACT), trial(EXACT)), DrillVerdict.EXACT),
        (drill(trial(EXACT), trial(AFTER_RESUME), again=WHOLE), DrillVerdict.NOT_EXACT),
        (drill(trial(AFTER_RESUME), again=UNSEEDED), DrillVerdict.NOT_REPRODUCIBLE),
        (drill(trial(TWICE), again=WHOLE), DrillVerdict.NOT_EXACT),
        (drill(trial(None, "it failed"), again=WHOLE), DrillVerdict.NOT_EXACT),
        (drill(trial(EXACT, "it ended early"), again=WHOLE), DrillVerdict.NOT_EXACT),
    ],
)
def test_verdicts(found: Drill, verdict: DrillVerdict) -> None:
    assert found.verdict is verdict
