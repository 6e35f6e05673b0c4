"""What is started for each member: its run folder, its TF_CONFIG, its name.  Pure.

Format of TF_CONFIG: `tf.distribute.cluster_resolver.TFConfigClusterResolver`.  An evaluator has a
task and no address, as Estimators expect it.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from pitstop.cluster import spec
from pitstop.cluster.roster import STORES
from pitstop.record import Frozen
from pitstop.store.gang_folder import Shape, member_dir

HOST = "127.0.0.1"


class Member(Frozen):
    """One process of the cluster; `needed`: the others cannot go on without it."""

    name: str
    run_dir: Path
    environment: Mapping[str, str]
    leads: bool
    needed: bool

    @property
    def stores(self) -> bool:
        return self.name.startswith(STORES)

    @property
    def evaluates(self) -> bool:
        return self.name.startswith(spec.EVALUATOR)

    @property
    def prefix(self) -> str:
        return f"{self.name} | "


def ports_needed(shape: Shape) -> int:
    return len(_with_address(shape)) + 1


def plan(shape: Shape, ports: Sequence[int], path: Path) -> tuple[Member, ...]:
    """The members, the leader first; as many `ports` as `ports_needed`."""
    *servers, supervisors = ports
    cluster: dict[str, list[str]] = {}
    for (kind, _), port in zip(_with_address(shape), servers, strict=True):
        cluster.setdefault(kind, []).append(f"{HOST}:{port}")
    return tuple(
        Member(
            name=f"{kind} {index}",
            run_dir=member_dir(path, kind, index),
            environment={
                spec.VARIABLE: config(cluster, kind, index),
                spec.PORT_VARIABLE: str(supervisors),
            },
            leads=place == 0,
            # Those that parameter servers coordinate do not wait for each other.
            needed=place == 0
            or kind == STORES
            or (kind != spec.EVALUATOR and STORES not in cluster),
        )
        for place, (kind, index) in enumerate(shape.tasks)
    )


def config(cluster: Mapping[str, list[str]], kind: str, index: int) -> str:
    return json.dumps({"cluster": cluster, "task": {"type": kind, "index": index}})


def _with_address(shape: Shape) -> list[tuple[str, int]]:
    return [task for task in shape.tasks if task[0] != spec.EVALUATOR]
