"""A run that is resumed with fewer CPUs ends with the same bits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.events import Notice
from tests.integration.chain import train_alone
from tests.integration.compare import assert_identical, first_difference
from tests.integration.keras_run import OUT, KerasRun

ARGUMENTS = ("--convolutions", "--epochs", "1")


@pytest.mark.skipif(len(os.sched_getaffinity(0)) < 2, reason="needs two CPUs")
@pytest.mark.timeout(240)
def test_a_resume_with_fewer_cpus_keeps_the_bits(tmp_path: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))[:2]
    (tmp_path / "alone").mkdir()
    (tmp_path / "one").mkdir()
    run = KerasRun(tmp_path, "train.py", (OUT, *ARGUMENTS), ("--every", "1steps"))
    try:
        os.sched_setaffinity(0, cpus)
        baseline = train_alone(tmp_path / "alone", ARGUMENTS)
        assert run.attempt("--halt-at-step", "7").returncode == 75
        os.sched_setaffinity(0, cpus[:1])
        on_one_cpu = train_alone(tmp_path / "one", ARGUMENTS)
        ended = run.attempt()
    finally:
        os.sched_setaffinity(0, os.sched_getaffinity(os.getppid()))
    assert ended.returncode == 0, ended.stderr
    assert run.last(Notice, 2).code == "threads_kept"
    assert_identical(baseline, tmp_path / OUT)
    assert first_difference(baseline, on_one_cpu), "one CPU gives the same bits: nothing was tested"
