"""A training that waits for a process of its own: one that is suspended or was killed is named."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from pitstop.events import TrainingStalled
from pitstop.link.beacon import Beacon, Phase
from pitstop.machine.own_process import is_suspended, killed_by
from pitstop.supervisor.hangs.hang_monitor import HangMonitor
from pitstop.supervisor.hangs.watchdog import HangPolicy
from tests.integration.supervisor import launch

SECONDS = 20
PARENT = """
import subprocess, sys
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
sys.stdin.read()
"""


def test_a_training_that_waits_for_a_suspended_child_names_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PARENT]
    with (
        closing(Beacon.create()) as beacon,
        closing(HangMonitor(HangPolicy(), beacon, tmp_path / "stacks")) as monitor,
        subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as trainer,
    ):
        assert trainer.stdout is not None
        child = int(trainer.stdout.readline())
        beacon.write_phase(Phase.WAITING)
        subprocess.run(["kill", "-STOP", str(child)], check=True)
        launch.until(lambda: is_suspended(child))
        told = [each for now in range(SECONDS) for each in monitor.look(float(now), trainer.pid)]
        subprocess.run(["kill", "-KILL", str(child)], check=True)
    assert [type(each) for each in told] == [TrainingStalled]
    assert isinstance(told[0], TrainingStalled)
    assert (told[0].doing, told[0].action) == ("stopped", "warn")
    assert f"kill -CONT {child}" in told[0].place


def test_a_child_that_was_killed_and_that_nobody_collected_is_named(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PARENT]
    pipe = subprocess.PIPE
    with (
        closing(Beacon.create()) as beacon,
        closing(HangMonitor(HangPolicy(after_seconds=3), beacon, tmp_path / "stacks")) as monitor,
        subprocess.Popen(words, stdin=pipe, stdout=pipe) as trainer,
    ):
        assert trainer.stdout is not None
        child = int(trainer.stdout.readline())
        beacon.write_phase(Phase.TRAIN)
        subprocess.run(["kill", "-KILL", str(child)], check=True)
        launch.until(lambda: killed_by(child) == "SIGKILL")
        told = [each for now in range(90) for each in monitor.look(float(now), trainer.pid)]
    (stalled,) = (each for each in told if isinstance(each, TrainingStalled))
    assert stalled.workers == [f"process {child}, ended by SIGKILL; nobody waited for it"]
