"""Checkpoints of the script are hidden from the loop that had found none, and from no other."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.leaving import Refused
from pitstop.engine.present_identity import own_sources
from pitstop.events import Notice, OwnCheckpointsBegun, TrainerConnected
from pitstop.journal import Journal
from pitstop.link.settings import ENV_STACKS
from pitstop.replay.own_checkpoints import OwnCheckpoints
from pitstop.store.run_folder import JOURNAL_FILE
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
        journal.append(OwnCheckpointsBegun(str(folder), known["found"]))


def _own(make: MakeAttempt) -> tuple[OwnCheckpoints, Callable[[], list[Any]]]:
    first = make()
    first.train([0.1, 0.2])
    second = make(first.save())
    return OwnCheckpoints(lambda: second.session), second.events


def test_an_unchanged_loop_finds_none_again(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, events = _own(make)
    assert [own.look(str(folder), lambda: _STATE, may_hide=True) for _ in range(2)] == [None, None]
    own.loop_begins("")
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is None
    assert own.look(str(folder), lambda: _STATE, may_hide=False) is _STATE
    own.writes(folder, None)  # a save of the repetition
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is _STATE
    [told] = [each for each in events() if isinstance(each, Notice)]
    assert told.code == "own_checkpoints_hidden"


def test_the_first_save_in_a_folder_is_told(make: MakeAttempt, folder: Path) -> None:
    attempt = make()
    own = OwnCheckpoints(lambda: attempt.session)
    own.look(str(folder), lambda: None, may_hide=True)
    for _ in range(2):
        own.writes(folder, attempt.session)
    found = [each for each in attempt.events() if isinstance(each, OwnCheckpointsBegun)]
    assert found == [OwnCheckpointsBegun(str(folder), found=False)]


@pytest.mark.parametrize(
    "changed",
    [
        {"argv": ["another.py"]},
        {"sources": dict.fromkeys(own_sources(), "edited")},
        {"found": True},
    ],
)
def test_any_other_loop_finds_what_there_is(
    make: MakeAttempt, tmp_path: Path, folder: Path, changed: dict[str, Any]
) -> None:
    _tell(tmp_path, folder, **changed)
    own, _ = _own(make)
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is _STATE


def test_what_somebody_else_has_saved_is_found(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    later_seconds = time.time() + 60
    os.utime(folder / "checkpoint", (later_seconds, later_seconds))
    own, _ = _own(make)
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is _STATE


def test_nothing_is_hidden_where_nothing_is_saved(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own = OwnCheckpoints(lambda: make().session)
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is _STATE


def test_another_loop_may_not_go_on_without_the_checkpoints_that_it_asked_for(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, events = _own(make)
    own.asks(str(folder))
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is None
    with pytest.raises(Refused):
        own.loop_begins("its first step gives other values")
    refused = [each for each in events() if getattr(each, "code", "") == "resume_refused"]
    assert str(folder) in refused[0].message


def test_a_script_that_did_not_ask_goes_on_as_another_loop(
    make: MakeAttempt, tmp_path: Path, folder: Path
) -> None:
    _tell(tmp_path, folder)
    own, _ = _own(make)
    assert own.look(str(folder), lambda: _STATE, may_hide=True) is None
    own.loop_begins("its first step gives other values")


@pytest.mark.parametrize(("state", "restores"), [(None, False), (_STATE, True)])
def test_a_script_restores_itself_if_it_has_found_one(
    folder: Path, state: object, *, restores: bool
) -> None:
    own = OwnCheckpoints(lambda: None)
    assert not own.restores_itself(folder)
    own.asks(str(folder))
    own.look(str(folder), lambda: state, may_hide=True)
    assert own.restores_itself(folder) is restores
