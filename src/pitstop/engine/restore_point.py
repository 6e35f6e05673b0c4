"""A state that this attempt goes on from."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pitstop.engine.identity import Identity


@dataclass(frozen=True)
class RestorePoint:
    """A state to restore: a finished training, or one to continue.

    Attributes:
        milestone: what has ended with it, empty in the middle of a training.
        epoch: counted from 0.
        identity: what is trained.
        is_loop: it has no identity, and is known by its number.
    """

    checkpoint: str
    step: int
    fit: int
    milestone: str
    epoch: int = 0
    identity: Identity = field(default_factory=Identity)
    is_loop: bool = False

    @property
    def finished(self) -> bool:
        """Whether it has ended; also by an exception that the script has caught."""
        return bool(self.milestone)

    @classmethod
    def from_json(cls, point: dict[str, Any]) -> RestorePoint:
        info = point["info"]
        return cls(
            point["checkpoint"],
            info["step"],
            info["fit"],
            info["milestone"],
            info.get("epoch", 0),
            _identity(info.get("identity", {})),
            not info.get("identity"),
        )


def _identity(record: dict[str, Any]) -> Identity:
    try:
        return Identity.from_json(record)
    except ValueError:
        # Nobody of ours wrote it: it is like no training that there is.
        return Identity()
