"""What is recorded, fenced: a value that cannot be ends the record, not the training."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pitstop.replay.live_loop import LiveLoop
from pitstop.replay.values import NotRecordable


@contextmanager
def guarded(loop: LiveLoop, what: str) -> Iterator[None]:
    """Records nothing more when a value cannot be recorded.

    Only code of ours runs in here: whatever goes wrong, the user's training
    must not end because of it.
    """
    try:
        yield
    except NotRecordable as refusal:
        loop.give_up(f"{what} {refusal}")
    except Exception as error:  # noqa: BLE001
        loop.give_up(f"Pitstop failed to record it ({error!r}), please report this as a bug")
