"""A state that this attempt goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from pitstop.engine.identity import Identity


@dataclass(frozen=True)
class RestorePoint:
    """A state to restore: a finished training, or one to continue.

    Attributes:
        milestone: what has ended with it, empty in the middle of a training.
        identity: what is trained; None of a loop, which is known by its number.
    """

    checkpoint: str
    step: int
    fit: int
    milestone: str
    epoch: int = 0
    identity: Identity | None = None

    @classmethod
    def from_json(cls, point: dict[str, Any]) -> RestorePoint:
        info = point["info"]
        return cls(
            point["checkpoint"],
            info["step"],
            info["fit"],
            info["milestone"],
            info.get("epoch", 0),
            _identity(info.get("identity")),
        )


def _identity(record: dict[str, Any] | None) -> Identity | None:
    try:
        return Identity.from_json(record) if record else None
    except ValueError:
        # Nobody of ours wrote it: it is like no training that there is.
        return Identity()
