"""Trackers show one run with each step once, in the environment that `make test-trackers` makes."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pitstop.exit_codes import EXIT_STOPPED
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor import launch

PYTHON = Path(__file__).parents[2] / ".compat" / "trackers" / "bin" / "python"
ENDINGS = (("SIGKILL", 13), ("SIGTERM", 34), ("SIGKILL", 52))

pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="make test-trackers makes its interpreter"),
    pytest.mark.timeout(400),
]


def _variables(folder: Path) -> dict[str, str]:
    quiet = {"WANDB_MODE": "offline", "WANDB_SILENT": "true", "HOME": str(folder)}
    search = os.pathsep.join((str(launch.SOURCE), str(launch.SOURCE.parent)))
    return {"PYTHONPATH": search, "MLFLOW_DISABLE_TELEMETRY": "true", **quiet}


def _rows(folder: Path, tracker: str) -> dict[str, dict[str, Any]]:
    words = [str(PYTHON), str(SCRIPTS / "tracked_rows.py"), tracker]
    environment = {**os.environ, **_variables(folder)}
    told = subprocess.run(words, cwd=folder, env=environment, check=True, stdout=subprocess.PIPE)
    found: dict[str, dict[str, Any]] = json.loads(told.stdout.splitlines()[-1])
    return found


@pytest.mark.parametrize("by", ["step", "epoch"])
@pytest.mark.parametrize("tracker", ["wandb", "mlflow", "autolog"])
def test_a_tracker_shows_one_run_and_each_step_once(tmp_path: Path, tracker: str, by: str) -> None:
    alone = tmp_path / "alone"
    alone.mkdir()
    words = [str(PYTHON), str(SCRIPTS / "tracked.py"), tracker, by]
    subprocess.run(words, cwd=alone, env={**os.environ, **_variables(alone)}, check=True)
    (expected,) = _rows(alone, tracker).values()

    run = KerasRun(
        tmp_path,
        "tracked.py",
        (tracker, by),
        ("--every", "5steps"),
        _variables(tmp_path),
        interpreter=(str(PYTHON),),
    )
    for name, step in ENDINGS:
        (tmp_path / "plan").write_text(f"{step} {name}")
        ended = run.attempt()
        assert ended.returncode == (137 if name == "SIGKILL" else EXIT_STOPPED), ended.stderr
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    (found,) = _rows(tmp_path, tracker).values()
    assert found.keys() == expected.keys()
    for key, rows in found.items():
        if key.endswith(("loss", "after", "step")):
            assert rows == expected[key], key
