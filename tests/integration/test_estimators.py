"""Estimators of TensorFlow 2.15, in the virtual environment that `make test-estimator` makes."""

from __future__ import annotations

import json
import os
import re
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pitstop import journal
from pitstop.events import Restored, ScriptSaved, TrainerExited, TrainerStopped
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import JOURNAL_FILE, OUTPUT_FILE
from tests.integration.keras_run import SCRIPTS, KerasRun, Started
from tests.integration.supervisor import launch

PYTHON = Path(__file__).parents[2] / ".compat" / "estimators" / "bin" / "python"
LAST = 250
FAR = 100_000
KILLED = 128 + signal.SIGKILL
SHAPE = ("--chief", "--workers", "1", "--ps", "1", "--evaluator")
CHIEF, WORKER, STORE, EVALUATOR = TASKS = ("chief 0", "worker 0", "ps 0", "evaluator 0")

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")
pytestmark = [
    pytest.mark.skipif(not PYTHON.exists(), reason="make test-estimator makes its interpreter"),
    pytest.mark.timeout(300),
]


def test_an_estimator_that_is_stopped_saves_and_goes_on(tmp_path: Path) -> None:
    words = ("model", str(LAST))
    run = KerasRun(tmp_path, "estimator.py", words, interpreter=(str(PYTHON),))
    first = run.start()
    run.until_training(20)
    assert run.status()["level"] == "not_exact"
    assert run.pitstop("stop").returncode == 0
    assert launch.finish(first).returncode == EXIT_STOPPED
    stopped = run.last(TrainerStopped).step
    assert 20 <= stopped < LAST
    assert run.last(ScriptSaved) == ScriptSaved(stopped, "model")
    assert run.attempt().returncode == 0
    assert run.events(Restored, attempt=2)[0].step == stopped
    assert run.last(ScriptSaved).step == LAST
    output = (tmp_path / "run" / "attempts" / "2" / OUTPUT_FILE).read_text()
    assert "train_and_evaluate has returned" in output


