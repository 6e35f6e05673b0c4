"""In what two commands differ."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.cluster import spec
from pitstop.events import AttemptEnded, AttemptStarted
from pitstop.journal import Journal
from pitstop.store.gang_folder import member_dir
from pitstop.store.run_folder import RunFolder, open_or_create
from pitstop.supervisor.records.fingerprint import describe
from pitstop.supervisor.runs.admission import (
    StartedCommand,
    as_event,
    changes,
    in_words,
    is_finished,
    same_target,
)
from pitstop.supervisor.runs.run_request import RunRequest

ONE = StartedCommand(
    ("python", "train.py", "--lr", "1", "--wd=2"), "/home/a", "host", "/home/a/train.py", "d1"
)


def _with(words: str) -> StartedCommand:
    return replace(ONE, words=tuple(words.split()))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("python3 -u ./train.py --lr 1 --wd=2", ""),
        ("python train.py --lr 3 --wd=2", "the arguments: --lr 1 -> --lr 3"),
        ("python train.py --lr 3 --wd=4", "the arguments: --lr 1 --wd=2 -> --lr 3 --wd=4"),
        ("python train.py --lr 1", "the arguments: --wd=2 -> nothing"),
        ("python train.py --lr 1 --wd=2 --amp", "the arguments: nothing -> --amp"),
        ("python -O train.py --lr 1 --wd=2", "Python's options: nothing -> O"),
        ("env S=1 python train.py --lr 1 --wd=2", "variables: nothing -> S=1"),
        ("python -m train --lr 1 --wd=2", "the module: train.py -> train"),
    ],
)
def test_each_difference_is_named_with_both_values(words: str, said: str) -> None:
    assert in_words(changes(ONE, _with(words), moved=False)) == said


def test_a_script_of_the_same_name_elsewhere_is_another_one() -> None:
    other = replace(ONE, script="/home/a/b/train.py")
    assert in_words(changes(ONE, other, moved=False)).startswith("the script: ")
    assert not same_target(ONE, other, moved=False)
    assert not same_target(ONE, other, moved=True)


def test_the_working_folder_belongs_to_the_command() -> None:
    [found] = changes(ONE, replace(ONE, cwd="/home"), moved=False)
    assert (found.before, found.now) == ("/home/a", "/home")


def test_a_project_that_was_moved_is_the_same() -> None:
    moved = replace(ONE, cwd="/data/b", script="/data/b/train.py")
    assert changes(ONE, moved, moved=True) == ()
    edited = replace(moved, script_digest="d2")
    assert changes(ONE, edited, moved=True)
    assert changes(ONE, replace(edited, host="other"), moved=True) == ()


def test_a_changed_hyperparameter_is_no_matter_of_last_bits() -> None:
    [event] = as_event(changes(ONE, _with("python train.py --lr 3 --wd=2"), moved=False))
    assert "(the arguments --lr 1 -> the arguments --lr 3)" in describe(event)
    assert "last bits" not in describe(event)
    assert as_event(()) == ()


Ended = Callable[[str, str], RunFolder]


@pytest.fixture
def ended(tmp_path: Path) -> Ended:
    """Makes the folder of a task of a launch, whose run has ended in this state."""

    def make(task: str, state: str) -> RunFolder:
        folder = open_or_create(member_dir(tmp_path, task, 0), ["true"], Path.cwd())
        with Journal(folder.journal, 1) as record:
            record.append(AttemptStarted(1, ["true"], os.getpid(), os.getpid(), "host"))
            record.append(AttemptEnded(1, state, 0, 10, None))
        return folder

    return make


@pytest.mark.parametrize(
    ("task", "leader_state", "finished"),
    [
        ("evaluator", "stopped", False),
        ("evaluator", "completed", True),
        ("evaluator", "", True),
        ("worker", "stopped", True),
    ],
)
def test_an_evaluator_is_finished_when_its_leader_is(
    ended: Ended, monkeypatch: pytest.MonkeyPatch, task: str, leader_state: str, finished: bool
) -> None:
    cluster = {"cluster": {"chief": ["a:1"], "worker": ["a:2"]}, "task": {"type": task, "index": 0}}
    monkeypatch.setenv(spec.VARIABLE, json.dumps(cluster))
    if leader_state:
        ended("chief", leader_state)
    folder = ended(task, "completed")
    assert is_finished(RunRequest(folder.path, ("true",)), folder) is finished
