"""A task of a Slurm step as a worker of a cluster.

Source of the variables: `man srun`, "OUTPUT ENVIRONMENT VARIABLES".  Tasks are numbered node by
node (`--distribution=block`, Slurm's default for as many tasks as nodes and for full nodes).
"""

import re
import subprocess
from collections.abc import Mapping, Sequence

from pitstop.cluster import spec
from pitstop.errors import EnvironmentFault, UserError
from pitstop.launch.plan import config
from pitstop.record import Frozen
from pitstop.store.gang_folder import MOST_OF_A_KIND, Shape

_WORKER = "worker"
_FIRST_PORT = 12_000
_PORTS_OF_A_JOB = 16
_JOBS = 500
_COUNT = re.compile(r"(\d+)(?:\(x(\d+)\))?")
_NAMES_SECONDS = 20.0


class NotInSlurm(UserError):
    """The process is no task of a Slurm step."""

    def __init__(self, message: str) -> None:
        super().__init__(
            message, "Start it with srun: srun pitstop run --cluster slurm -- python train.py"
        )


class SlurmTask(Frozen):
    index: int
    count: int
    job: int
    node: int
    nodes: str  # as Slurm writes them
    tasks_on: tuple[int, ...]  # number of tasks of each node

    @property
    def shape(self) -> Shape:
        return Shape(worker=self.count)

    def variables(self, hosts: Sequence[str]) -> dict[str, str]:
        """Make this task a worker on these hosts; `UserError` unless numbered node by node."""
        nodes = [node for node, count in enumerate(self.tasks_on) for _ in range(count)]
        if len(hosts) != len(self.tasks_on) or nodes[self.index] != self.node:
            raise UserError(
                f"Task {self.index} runs on node {self.node} of its step, but tasks must be "
                "numbered node by node.",
                "Start it with srun --distribution=block.",
            )
        first = _FIRST_PORT + _PORTS_OF_A_JOB * (self.job % _JOBS)
        # Neighbours have different ports, also where two nodes are one machine.
        ports = (first + index % _PORTS_OF_A_JOB for index in range(len(nodes)))
        workers = [f"{hosts[node]}:{port}" for node, port in zip(nodes, ports, strict=True)]
        return {spec.VARIABLE: config({_WORKER: workers}, _WORKER, self.index)}


def task_of(environment: Mapping[str, str]) -> SlurmTask:
    """The task that this process is, else `NotInSlurm`."""
    try:
        task = SlurmTask(
            index=int(environment["SLURM_PROCID"]),
            count=int(environment["SLURM_STEP_NUM_TASKS"]),
            job=int(environment["SLURM_JOB_ID"]),
            node=int(environment["SLURM_NODEID"]),
            nodes=environment["SLURM_STEP_NODELIST"],
            tasks_on=_counts(environment["SLURM_STEP_TASKS_PER_NODE"]),
        )
    except (KeyError, ValueError) as error:
        raise NotInSlurm(f"This is not a task of a Slurm step: {error}.") from error
    if sum(task.tasks_on) != task.count or task.count > MOST_OF_A_KIND:
        raise NotInSlurm(f"Slurm reports both {task.count} and {sum(task.tasks_on)} tasks.")
    return task


def _counts(text: str) -> tuple[int, ...]:
    """`2(x3),1` is 2, 2, 2, 1."""
    found = [_COUNT.fullmatch(each) for each in text.split(",")]
    if not all(found):
        raise ValueError(f"{text!r} is not a list of counts")
    parts = [each.groups() for each in found if each]
    if sum(int(times or 1) for _, times in parts) > MOST_OF_A_KIND:
        raise ValueError("too many nodes")
    return tuple(int(count) for count, times in parts for _ in range(int(times or 1)))


def host_names(nodes: str) -> tuple[str, ...]:
    """The names of the nodes, one by one; `EnvironmentFault` where Slurm does not tell them."""
    words = ["scontrol", "show", "hostnames", nodes]
    try:
        shown = subprocess.run(
            words, capture_output=True, text=True, check=True, timeout=_NAMES_SECONDS
        )
    except (OSError, subprocess.SubprocessError) as error:
        reason = str(error).rstrip(".")
        raise EnvironmentFault(f"{' '.join(words)} does not answer: {reason}.") from error
    return tuple(shown.stdout.split())
