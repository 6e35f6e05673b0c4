"""Errors read well and survive the way between processes."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from pitstop import errors
from pitstop.errors import CheckpointCorrupt, PitstopError, RunInUse

_CLASSES = [
    cls for cls in vars(errors).values() if isinstance(cls, type) and issubclass(cls, PitstopError)
]
_WITH_OWN_ARGUMENTS: dict[type[PitstopError], PitstopError] = {
    CheckpointCorrupt: CheckpointCorrupt(Path("runs/a/checkpoints/7"), "tensor 3 is short"),
    RunInUse: RunInUse(Path("runs/a"), 42, "box"),
}


def _example(cls: type[PitstopError]) -> PitstopError:
    return _WITH_OWN_ARGUMENTS.get(cls) or cls("The disk is full.", "Free some space.")


@pytest.mark.parametrize("cls", _CLASSES)
def test_errors_survive_pickling(cls: type[PitstopError]) -> None:
    error = _example(cls)
    error.add_note("while resuming")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is cls
    assert copy.args == error.args
    assert copy.__dict__ == error.__dict__
    assert str(copy) == str(error)


@pytest.mark.parametrize("cls", _CLASSES)
def test_text_is_the_message_and_then_the_remedy(cls: type[PitstopError]) -> None:
    error = _example(cls)
    assert str(error) == f"{error.message} {error.remedy}"


def test_text_without_remedy_has_no_trailing_blank() -> None:
    assert str(PitstopError("The trainer is gone.")) == "The trainer is gone."


@pytest.mark.parametrize("cls", _CLASSES)
def test_every_error_names_who_must_act(cls: type[PitstopError]) -> None:
    families = (
        errors.UserError,
        errors.EnvironmentFault,
        errors.PeerFault,
        errors.InternalFault,
    )
    assert cls is PitstopError or sum(issubclass(cls, family) for family in families) == 1


@pytest.mark.parametrize(("pid", "owner"), [(42, "process 42 on box"), (None, "a process on box")])
def test_run_in_use_names_the_owner_and_the_way_out(pid: int | None, owner: str) -> None:
    error = RunInUse(Path("runs/a"), pid, "box")
    assert owner in error.message
    assert "pitstop stop runs/a" in error.remedy


def test_checkpoint_corrupt_names_folder_and_reason() -> None:
    text = str(_WITH_OWN_ARGUMENTS[CheckpointCorrupt])
    assert "runs/a/checkpoints/7" in text
    assert "tensor 3 is short" in text
