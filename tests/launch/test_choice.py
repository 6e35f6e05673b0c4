"""Which folder a launch goes on in."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from pitstop.errors import RunFolderInvalid, RunInUse, RunNotFound
from pitstop.launch.choice import ShapeChanged, choose, claim
from pitstop.store.gang_folder import GangFolder, Shape, create, open_gang
from pitstop.store.run_folder import find_runs, open_existing, open_or_create
from pitstop.supervisor.runs.admission import CommandChanged

COMMAND = ("python", "train.py", "--lr", "1")
OTHER = ("python", "train.py", "--lr", "2")
SHAPE = Shape(worker=2)


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _claimed(
    path: Path, shape: Shape = SHAPE, command: tuple[str, ...] = COMMAND, *, new: bool = False
) -> GangFolder:
    gang, lock = claim(path, shape, command, new=new, takes=False)
    lock.close()
    return gang


def test_the_same_command_goes_on_in_its_folder_and_another_one_gets_its_own() -> None:
    assert choose(COMMAND, SHAPE).path == Path("runs/train")
    assert choose(COMMAND, Shape(worker=3)).path == Path("runs/train")
    assert choose(OTHER, SHAPE).path == Path("runs/train-2")
    gang = _claimed(Path("runs/train"))
    open_or_create(gang.members[0], COMMAND, Path.cwd())
    assert choose(COMMAND, SHAPE).path == Path("runs/train")
    assert choose(OTHER, SHAPE).path == Path("runs/train-2")


def test_a_run_of_one_process_is_left_alone() -> None:
    open_or_create(Path("runs/train"), COMMAND, Path.cwd())
    assert choose(COMMAND, SHAPE).path == Path("runs/train-2")
    with pytest.raises(RunFolderInvalid):
        _claimed(Path("runs/train"))


def test_a_command_for_one_run_is_told_the_members() -> None:
    gang = _claimed(Path("run"))
    open_or_create(gang.members[1], COMMAND, Path.cwd())
    with pytest.raises(RunNotFound, match="run/members/worker-1"):
        open_existing(Path("run"))


def test_what_was_launched_is_kept() -> None:
    made = _claimed(Path("run"))
    assert open_gang(Path("run")) == made
    record = json.loads(Path("run/gang.json").read_text())
    assert (record["shape"], record["command"]) == (asdict(SHAPE), list(COMMAND))
    assert _claimed(Path("run")).gang_id == made.gang_id


def test_another_shape_is_refused_with_both_and_the_ways_on() -> None:
    _claimed(Path("run"), Shape(worker=2, ps=1))
    with pytest.raises(ShapeChanged) as refused:
        _claimed(Path("run"), Shape(worker=3, ps=1))
    text = str(refused.value)
    assert "2 workers, 1 ps" in text
    assert "3 workers, 1 ps" in text
    assert "--run-dir" in text
    assert "--new" in text


def test_another_command_is_refused() -> None:
    gang = _claimed(Path("run"))
    open_or_create(gang.members[0], COMMAND, Path.cwd())
    with pytest.raises(CommandChanged, match="--lr 1 -> --lr 2"):
        _claimed(Path("run"), command=OTHER)


def test_starting_over_puts_the_whole_launch_aside() -> None:
    gang = _claimed(Path("run"))
    open_or_create(gang.members[0], COMMAND, Path.cwd())
    over = _claimed(Path("run"), Shape(worker=3), OTHER, new=True)
    assert over.gang_id != gang.gang_id
    assert open_gang(Path("run.1")).gang_id == gang.gang_id
    assert find_runs(Path()) == [Path("run.1/members/worker-0")]


def test_two_launches_of_one_folder_do_not_run_beside_each_other() -> None:
    _, lock = claim(Path("run"), SHAPE, COMMAND, new=False, takes=False)
    with pytest.raises(RunInUse):
        _claimed(Path("run"))
    with pytest.raises(RunInUse):
        _claimed(Path("run"), new=True)
    lock.close()
    _claimed(Path("run"))


@pytest.mark.parametrize(
    "damage",
    [
        {"shape": {"worker": 10**9}},
        {"shape": {"worker": True}},
        {"shape": {"ps": 1}},
        {"shape": []},
        {"command": None},
        {"format": "pitstop-run"},
    ],
)
def test_a_damaged_record_is_refused(damage: dict[str, object]) -> None:
    create(Path("run"), SHAPE, COMMAND)
    record = json.loads(Path("run/gang.json").read_text())
    Path("run/gang.json").write_text(json.dumps(record | damage))
    with pytest.raises(RunFolderInvalid):
        open_gang(Path("run"))


def test_a_folder_of_something_else_is_refused() -> None:
    Path("other").mkdir()
    Path("other/file").touch()
    for path in ("other", "other/file"):
        with pytest.raises(RunFolderInvalid):
            _claimed(Path(path))
    assert [each.name for each in Path("other").iterdir()] == ["file"]
