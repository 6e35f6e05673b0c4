"""TF_CONFIG tells whether a process trains with others."""

from __future__ import annotations

import json

import pytest

from pitstop.engine.gang import level_of_members, members, shape, task

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
    assert level_of_members({"TF_CONFIG": config}) is None


@pytest.mark.parametrize(
    "cluster", [{"worker": ["a:1", "b:1"]}, {"chief": ["a:1"], "worker": {"0": "b:1"}}]
)
def test_members_are_not_exact_by_themselves(cluster: dict[str, object]) -> None:
    level = level_of_members({"TF_CONFIG": json.dumps({"cluster": cluster})})
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
    assert task({"TF_CONFIG": config}) == ""


def test_a_task_is_named_by_its_kind_and_number() -> None:
    assert task({"TF_CONFIG": '{"task": {"type": "worker", "index": 1}}'}) == "worker 1"
