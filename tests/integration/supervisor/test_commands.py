"""One folder is for one command."""

from __future__ import annotations

import sys
from pathlib import Path

from pitstop.events import AttemptStarted, EnvironmentChanged
from tests.integration.supervisor.launch import (
    call,
    events,
    finish,
    run_script,
    run_trainer,
)

_SCRIPT = "import sys; print('trained', *sys.argv[1:])"


def _sweep(folder: Path, *options: object) -> tuple[int, bytes, bytes]:
    (folder / "train.py").write_text(_SCRIPT)
    ended = call(folder, "run", *options)
    return ended.returncode, ended.stdout, ended.stderr


def test_a_sweep_in_one_folder_is_refused_and_without_a_folder_trains_each(tmp_path: Path) -> None:
    command = ("--", sys.executable, "train.py", "--lr")
    named = ("--run-dir", "sweep", *command)
    assert _sweep(tmp_path, *named, 1)[:2] == (0, b"trained --lr 1\n")
    code, out, err = _sweep(tmp_path, *named, 2)
    assert (code, out) == (2, b"")
    assert b"--lr 1 -> --lr 2" in err
    assert b"--new" in err
    assert b"--take" in err
    assert _sweep(tmp_path, "--take", "all", *named, 2)[:2] == (0, b"trained --lr 2\n")
    # What was taken over is the run's command from then on.
    code, out, err = _sweep(tmp_path, *named, 2)
    assert (code, out) == (0, b"")
    assert b"is complete" in err
    assert _sweep(tmp_path, "--force", *named, 3)[:2] == (0, b"trained --lr 3\n")
    for lr in (1, 2):
        assert _sweep(tmp_path, *command, lr)[:2] == (0, f"trained --lr {lr}\n".encode())
    assert sorted(each.name for each in (tmp_path / "runs").iterdir()) == ["train", "train-2"]
    assert b"runs/train-2" in call(tmp_path, "status", "train").stdout


def test_a_complete_run_whose_script_was_edited_is_started_again(tmp_path: Path) -> None:
    finish(run_script(tmp_path, "print(10)"))
    assert finish(run_script(tmp_path, "print(10)")).stdout == b""
    assert finish(run_script(tmp_path, "print(20)")).stdout == b"20\n"
    assert [each.attempt for each in events(tmp_path, AttemptStarted)] == [1, 2]


def test_what_is_taken_over_is_said_of_a_run_that_goes_on(tmp_path: Path) -> None:
    finish(run_trainer(tmp_path, "--die-at", 3))
    trainer = (sys.executable, Path(__file__).parent / "protocol_trainer.py")
    options = ("run", "--run-dir", "run", "--")
    refused = call(tmp_path, *options, *trainer, "--steps", 5)
    assert refused.returncode == 2
    taken = call(tmp_path, "run", "--run-dir", "run", "--take", "x", "--", *trainer, "--steps", 5)
    assert taken.returncode == 0, taken.stderr
    assert [each.what for each in events(tmp_path, EnvironmentChanged)] == ["the command"]
    assert b"the command has changed since the last attempt (" in taken.stderr
