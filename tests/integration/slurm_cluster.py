"""A Slurm of two nodes on this machine, in a network of its own."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.integration.supervisor import launch

NODES = ("node1", "node2")
PROGRAMS = ("slurmctld", "slurmd", "munged", "sbatch")
_CONFIGURATION = """\
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
KillWait=30
JobRequeue=1
SchedulerParameters=batch_sched_delay=0,sched_interval=2
NodeName=node1 NodeHostname={host} NodeAddr=127.0.0.1 Port=17001 CPUs=1 State=UNKNOWN
NodeName=node2 NodeHostname={host} NodeAddr=127.0.0.1 Port=17002 CPUs=1 State=UNKNOWN
PartitionName=main Nodes=node1,node2 Default=YES MaxTime=INFINITE State=UP
"""


def is_here() -> bool:
    """Whether Slurm is installed, and this user may start it."""
    return os.geteuid() == 0 and all(map(shutil.which, PROGRAMS))


@dataclass(frozen=True)
class SlurmCluster:
    """Commands that reach it: `network` are the words before a command."""

    network: tuple[str, ...]
    variables: Mapping[str, str]

    def call(self, *words: object) -> str:
        command = [*self.network, *map(str, words)]
        shown = subprocess.run(
            command, env=self.variables, capture_output=True, text=True, check=True, timeout=60
        )
        return shown.stdout

    def job(self, number: str) -> dict[str, str]:
        """What Slurm knows of a job."""
        words = self.call("scontrol", "show", "job", number).split()
        return dict(word.split("=", 1) for word in words if "=" in word)


@contextmanager
def slurm(folder: Path, network: tuple[str, ...]) -> Iterator[SlurmCluster]:
    """Starts it, and ends it."""
    for name in ("state", *(f"spool.{node}" for node in NODES)):
        (folder / name).mkdir(parents=True)
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    configuration = folder / "slurm.conf"
    configuration.write_text(_CONFIGURATION.format(host=_host(), folder=folder))
    variables = {**launch.environment(), "SLURM_CONF": str(configuration)}
    munge = [f"--{name}={folder}/munge.{name}" for name in ("socket", "pid-file", "log-file")]
    seed = f"--seed-file={folder}/munge.seed"
    hosts = folder / "hosts"
    hosts.write_text(f"127.0.0.1 localhost {' '.join(NODES)}\n")
    mount = f"mount --bind {hosts} /etc/hosts"
    commands = (
        ("munged", "-F", "-f", f"--key-file={key}", *munge, seed),
        ("slurmctld", "-D", "-c"),
        *(("unshare", "-m", "sh", "-c", f"{mount} && exec slurmd -D -N {node}") for node in NODES),
    )
    # Slurm's daemons look for an address that is none of 127.0.0.0/8.
    subprocess.run([*network, "ip", "address", "add", "10.9.9.1/24", "dev", "lo"], check=True)
    with ExitStack() as stack:
        for daemon in commands:
            stack.enter_context(_daemon(folder, [*network, *daemon], variables))
            if daemon[0] == "munged":
                launch.until((folder / "munge.socket").exists)
        cluster = SlurmCluster(network, variables)
        launch.until(lambda: _idle(cluster) == len(NODES))
        yield cluster


def _host() -> str:
    return socket.gethostname().partition(".")[0]


def _idle(cluster: SlurmCluster) -> int:
    try:
        return cluster.call("sinfo", "-h", "-N", "-t", "idle").count("\n")
    except subprocess.CalledProcessError:
        return 0


@contextmanager
def _daemon(folder: Path, words: list[str], variables: Mapping[str, str]) -> Iterator[None]:
    with (folder / "daemons.log").open("ab") as log:
        process = subprocess.Popen(words, env=variables, stdout=log, stderr=log)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            process.kill()
