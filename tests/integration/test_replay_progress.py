"""While batches are drawn again, the status tells how far that is."""

from __future__ import annotations

from pathlib import Path

from tests.integration.compare import assert_identical
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import OUT, KerasRun
from tests.integration.supervisor import launch

ARGUMENTS = ("--input", "stalling", "--epochs", "2")


def test_the_status_tells_how_many_batches_are_drawn_again(
    tmp_path: Path, baseline: Baseline, forked: Interpreter
) -> None:
    gate = tmp_path / "gate"
    gate.touch()
    run = KerasRun(
        tmp_path, "train.py", (OUT, *ARGUMENTS), environment={"GATE": str(gate)}, interpreter=forked
    )
    assert run.attempt("--halt-at-step", "30").returncode == 75
    gate.unlink()
    resumed = run.start()
    # The input waits in front of its 26th batch.
    launch.until(lambda: run.status()["replayed_batches"] == 25)
    shown = run.pitstop("status").stdout.decode()
    gate.touch()
    assert launch.finish(resumed).returncode == 0
    assert "replaying to step 30: 25 of 30 batches" in shown
    assert_identical(baseline(ARGUMENTS), tmp_path / OUT)