@dataclass(frozen=True)
class Cluster:
    """A chief, a worker, a parameter server and an evaluator, launched as one."""

    folder: Path
    network: tuple[str, ...]

    def start(self, last_step: int, *options: str) -> Started:
        script = str(SCRIPTS / "estimator.py")
        words = ("launch", "--run-dir", "run", *SHAPE, *options, "--", str(PYTHON), script)
        return launch.start(
            self.folder,
            *words,
            "model",
            str(last_step),
            before=self.network,
            HOME=str(self.folder),
        )

    def said(self, task: str, attempt: int = 1) -> str:
        folder = self._member(task) / "attempts" / str(attempt)
        output = folder / OUTPUT_FILE
        return output.read_text() if output.exists() else ""

    def steps(self, task: str, attempt: int = 1) -> list[int]:
        return [int(step) for step in re.findall(r"^trains (\d+)", self.said(task, attempt), re.M)]

    def until_all_train(self, attempt: int = 1) -> None:
        """Waits until both train, and the evaluator has evaluated."""
        launch.until(lambda: all(self.steps(each, attempt) for each in (CHIEF, WORKER)))
        launch.until(lambda: self.evaluated(attempt))

    def evaluated(self, attempt: int = 1) -> list[int]:
        found = re.findall(r"Saving dict for global step (\d+)", self.said(EVALUATOR, attempt))
        return [int(step) for step in found]

    def rows(self) -> dict[str, Any]:
        answer = launch.call(self.folder, "status", "run", "--json")
        return {each["task"]: each for each in json.loads(answer.stdout)["members"]}

    def codes(self) -> dict[str, int]:
        return {task: row["exit_code"] for task, row in self.rows().items()}

    def kill(self, task: str) -> None:
        os.kill(self.rows()[task]["pid"], signal.SIGKILL)

    def stop(self, task: str = "") -> None:
        """Of one member, or of the folder of all."""
        run = str(self._member(task).relative_to(self.folder)) if task else "run"
        assert launch.call(self.folder, "stop", run).returncode == 0

    def why(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(launch.call(self.folder, "why", "run", "--json").stdout)
        return found

    def ended(self, task: str) -> float:
        """When the process of a task had ended."""
        entries = journal.read(self._member(task) / JOURNAL_FILE).entries
        return next(e.time_seconds for e in entries if isinstance(e.event, TrainerExited))

    def saved(self) -> int:
        """The step of the newest checkpoint."""
        found = re.search(r"model\.ckpt-(\d+)", (self.folder / "model" / "checkpoint").read_text())
        assert found is not None
        return int(found[1])

    def _member(self, task: str) -> Path:
        return self.folder / "run" / "members" / task.replace(" ", "-")


@pytest.fixture
def cluster(tmp_path: Path, network: tuple[str, ...]) -> Cluster:
    return Cluster(tmp_path, network)


@needs_root
@pytest.mark.parametrize("asked", ["Ctrl-C", "", WORKER, EVALUATOR])
def test_a_stop_of_a_cluster_loses_no_step_and_ends_the_evaluator_last(
    cluster: Cluster, asked: str
) -> None:
    started = cluster.start(FAR)
    cluster.until_all_train()
    if asked == "Ctrl-C":
        started.send_signal(signal.SIGINT)
    else:
        cluster.stop(asked)
    assert launch.finish(started).returncode == EXIT_STOPPED
    assert cluster.codes() == dict.fromkeys(TASKS, EXIT_STOPPED)
    saved = cluster.saved()
    assert saved >= max(*cluster.steps(CHIEF), *cluster.steps(WORKER))
    assert cluster.ended(WORKER) < cluster.ended(CHIEF) < cluster.ended(EVALUATOR)
    again = cluster.start(FAR)
    cluster.until_all_train(attempt=2)
    assert f"begins at {saved}, counted {saved}" in cluster.said(CHIEF, attempt=2)
    assert cluster.evaluated(attempt=2)[0] == saved
    cluster.stop()
    assert launch.finish(again).returncode == EXIT_STOPPED


@needs_root
def test_a_cluster_that_completes_ends_behind_its_last_evaluation(cluster: Cluster) -> None:
    started = cluster.start(LAST)
    assert launch.finish(started).returncode == 0
    assert cluster.codes() == dict.fromkeys(TASKS, 0)
    assert cluster.evaluated()[-1] >= LAST


@needs_root
def test_a_cluster_whose_chief_is_killed_ends_and_names_it(cluster: Cluster) -> None:
    started = cluster.start(FAR)
    cluster.until_all_train()
    cluster.kill(CHIEF)
    assert launch.finish(started).returncode == KILLED
    codes = cluster.codes()
    assert codes.pop(WORKER) == EXIT_STOPPED
    assert set(codes.values()) == {KILLED}
    why = cluster.why()
    assert why["first_failed"] == CHIEF
    assert why["members"][0]["cause"] == "killed_from_outside"


@needs_root
@pytest.mark.parametrize("killed", [CHIEF, WORKER, STORE])
def test_a_member_that_is_killed_begins_again(cluster: Cluster, killed: str) -> None:
    started = cluster.start(FAR, "--restarts", "2")
    cluster.until_all_train()
    cluster.kill(killed)
    launch.until(lambda: cluster.rows()[killed]["attempt"] == 2)
    reached = max(cluster.steps(CHIEF))
    attempt = 2 if killed == WORKER else 1
    launch.until(lambda: max(cluster.steps(WORKER, attempt), default=0) > reached + 50)
    cluster.stop()
    assert launch.finish(started).returncode == EXIT_STOPPED
    assert cluster.codes() == dict.fromkeys(TASKS, EXIT_STOPPED)


@needs_root
def test_a_cluster_goes_on_without_a_worker_that_is_killed(cluster: Cluster) -> None:
    started = cluster.start(FAR)
    cluster.until_all_train()
    cluster.kill(WORKER)
    launch.until(lambda: cluster.rows()[WORKER]["state"] == "failed")
    reached = max(cluster.steps(CHIEF))
    launch.until(lambda: max(cluster.steps(CHIEF)) > reached + 20)
    cluster.stop()
    # It is the leader's.
    assert launch.finish(started).returncode == EXIT_STOPPED
    assert cluster.codes() == {**dict.fromkeys(TASKS, EXIT_STOPPED), WORKER: KILLED}
    assert cluster.why()["first_failed"] == WORKER
