"""Custom loops with `pitstop.start`, fits with the callback: interrupted, the same bits."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, REAL, SCRIPTS
from tests.integration.supervisor import launch

KILLED = 128 + 9
# Exit code of the script itself, and the cause that is found.
KILL = (-9, "user_code_error")
STOP = (75, "preempted_or_terminated")

_PRINTS_CHILDREN = """
import os
import tensorflow as tf
import pitstop
from pitstop.flight.processes import descendants

steps = tf.Variable(0)
run = pitstop.start("run", steps=steps)
for _ in run.steps(2):
    steps.assign_add(1)
print(descendants([os.getpid()]))
"""

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]


@dataclass(frozen=True)
class Script:
    """A script that takes its output file and its run's folder; run in `folder`."""

    folder: Path
    name: str
    launcher: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    interpreter: Interpreter = REAL

    def run(self) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [*self.launcher, *self.interpreter, str(SCRIPTS / self.name), OUT, "run"],
            cwd=self.folder,
            env=launch.environment(TF_CPP_MIN_LOG_LEVEL="3", **self.environment),
            capture_output=True,
            check=False,
            timeout=90,
        )

    def say(self, command: str) -> dict[str, Any]:
        answer = launch.call(self.folder, command, "run", "--json")
        found: dict[str, Any] = json.loads(answer.stdout)
        return found

    def cause(self) -> str:
        """Why the last attempt ended; its supervisor may still be writing that down."""
        launch.until(lambda: self.say("status")["state"] not in ("starting", "running", "stopping"))
        return str(self.say("why")["cause"])


def uninterrupted(folder: Path, name: str, python: Interpreter) -> Path:
    folder.mkdir()
    ended = Script(folder, name, interpreter=python).run()
    assert ended.returncode == 0, ended.stderr.decode()
    return folder / OUT


def interrupted(
    folder: Path, name: str, faults: str, python: Interpreter, launcher: tuple[str, ...] = ()
) -> Script:
    folder.mkdir()
    environment = {"FAULTS": faults, "FAULTS_DONE": str(folder / "faults")}
    return Script(folder, name, launcher, environment, python)


@pytest.mark.parametrize(
    ("name", "faults", "ends"),
    [
        pytest.param("loop_api.py", "kill@9 stop@17", [KILL, STOP], marks=pytest.mark.fast),
        ("loop_graph.py", "kill@4 stop@11", [KILL, STOP]),
        # A stop ends its loop; the script goes on behind it, to its end.
        ("loop_batches.py", "stop@3 kill@103", [(0, STOP[1]), KILL]),
        ("fit_callback.py", "stop@7 kill@45", [STOP, KILL]),
        ("fit_returns.py", "stop@7 kill@45", [(0, STOP[1]), KILL]),
    ],
)
def test_without_a_launcher(
    tmp_path: Path, forked: Interpreter, name: str, faults: str, ends: list[tuple[int, str]]
) -> None:
    python = REAL if name == "loop_api.py" else forked
    expected = uninterrupted(tmp_path / "whole", name, python)
    script = interrupted(tmp_path / "parts", name, faults, python)
    for end in ends:
        ended = script.run()
        assert (ended.returncode, script.cause()) == end, ended.stderr.decode()
        assert not (script.folder / OUT).exists()
    ended = script.run()
    assert ended.returncode == 0, ended.stderr.decode()
    assert b"exact" in ended.stderr
    assert_identical(expected, script.folder / OUT)
    assert script.cause() == "completed_normally"


def test_the_supervisor_is_no_child_of_the_script(tmp_path: Path, forked: Interpreter) -> None:
    """Ray kills the children of a worker that ends."""
    script = tmp_path / "train.py"
    script.write_text(_PRINTS_CHILDREN)
    ended = subprocess.run(
        [*forked, script],
        cwd=tmp_path,
        env=launch.environment(),
        capture_output=True,
        text=True,
        check=True,
        timeout=90,
    )
    assert ended.stdout == "[]\n"


def test_under_the_launcher_its_folder_holds(tmp_path: Path, forked: Interpreter) -> None:
    launcher = (*launch.PITSTOP, "run", "--run-dir", "run", "--every", "1steps", "--")
    expected = uninterrupted(tmp_path / "whole", "loop_api.py", forked)
    script = interrupted(tmp_path / "parts", "loop_api.py", "kill@6", forked, launcher)
    assert script.run().returncode == KILLED
    assert script.cause() == "user_code_error"
    assert script.run().returncode == 0
    assert_identical(expected, script.folder / OUT)
    status = script.say("status")
    assert (status["state"], status["step"]) == ("completed", 40)


def test_a_finished_run_has_no_steps_left(tmp_path: Path, forked: Interpreter) -> None:
    expected = uninterrupted(tmp_path / "whole", "loop_graph.py", forked)
    before = expected.read_bytes()
    again = Script(expected.parent, "loop_graph.py", interpreter=forked).run()
    assert again.returncode == 0, again.stderr.decode()
    assert expected.read_bytes() == before
