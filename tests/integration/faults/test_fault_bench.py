"""Trainings to which something really happens: `pitstop why` names it, and accuses nobody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.faults.catalog import FAST, SCENARIOS
from benchmarks.faults.ground import CannotInject
from benchmarks.faults.judge import judge, words_of
from benchmarks.faults.run import run
from benchmarks.faults.scenario import Scenario


def _parameter(scenario: Scenario) -> object:
    marks = [] if scenario.name in FAST else [pytest.mark.torture]
    if scenario.grounds:
        # Some make a mount namespace, which would hold the disks of other tests.
        marks = [*marks, pytest.mark.xdist_group("mounts")]
    if scenario.not_run:
        marks = [*marks, pytest.mark.skip(reason=scenario.not_run)]
    return pytest.param(scenario, id=scenario.name, marks=marks)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", [_parameter(each) for each in SCENARIOS])
def test_what_happened_is_named(scenario: Scenario, tmp_path: Path) -> None:
    try:
        ended = run(scenario, "supervised", tmp_path)
    except CannotInject as reason:
        pytest.skip(str(reason))
    found = judge(scenario, frozenset({ended.report["cause"]}), words_of(ended.report))
    assert found.kind == "right", words_of(ended.report)
    assert ended.left_behind == ()
