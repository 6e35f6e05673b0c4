"""Which folder a run gets that nobody has named."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from pitstop.errors import RunFolderInvalid
from pitstop.supervisor.runs.choice import choose, family

A = ["python", "a/train.py"]
RUNS = Path("runs")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "train.py").write_text("pass")
    (tmp_path / "link.py").symlink_to("a/train.py")
    return tmp_path


def test_the_same_command_finds_its_run_and_another_one_gets_its_own() -> None:
    first = choose(A)
    assert first.path == RUNS / "train"
    for same in (A, ["python3", "-u", "./a/../a/train.py"], ["nice", *A]):
        assert choose(same).path == first.path
    second = choose(["python", "b/train.py"])
    assert second.path == RUNS / "train-2"
    assert "a/train.py -> " in second.line
    third = choose([*A, "--lr", "2"])
    assert third.path == RUNS / "train-3"
    assert "runs/train is a different run (the arguments: nothing -> --lr 2)" in third.line
    assert choose([*A, "--lr", "2"]).path == third.path


def test_a_link_to_the_script_is_the_script() -> None:
    (RUNS / "link").mkdir(parents=True)
    assert choose(["python", "link.py"]).path == RUNS / "link"
    assert choose(["python", "./link.py"]).path == RUNS / "link"


def test_what_is_taken_over_goes_on_in_the_newest_run_of_the_script() -> None:
    choose(A)
    choose(["python", "b/train.py"])
    assert choose([*A, "--lr", "2"], takes=True).path == RUNS / "train"
    assert choose(["python", "b/train.py", "-x"], takes=True).path == RUNS / "train-2"


def test_a_folder_of_other_files_is_passed_by(project: Path) -> None:
    (project / "runs" / "train").mkdir(parents=True)
    (project / "runs" / "train" / "notes.txt").touch()
    assert choose(A).path == RUNS / "train-2"


def test_a_damaged_run_is_an_error_and_not_passed_by() -> None:
    (choose(A).path / "run.json").write_text("{")
    with pytest.raises(RunFolderInvalid):
        choose(A)


def test_commands_that_start_at_once_get_folders_of_their_own() -> None:
    found: list[Path] = []

    def start(number: int) -> None:
        found.append(choose([*A, str(number % 8)]).path)

    threads = [threading.Thread(target=start, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 8
    assert len(family(RUNS, "train")) == 8
