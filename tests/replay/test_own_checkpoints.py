"""Checkpoints of the script are hidden from the loop that had found none, and from no other."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.leaving import Refused
from pitstop.engine.trainings.present_identity import own_sources
from pitstop.events import CheckpointsSought, Notice, TrainerConnected
from pitstop.journal import Journal
from pitstop.link.settings import ENV_STACKS
from pitstop.replay.own_checkpoints import OwnCheckpoints
from pitstop.store.run_folder import JOURNAL_FILE
from tests.replay.attempt import Attempt
from tests.replay.conftest import MakeAttempt

_STATE = object()  # what TensorFlow tells of the checkpoints in a folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The script's folder of checkpoints, one of which an earlier attempt has saved."""
    monkeypatch.setenv(ENV_STACKS, str(tmp_path / "attempts/2/stacks.txt"))
    path = tmp_path / "saved"
    path.mkdir()
    (path / "checkpoint").touch()
    return path


def _tell(run_dir: Path, folder: Path, **changed: Any) -> None:
    """Writes what the journal knows of the first attempt."""
    known: dict[str, Any] = {"argv": sys.argv, "sources": own_sources(), "found": False} | changed
    with Journal(run_dir / JOURNAL_FILE, 1) as journal:
        journal.append(TrainerConnected(7, "3.11", known["argv"], {}, known["sources"]))
        journal.append(CheckpointsSought(str(folder), known["found"]))


def _own(make: MakeAttempt) -> tuple[OwnCheckpoints, Attempt]:
    first = make()
    first.train([0.1, 0.2])
    second = make(first.save())
    return OwnCheckpoints(lambda: second.session), second


def _save_later(folder: Path) -> None:
    """Somebody saves a checkpoint there after the end of the first attempt."""
    later_seconds = time.time() + 60
    os.utime(folder / "checkpoint", (later_seconds, later_seconds))


def _look(own: OwnCheckpoints, folder: Path, calls: int = 0) -> object:
    found: object = own.look(str(folder), lambda: _STATE, calls, may_hide=True)
    return found


def test_an_unchanged_loop_finds_none_again(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, attempt = _own(make)
    assert [_look(own, folder) for _ in range(2)] == [None, None]
    own.loop_begins(attempt.session, "")
    assert _look(own, folder) is None
    assert _look(own, folder, calls=1) is _STATE  # another member may have saved it since
    events = attempt.events()
    [told] = [each for each in events if isinstance(each, Notice)]
    assert told.code == "own_checkpoints_hidden"
    assert [each for each in events if isinstance(each, CheckpointsSought)] == [
        CheckpointsSought(str(folder), found=False)
    ]


def test_what_the_repetition_saves_is_found(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, _ = _own(make)
    own.writes(folder)
    assert _look(own, folder, calls=3) is _STATE


def test_a_later_stage_finds_none_where_it_is_repeated(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, attempt = _own(make)
    own.loop_begins(attempt.session, "")
    assert _look(own, folder, calls=3) is None
    assert _look(own, folder, calls=3) is None
    assert _look(own, folder, calls=4) is _STATE


def test_the_first_look_at_a_folder_is_told(make: MakeAttempt, folder: Path) -> None:
    attempt = make()
    own = OwnCheckpoints(lambda: attempt.session)
    own.look(str(folder), lambda: None, 0, may_hide=True)
    own.loop_begins(attempt.session, "")
    _look(own, folder, calls=1)
    _look(own, folder.parent, calls=1)
    found = [each for each in attempt.events() if isinstance(each, CheckpointsSought)]
    assert found == [
        CheckpointsSought(str(folder), found=False),
        CheckpointsSought(str(folder.parent), found=True),
    ]


@pytest.mark.parametrize(
    "changed",
    [
        {"argv": [*sys.argv, "--evaluate"]},
        {"sources": dict.fromkeys(own_sources(), "edited")},
        {"found": True},
    ],
)
def test_any_other_loop_finds_what_there_is(
    make: MakeAttempt, tmp_path: Path, folder: Path, changed: dict[str, Any]
) -> None:
    _tell(tmp_path, folder, **changed)
    own, _ = _own(make)
    assert _look(own, folder) is _STATE


def test_what_somebody_else_has_saved_is_found(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    _save_later(folder)
    own, _ = _own(make)
    assert _look(own, folder) is _STATE


def test_all_members_of_a_cluster_find_the_same(
    make: MakeAttempt, tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = {"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    _tell(tmp_path, folder)
    _save_later(folder)
    own, _ = _own(make)
    assert _look(own, folder) is None


def test_nothing_is_hidden_where_nothing_is_saved(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own = OwnCheckpoints(lambda: make().session)
    assert _look(own, folder) is _STATE


def test_another_loop_may_not_go_on_without_the_checkpoints_that_it_asked_for(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, attempt = _own(make)
    own.asks(str(folder))
    assert _look(own, folder) is None
    with pytest.raises(Refused):
        own.loop_begins(attempt.session, "its first step gives other values")
    [refused] = [each for each in attempt.events() if isinstance(each, Notice)][1:]
    assert (refused.code, str(folder) in refused.message) == ("resume_refused", True)


def test_a_script_that_did_not_ask_goes_on_as_another_loop(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, attempt = _own(make)
    assert _look(own, folder) is None
    own.loop_begins(attempt.session, "its first step gives other values")


@pytest.mark.parametrize(("state", "restores"), [(None, False), (_STATE, True)])
def test_a_script_restores_itself_if_it_has_found_one(
    folder: Path, state: object, *, restores: bool
) -> None:
    own = OwnCheckpoints(lambda: None)
    assert not own.restores_itself(folder)
    own.asks(str(folder))
    own.look(str(folder), lambda: state, 0, may_hide=True)
    assert own.restores_itself(folder) is restores
