"""Whatever fails in Pitstop, the training is the training that it would have been."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from pitstop.engine.fence import FAILURES_FILE
from pitstop.events import InstrumentationUnavailable, Notice
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun

TRAININGS = re.compile(r"^(FIT|LOOP) (\S+) (.+)$", re.M)


@pytest.mark.timeout(300)
def test_a_training_does_not_notice_what_fails_in_who_watches_it(
    tmp_path: Path, forked: Interpreter
) -> None:
    plain = [*forked, str(SCRIPTS / "sabotaged.py")]
    alone = subprocess.run(plain, capture_output=True, text=True, cwd=tmp_path, check=True)
    run = KerasRun(tmp_path, "sabotaged.py", interpreter=forked)
    watched = run.attempt()
    assert watched.returncode == 0, watched.stderr
    found = TRAININGS.findall(watched.stdout.decode())
    assert found == TRAININGS.findall(alone.stdout)
    outcomes = {(kind, outcome) for kind, _, outcome in found}
    assert len(outcomes) == 2, found
    kept = (tmp_path / "run" / "attempts" / "1" / FAILURES_FILE).read_text()
    assert kept.count("Traceback") >= 15, kept
    notices = [each for each in run.events(Notice) if each.code == "observation_failed"]
    assert len(notices) == 1
    assert len(run.events(InstrumentationUnavailable)) == 1


@pytest.mark.timeout(300)
def test_a_training_whose_working_folder_is_removed_goes_on(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "folder_removed.py", interpreter=forked)
    watched = run.attempt()
    assert watched.returncode == 0, watched.stderr
    assert "SAVED 4" in watched.stdout.decode()
    assert not (tmp_path / "run" / "attempts" / "1" / FAILURES_FILE).exists()
    assert not run.events(InstrumentationUnavailable)
