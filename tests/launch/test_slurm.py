"""A task of a Slurm step becomes a worker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pitstop.errors import EnvironmentFault, UserError
from pitstop.launch import slurm
from pitstop.launch.choice import ShapeChanged, joined
from pitstop.launch.slurm import NotInSlurm
from pitstop.store.gang_folder import Shape

STEP = {
    "SLURM_PROCID": "2",
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_JOB_ID": "4003",
    "SLURM_NODEID": "1",
    "SLURM_STEP_NODELIST": "tf[1-2]",
    "SLURM_STEP_TASKS_PER_NODE": "2,1",
}


def test_a_task_is_a_worker_at_the_same_addresses_as_all_others_see() -> None:
    described = []
    for index, node in (("0", "0"), ("1", "0"), ("2", "1")):
        task = slurm.task_of({**STEP, "SLURM_PROCID": index, "SLURM_NODEID": node})
        described.append(json.loads(task.variables(("tf1", "tf2"))["TF_CONFIG"]))
    assert [each["task"] for each in described] == [
        {"type": "worker", "index": index} for index in range(3)
    ]
    [workers] = {tuple(each["cluster"]["worker"]) for each in described}
    assert workers == ("tf1:12048", "tf1:12049", "tf2:12050")


@pytest.mark.parametrize(
    ("text", "counts"), [("1", (1,)), ("2(x3),1", (2, 2, 2, 1)), ("1(x1),4", (1, 4))]
)
def test_counts_of_tasks(text: str, counts: tuple[int, ...]) -> None:
    variables = {"SLURM_STEP_TASKS_PER_NODE": text, "SLURM_STEP_NUM_TASKS": str(sum(counts))}
    assert slurm.task_of(STEP | variables).tasks_on == counts


@pytest.mark.parametrize("missing", sorted(STEP))
def test_outside_of_a_step_it_is_said_how_to_start(missing: str) -> None:
    with pytest.raises(NotInSlurm, match=missing) as raised:
        slurm.task_of({name: value for name, value in STEP.items() if name != missing})
    assert "srun pitstop run" in raised.value.remedy


@pytest.mark.parametrize("text", ["", "two", "1(x2000)", "4"])
def test_counts_that_do_not_fit(text: str) -> None:
    with pytest.raises(NotInSlurm):
        slurm.task_of(STEP | {"SLURM_STEP_TASKS_PER_NODE": text})


def test_tasks_that_are_dealt_to_the_nodes_in_turn_are_refused() -> None:
    task = slurm.task_of(STEP | {"SLURM_PROCID": "1", "SLURM_NODEID": "1"})
    with pytest.raises(UserError, match="node by node"):
        task.variables(("tf1", "tf2"))


def test_where_slurm_does_not_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(EnvironmentFault, match="scontrol"):
        slurm.host_names("tf[1-2]")
    refuses = tmp_path / "scontrol"
    refuses.write_text("#!/bin/sh\nexit 1\n")
    refuses.chmod(0o755)
    with pytest.raises(EnvironmentFault, match=r"exit status 1\.$"):
        slurm.host_names("tf[1-2]")


def test_the_first_member_makes_the_folder_and_the_others_find_it(tmp_path: Path) -> None:
    path = tmp_path / "runs" / "train"
    command = ("python", "train.py")
    first = joined(path, Shape(worker=3), command, takes=False)
    assert joined(path, Shape(worker=3), command, takes=False) == first
    with pytest.raises(ShapeChanged):
        joined(path, Shape(worker=2), command, takes=False)
