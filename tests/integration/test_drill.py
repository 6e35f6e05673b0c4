"""`pitstop drill` on scripts that resume exactly, that cannot, and that repeat nothing."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path
from typing import Any

from pitstop.drill.runner import RESULT_FILE
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import REAL
from tests.integration.supervisor import launch

SCRIPTS = Path(__file__).parent / "scripts"
LONGEST_SECONDS = 110.0


def _start(
    folder: Path,
    options: list[str],
    script: str,
    *arguments: str,
    interpreter: Interpreter = REAL,
) -> subprocess.Popen[bytes]:
    command = [*interpreter, str(SCRIPTS / script), *arguments]
    return launch.start(folder, "drill", *options, "--json", "--", *command)


def _drill(
    folder: Path,
    options: list[str],
    script: str,
    *arguments: str,
    interpreter: Interpreter = REAL,
) -> tuple[int, dict[str, Any], str]:
    process = _start(folder, options, script, *arguments, interpreter=interpreter)
    out, err = process.communicate(timeout=LONGEST_SECONDS)
    return process.returncode, json.loads(out or b"{}"), err.decode()


def test_an_exact_script_passes(tmp_path: Path, forked: Interpreter) -> None:
    arguments = ["out.npz", "--input", "tfdata-shuffle", "--callbacks", "--epochs", "2"]
    options = ["--kills", "1", "--stops", "1"]
    code, found, said = _drill(tmp_path, options, "train.py", *arguments, interpreter=forked)
    assert code == 0, found
    assert found["verdict"] == "exact"
    assert found["last_step"] == 40
    trials = found["trials"]
    assert [(each["kind"], each["step"]) for each in trials] == [("kill", 20), ("stop", 1)]
    # The checkpoint before a kill may have been on its way.
    assert 0 < trials[0]["resumed_at_step"] < 20
    assert trials[1]["resumed_at_step"] == 1
    assert [each["resumed_at_step"] + each["lost_steps"] for each in trials] == [20, 1]
    assert all(each["identical"] and each["comparison"]["coverage"]["tensors"] for each in trials)
    assert "all runs use this folder" in said
    folder = tmp_path / "runs" / ".drill" / "train"
    assert json.loads((folder / RESULT_FILE).read_text()) == found
    assert b"no run under" in launch.call(tmp_path, "ls").stdout


def test_a_state_that_no_resume_restores_is_found(tmp_path: Path, forked: Interpreter) -> None:
    options = ["--kills", "0", "--stops", "1", "--steps", "4", "--run-dir", "drill"]
    code, found, _ = _drill(tmp_path, options, "counts_batches.py", interpreter=forked)
    assert code == 1
    assert found["verdict"] == "not_exact"
    [trial] = found["trials"]
    assert (trial["step"], found["last_step"]) == (1, 4)
    comparison = trial["comparison"]
    # The rate of the third update is wrong, and the loss of the fourth step shows it.
    assert comparison["step"]["step"] == 4
    assert comparison["checkpoint"]["place"]["step"] == 4
    assert comparison["checkpoint"]["tensors"]
    # Where a checkpoint by cadence agrees by chance, the order of the input is named too.
    assert "not_restored_later" in [each["id"] for each in comparison["reasons"]]
    assert found["repetition"]["same"]


def test_a_script_that_differs_each_time_is_not_blamed_on_the_resume(
    tmp_path: Path, forked: Interpreter
) -> None:
    options = ["--kills", "1", "--stops", "0", "--steps", "8", "--run-dir", "drill"]
    code, found, said = _drill(tmp_path, options, "unseeded.py", interpreter=forked)
    assert code == 1
    assert found["verdict"] == "not_reproducible"
    assert found["repetition"]["step"]["step"] == 1
    assert [each["id"] for each in found["repetition"]["reasons"]][:1] == ["seeds_not_set"]
    assert "again without interruption" in said


def test_a_script_that_fails_by_itself_is_a_wrong_use(tmp_path: Path) -> None:
    code, found, _ = _drill(tmp_path, [], "exits_with_3.py")
    assert code == 2
    assert "failed without an interruption, with exit code 3" in json.dumps(found)
    assert (tmp_path / "runs" / ".drill" / "exits_with_3" / "uninterrupted.log").exists()


def test_an_end_of_the_drill_ends_the_run_under_way(tmp_path: Path) -> None:
    process = _start(tmp_path, ["--run-dir", "drill"], "sleeps_before_fit.py")
    launch.until((tmp_path / "drill" / "uninterrupted" / "journal.jsonl").exists)
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == 130
    launch.until(lambda: not launch.processes_in(tmp_path))
