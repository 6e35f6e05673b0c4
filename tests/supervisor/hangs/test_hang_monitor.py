"""A training whose own child is suspended: the one to continue is named."""

from __future__ import annotations

import subprocess
import sys
from contextlib import closing
from pathlib import Path

from pitstop.events import TrainingStalled
from pitstop.link.beacon import Beacon, Phase
from pitstop.machine.own_process import is_suspended
from pitstop.supervisor.hangs.hang_monitor import HangMonitor
from pitstop.supervisor.hangs.watchdog import HangPolicy
from tests.integration.supervisor import launch

SECONDS = 20
PARENT = """
import subprocess
child = subprocess.Popen(["sleep", "60"])
print(child.pid, flush=True)
child.wait()
"""


def test_a_training_that_waits_for_a_suspended_child_names_it(tmp_path: Path) -> None:
    words = [sys.executable, "-c", PARENT]
    with (
        closing(Beacon.create()) as beacon,
        closing(HangMonitor(HangPolicy(), beacon, tmp_path / "stacks")) as monitor,
        subprocess.Popen(words, stdout=subprocess.PIPE) as trainer,
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
