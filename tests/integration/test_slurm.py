"""Workers in a step of a real Slurm: its time limit stops all at one step; requeued, all go on."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from pitstop.events import GangStopped, Restored
from tests.integration import slurm_cluster
from tests.integration.slurm_cluster import SlurmCluster
from tests.integration.supervisor import launch
from tests.integration.test_gangs import SCRIPT, STEPS, uninterrupted

__all__ = ["uninterrupted"]

pytestmark = [
    pytest.mark.skipif(not slurm_cluster.is_here(), reason="needs Slurm, and root to start it"),
    pytest.mark.timeout(500),
    pytest.mark.torture,
]
_DIGEST = re.compile(r"DIGEST \d (\w+)$", re.MULTILINE)
_JOB = """\
#!/bin/bash
#SBATCH --nodes=2 --ntasks-per-node=1 --time={minutes} --requeue --open-mode=append --output={out}
srun {python} -m pitstop.cli.main run --cluster slurm --run-dir {run} -- {command}
code=$?
echo "srun ended with $code"
[ $code = 75 ] && scontrol requeue $SLURM_JOB_ID
exit $code
"""


def ended(cluster: SlurmCluster, number: str) -> str:
    """Waits for the end of a job, requeues included; its state."""
    give_up_at = time.monotonic() + 400
    while time.monotonic() < give_up_at:
        state = cluster.job(number)["JobState"]
        if state in ("COMPLETED", "FAILED", "TIMEOUT", "CANCELLED"):
            return state
        time.sleep(0.5)
    raise AssertionError("the job does not end")


@pytest.mark.parametrize("by", ["signal", "time limit"])
def test_a_job_that_is_requeued_goes_on(
    tmp_path: Path, network: tuple[str, ...], uninterrupted: str, by: str
) -> None:
    out, run, script = (tmp_path / name for name in ("out.txt", "run", "job.sh"))
    # The training takes longer than two minutes.
    minutes, pace = (5, "0.05") if by == "signal" else (2, "0.5")
    command = f"{sys.executable} {SCRIPT} {STEPS} {pace}"
    job = {"out": out, "python": sys.executable, "run": run, "command": command}
    script.write_text(_JOB.format(minutes=minutes, **job))
    with slurm_cluster.slurm(tmp_path / "slurm", network) as cluster:
        number = cluster.call("sbatch", "--parsable", script).strip()
        if by == "signal":
            launch.until(lambda: out.exists() and "\nstep 20 " in out.read_text())
            cluster.call("scancel", "--signal=TERM", f"{number}.0")
        state = ended(cluster, number)
    text = out.read_text()
    assert state == "COMPLETED", text
    assert "srun ended with 75" in text
    assert set(_DIGEST.findall(text)) == {uninterrupted}, text
    members = [f"run/members/worker-{index}" for index in range(2)]
    [stopped] = {launch.events(tmp_path, GangStopped, each)[0].step for each in members}
    [restored] = {launch.events(tmp_path, Restored, each)[0].step for each in members}
    assert stopped == restored
