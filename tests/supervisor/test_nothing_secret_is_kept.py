"""Secrets of a command, its environment and its output stay out of what a run keeps."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.errors import UserError
from pitstop.events import AttemptStarted
from pitstop.export.host import script_of
from pitstop.journal import Journal
from pitstop.store.run_folder import open_or_create
from pitstop.supervisor.records.fingerprint import Threads, collect
from pitstop.supervisor.runs.admission import present_command
from pitstop.supervisor.terminal.output import OutputLog

_SECRET = "q7Wz41bbR90sxT"
_COMMAND = ["python", "train.py", "--hub-token", _SECRET, f"--data=https://u:{_SECRET}@h.org/a"]
_ENVIRONMENT = {
    "TF_TOKEN_app_terraform_io": _SECRET,
    "TF_VAR_password": _SECRET,
    "TF_DETERMINISTIC_OPS": "1",
    "OMP_NUM_THREADS": "2",
}


def test_no_file_of_a_run_holds_a_secret(tmp_path: Path) -> None:
    folder = open_or_create(tmp_path / "run", _COMMAND, tmp_path)
    environment = collect(_COMMAND, _ENVIRONMENT, Threads(2, 2))
    with Journal(folder.journal, folder.next_attempt()) as record:
        record.append(AttemptStarted(1, _COMMAND, 1, 2, "box", environment=environment))
    log = OutputLog(folder.output_log(1))
    log.append(f"using HF_TOKEN={_SECRET[:5]}".encode())
    log.append(f"{_SECRET[5:]}\nEpoch 1/3\n".encode())
    log.close()
    texts = [each.read_bytes() for each in folder.path.rglob("*") if each.is_file()]
    assert not [text for text in texts if _SECRET.encode() in text]
    assert folder.output_log(1).read_bytes() == b"using HF_TOKEN=***\nEpoch 1/3\n"
    assert environment["env"] == {"OMP_NUM_THREADS": "2", "TF_DETERMINISTIC_OPS": "1"}


def test_a_secret_that_was_changed_is_no_other_command() -> None:
    other = [word.replace(_SECRET, f"{_SECRET}2") for word in _COMMAND]
    assert present_command(_COMMAND) == present_command(other)


def test_a_command_that_is_not_kept_whole_is_run_again_as_it_is_named_once_more(
    tmp_path: Path,
) -> None:
    folder = open_or_create(tmp_path / "run", _COMMAND, tmp_path)
    with pytest.raises(UserError, match="contains a secret"):
        script_of(folder, 1)
    with pytest.raises(UserError, match="not the run's command"):
        script_of(folder, 1, [*_COMMAND, "--more"])
    assert script_of(folder, 1, _COMMAND).command == tuple(_COMMAND)
