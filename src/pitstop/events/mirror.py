"""What becomes of a run's copy at a URL; told by the uploader."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.events.base import Event


@dataclass(frozen=True)
class CheckpointUploaded(Event):
    """A checkpoint is whole in the mirror; `size_bytes` were sent for it."""

    step: int
    checkpoint: str
    size_bytes: int
    seconds: float


@dataclass(frozen=True)
class UploadFailed(Event):
    """The mirror could not be brought up to date; it is tried again.

    needs_user: it will not get better by itself, as with a credential.
    """

    error: str
    remedy: str
    needs_user: bool


@dataclass(frozen=True)
class UploadGivenUp(Event):
    """The attempt ends and the mirror lacks these; the local folder has them.

    missing: names of checkpoints, and other files by their paths in the folder.
    error: the last failure, or what ended the wait.
    """

    missing: list[str]
    error: str
