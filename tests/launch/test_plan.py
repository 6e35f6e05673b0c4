"""What is started for each member of a cluster."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pitstop.launch.plan import Member, plan, ports_needed
from pitstop.store.gang_folder import Shape

SHAPES = st.builds(
    Shape, st.integers(0, 1), st.integers(1, 5), st.integers(0, 4), st.integers(0, 1)
)


def _planned(shape: Shape) -> tuple[Member, ...]:
    return plan(shape, range(7001, 7001 + ports_needed(shape)), Path("runs/train"))


def _config(member: Member) -> Any:
    return json.loads(member.environment["TF_CONFIG"])


def test_every_member_has_its_task_and_all_have_one_cluster() -> None:
    members = _planned(Shape(chief=1, worker=2, ps=1, evaluator=1))
    assert [each.name for each in members] == [
        "chief 0", "worker 0", "worker 1", "ps 0", "evaluator 0",
    ]  # fmt: skip
    assert members[2].run_dir == Path("runs/train/members/worker-1")
    assert members[2].prefix == "worker 1 | "
    assert _config(members[2])["task"] == {"type": "worker", "index": 1}
    cluster = {
        "chief": ["127.0.0.1:7001"],
        "worker": ["127.0.0.1:7002", "127.0.0.1:7003"],
        "ps": ["127.0.0.1:7004"],
    }
    assert all(_config(each)["cluster"] == cluster for each in members)
    assert {each.environment["PITSTOP_CLUSTER_PORT"] for each in members} == {"7005"}


def test_the_chief_leads_or_the_first_worker_where_there_is_none() -> None:
    led = _planned(Shape(chief=1, worker=2)), _planned(Shape(worker=2, ps=1))
    assert [[each.name for each in members if each.leads] for members in led] == [
        ["chief 0"],
        ["worker 0"],
    ]


@given(SHAPES)
def test_no_two_members_share_a_port_or_a_folder(shape: Shape) -> None:
    members = _planned(shape)
    assert len({each.run_dir for each in members}) == len({each.name for each in members})
    assert len(members) == len(shape.tasks)
    own = [
        cluster[task["type"]][task["index"]]
        for cluster, task in (_config(each).values() for each in members)
        if task["type"] in cluster
    ]
    supervisors = members[0].environment["PITSTOP_CLUSTER_PORT"]
    ports = [address.rpartition(":")[2] for address in own]
    assert len({*ports, supervisors}) == len(ports) + 1 == ports_needed(shape)
