"""The tasks of a cluster, as TensorFlow names them."""

from __future__ import annotations

import json

import pytest

from pitstop.cluster.spec import (
    ClusterSpec,
    Task,
    leader_endpoint,
    members,
    own_task,
    shape,
)
from pitstop.engine.exactness import level_of_members

ALONE = [
    "",
    "{}",
    "no json",
    "[]",
    '{"cluster": 3}',
    json.dumps({"cluster": {"worker": ["a:1"]}}),
    json.dumps({"cluster": {"chief": ["a:1"], "ps": ["b:1", "b:2"], "evaluator": ["c:1"]}}),
]


@pytest.mark.parametrize("config", ALONE)
def test_a_process_alone(config: str) -> None:
    assert members({"TF_CONFIG": config}) == 1
    assert level_of_members(environment={"TF_CONFIG": config}) is None


@pytest.mark.parametrize(
    "cluster", [{"worker": ["a:1", "b:1"]}, {"chief": ["a:1"], "worker": {"0": "b:1"}}]
)
def test_members_are_not_exact_by_themselves(cluster: dict[str, object]) -> None:
    level = level_of_members(environment={"TF_CONFIG": json.dumps({"cluster": cluster})})
    assert level is not None
    assert level.level == "not_exact"
    assert "2 processes" in level.reason


def test_hosts_and_ports_are_not_the_shape() -> None:
    before = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}
    moved = {**before, "cluster": {"worker": ["a:7", "c:9"]}}
    another = {**before, "task": {"type": "worker", "index": 1}}
    grown = {**before, "cluster": {"worker": ["a:1", "b:1", "c:1"]}}
    assert shape(json.dumps(moved)) == shape(json.dumps(before))
    assert len({shape(json.dumps(each)) for each in (before, another, grown)}) == 3
    assert shape("no json") == "no json"


@pytest.mark.parametrize("config", [*ALONE, '{"task": {"type": "ps"}}', '{"task": {"index": "x"}}'])
def test_a_task_that_is_not_told_has_no_name(config: str) -> None:
    assert own_task({"TF_CONFIG": config}) is None


def test_a_task_is_named_by_its_kind_and_number() -> None:
    config = '{"task": {"type": "worker", "index": 1}}'
    assert own_task({"TF_CONFIG": config}) == Task("worker", 1)
    assert Task.parse(str(Task("worker", 1))) == Task("worker", 1)


@pytest.mark.parametrize(
    ("cluster", "leader"),
    [
        ({"chief": ["a:1"], "worker": ["b:1"], "ps": ["c:1"]}, Task("chief", 0)),
        ({"worker": ["b:1", "c:1"]}, Task("worker", 0)),
        ({"worker": {"3": "b:1", "1": "c:1"}}, Task("worker", 1)),
        ({"master": ["a:1"], "worker": ["b:1"]}, Task("master", 0)),
        ({"ps": ["a:1"]}, None),
    ],
)
def test_the_chief_leads_or_the_first_worker(cluster: object, leader: Task | None) -> None:
    assert ClusterSpec.from_json(cluster).leader == leader


@pytest.mark.parametrize(
    ("address", "variables", "endpoint"),
    [
        ("a:2222", {}, ("a", 12222)),
        ("a:60000", {}, ("a", 50000)),
        ("[::1]:80", {}, ("::1", 10080)),
        ("a:2222", {"PITSTOP_CLUSTER_PORT": "7"}, ("a", 7)),
    ],
)
def test_all_members_find_the_leader_by_its_address(
    address: str, variables: dict[str, str], endpoint: tuple[str, int]
) -> None:
    spec = ClusterSpec.from_json({"chief": [address], "ps": ["b:1"]})
    assert leader_endpoint(spec, variables) == endpoint


@pytest.mark.parametrize("cluster", [{"ps": ["a:1"]}, {"chief": ["a"]}, {"chief": ["a:x"]}])
def test_a_leader_without_a_port_cannot_be_called(cluster: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        leader_endpoint(ClusterSpec.from_json(cluster), {})


@pytest.mark.parametrize("body", [None, [], 3, {"ps": 3}, {"ps": {"x": "a:1"}}])
def test_what_is_no_cluster_has_no_tasks(body: object) -> None:
    assert ClusterSpec.from_json(body) == ClusterSpec({})
