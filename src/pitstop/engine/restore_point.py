"""A state that this attempt goes on from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RestorePoint:
    """A state to restore: a finished fit, or the one to continue."""

    checkpoint: str
    step: int
    fit: int
    milestone: str

    @classmethod
    def from_json(cls, point: dict[str, Any]) -> RestorePoint:
        """Reads one from the supervisor's welcome."""
        info = point["info"]
        return cls(point["checkpoint"], info["step"], info["fit"], info["milestone"])
