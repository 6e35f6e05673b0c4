"""`fit` whose variables lie on parameter servers: no step of a worker is lost or counted twice."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import numpy as np
import pytest

from pitstop.events import CheckpointCommitted, LevelKnown, Notice, Restored, TrainerStopped
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.control.live_run import status_of
from pitstop.tensorflow.variables import stored_values
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import Started
from tests.integration.supervisor import launch
from tests.integration.test_parameter_servers import AT_ONCE, SLOW, Launched

pytest.importorskip("tf_keras", reason="Keras 2 comes in a package of its own")

SCRIPT = Path(__file__).parent / "scripts" / "fit_on_servers.py"
EPOCHS, STEPS = 3, 60
ALL = EPOCHS * STEPS
ENDS = f"ends {[[ALL, ALL], [ALL, ALL], ALL, ALL]} {list(range(EPOCHS))} {[EPOCHS] * 4}"

pytestmark = [
    pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root"),
    pytest.mark.timeout(400),
]


class FitLaunched(Launched):
    """A launched cluster whose chief calls `fit`."""

    def start(self, *options: str, pace: str = SLOW, lease: str = "") -> Started:
        words = ("launch", "--workers", "2", "--ps", "2", "--run-dir", "run", *options, "--")
        command = (*self.python, SCRIPT, EPOCHS, STEPS)
        variables = {"SAMPLE_PACE": pace, "PITSTOP_CLUSTER_LEASE": lease}
        return launch.start(self.folder, *words, *command, before=self.network, **variables)

    def until_step(self, step: int) -> None:
        chief = self.members / "chief-0"
        launch.until((chief / "run.json").exists)
        launch.until(lambda: (status_of(open_existing(chief)).step or 0) >= step)

    def has_ended_whole(self, attempts: int) -> None:
        """All steps of all epochs are counted once, and what callbacks keep went on."""
        assert ENDS in self.said(attempts).splitlines()
        assert self.draws(attempts) == uninterrupted()
        codes = [each.code for each in launch.events(self.members, Notice, "chief-0")]
        assert "observation_failed" not in codes


def uninterrupted() -> list[str]:
    np.random.seed(7)
    draws = [np.random.randint(1 << 30) for _ in range(EPOCHS)]
    return [f"epoch {i} {STEPS} {STEPS * (i + 1)} {i + 1} {draws[i]}" for i in range(EPOCHS)]


@pytest.fixture
def cluster(tmp_path: Path, network: tuple[str, ...]) -> FitLaunched:
    return FitLaunched(tmp_path, network)


def test_a_stop_within_an_epoch_saves_all_steps(
    tmp_path: Path, network: tuple[str, ...], forked_legacy: Interpreter
) -> None:
    cluster = FitLaunched(tmp_path, network, forked_legacy)
    started = cluster.start()
    cluster.until_step(90)
    started.send_signal(signal.SIGTERM)
    ended = launch.finish(started)
    assert ended.returncode == EXIT_STOPPED, ended.stderr
    [stopped] = launch.events(cluster.members, TrainerStopped, "chief-0")
    assert 90 <= stopped.step < 2 * STEPS
    saved = cluster.members / "chief-0" / "checkpoints" / f"{stopped.step:08}"
    values = stored_values.of_safetensors(saved / "tensors.safetensors")
    counters = [
        np.unique(value.read()).tolist()
        for name, value in values.items()
        if re.search(r"^variables/.*/(counts|iteration)", name)
    ]
    assert counters == [[stopped.step]] * 3
    again = launch.finish(cluster.start(pace=AT_ONCE))
    assert again.returncode == 0, again.stderr
    cluster.has_ended_whole(2)
    restored = launch.events(cluster.members, Restored, "chief-0")[-1]
    assert (restored.step, restored.step_in_epoch) == (stopped.step, stopped.step - STEPS)
    level = launch.events(cluster.members, LevelKnown, "chief-0")[-1]
    assert level.level == restored.level == "not_exact"
    assert "restart their input" in level.reason


@pytest.mark.torture
@pytest.mark.parametrize("member", ["chief-0", "ps-1"])
def test_a_killed_process_costs_no_step(cluster: FitLaunched, member: str) -> None:
    started = cluster.start("--restarts", "3", "--every", "30steps")
    cluster.until_step(90)
    launch.until(lambda: bool(launch.events(cluster.members, CheckpointCommitted, "chief-0")))
    cluster.processes(member)[1].kill()
    ended = launch.finish(started)
    assert ended.returncode == 0, ended.stderr
    cluster.has_ended_whole(2)
    assert launch.events(cluster.members, Restored, "chief-0")[-1].step >= 30
