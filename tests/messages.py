"""What came over a socket, as tests look at it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pitstop.link.messages import Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, Received


def body_of(received: Received) -> dict[str, Any]:
    """The members of a message."""
    return {name: value for name, value in received.message.to_body().items() if name != "type"}


def welcome(run_dir: Path, settings: Settings | None = None, **members: Any) -> Welcome:
    """What a trainer is told by a supervisor that a test plays."""
    usual = {"attempt": 1, "lost_from_step": -1, "points": []}
    settings_record = settings or Settings()
    return Welcome(
        protocol=PROTOCOL, run_dir=str(run_dir), settings=settings_record, **{**usual, **members}
    )
