"""The tasks of a cluster and their addresses, as TensorFlow names them.  Pure.

Format: `tf.train.ClusterSpec.as_dict()`, which TF_CONFIG carries under "cluster": for each kind of
task a list of "host:port", or an object from index to "host:port".
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pitstop.record import Frozen

VARIABLE = "TF_CONFIG"
PORT_VARIABLE = "PITSTOP_CLUSTER_PORT"
EVALUATOR = "evaluator"  # the kind of the task that evaluates checkpoints; it has no address
REPLICA = "replica"  # the role of a process that takes each training step together with all others
ASSEMBLING = "assembling"
"""The role of a process before that: TensorFlow has it wait for all others."""

_TRAINING = ("chief", "master", "worker")
_MOST_CHARACTERS = 64
_PORT_OFFSET = 10_000
_MOST_PORT = 65_535
_MOST_TASKS = 100_000


@dataclass(frozen=True, order=True)
class Task:
    """One process of a cluster: its kind ("worker") and its number among those, from 0."""

    kind: str
    index: int

    def __str__(self) -> str:
        return f"{self.kind} {self.index}"

    @property
    def trains(self) -> bool:
        return self.kind in _TRAINING

    @classmethod
    def parse(cls, text: str) -> Self:
        """The task that `str` names, else a `ValueError`."""
        kind, _, index = text.rpartition(" ")
        if not kind or len(text) > _MOST_CHARACTERS:
            raise ValueError(f"{text[:_MOST_CHARACTERS]!r} is not a task of a cluster")
        return cls(kind, int(index))


class ClusterSpec(Frozen):
    """All tasks, with the address ("host:port") at which TensorFlow reaches each."""

    addresses: Mapping[Task, str]

    @classmethod
    def from_json(cls, body: Any) -> Self:
        """From the mapping that is described above; of no tasks where it is something else."""
        try:
            addresses = {
                Task(str(kind), int(index)): str(address)
                for kind, tasks in body.items()
                for index, address in _numbered(tasks)
            }
        except (ValueError, TypeError, AttributeError):
            addresses = {}
        return cls(addresses if len(addresses) <= _MOST_TASKS else {})

    @property
    def leader(self) -> Task | None:
        """The member whose end ends the training: the chief, or else the first worker."""
        for kind in _TRAINING:
            if tasks := [task for task in self.addresses if task.kind == kind]:
                return min(tasks)
        return None

    def has(self, task: Task) -> bool:
        return task in self.addresses or task == Task(EVALUATOR, 0)

    @property
    def counts(self) -> dict[str, int]:
        return dict(sorted(Counter(task.kind for task in self.addresses).items()))

    @property
    def trainers(self) -> frozenset[Task]:
        return frozenset(task for task in self.addresses if task.trains)


def _numbered(tasks: Any) -> list[tuple[Any, Any]]:
    if isinstance(tasks, dict):
        return list(tasks.items())
    if isinstance(tasks, list):
        return list(enumerate(tasks))
    raise ValueError("the tasks of a type are neither a list nor a mapping")


def leader_endpoint(spec: ClusterSpec, environment: Mapping[str, str]) -> tuple[str, int]:
    """Host and port of the leader's supervisor.

    TensorFlow's port of the leader moved by 10,000, or what PITSTOP_CLUSTER_PORT says.
    `ValueError` without a leader, or a port in its address.
    """
    if (leader := spec.leader) is None:
        raise ValueError("the cluster has no chief and no worker")
    host, _, port_text = spec.addresses[leader].rpartition(":")
    if not host:
        raise ValueError(f"the address of {leader} has no port")
    port = int(environment.get(PORT_VARIABLE) or _moved(int(port_text)))
    if not 0 < port <= _MOST_PORT:
        raise ValueError(f"{port} is not a port")
    return host.strip("[]"), port


def _moved(port: int) -> int:
    return port + _PORT_OFFSET if port + _PORT_OFFSET <= _MOST_PORT else port - _PORT_OFFSET


def shape(config: str) -> str:
    """The part of a TF_CONFIG that can change results; hosts and ports differ each time."""
    try:
        known = json.loads(config)
        counts = ClusterSpec.from_json(known["cluster"]).counts
        told = json.dumps({"cluster": counts, "task": known.get("task")}, sort_keys=True)
    except (ValueError, KeyError, TypeError, AttributeError):
        counts, told = {}, ""
    # TensorFlow says what is wrong with it, if the script uses it.
    return told if counts else config


def own_task(environment: Mapping[str, str]) -> Task | None:
    """Which task of the cluster this process is, as TF_CONFIG says."""
    own = _own(environment, "task")
    try:
        return Task.parse(f"{own['type']} {int(own['index'])}")
    except (ValueError, KeyError, TypeError):
        return None


def own_cluster(environment: Mapping[str, str]) -> dict[str, Any]:
    """All tasks as TF_CONFIG gives them, unread; empty where it gives none."""
    return _own(environment, "cluster")


def _own(environment: Mapping[str, str], member: str) -> dict[str, Any]:
    try:
        found = json.loads(environment.get(VARIABLE, ""))[member]
    except (ValueError, KeyError, TypeError):
        return {}
    return found if isinstance(found, dict) else {}


def members(environment: Mapping[str, str]) -> int:
    """How many processes train together, as TF_CONFIG says; 1 where it names no others."""
    return max(1, len(ClusterSpec.from_json(own_cluster(environment)).trainers))
