"""Files that a script reads before it trains, and that were edited between two attempts."""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from pitstop.engine.file_access import changed_seconds
from pitstop.events import AttemptEnded, AttemptStarted, EnvironmentChanged, TrainerConnected
from pitstop.journal import Entry, events_of, last_of
from pitstop.record import Frozen
from pitstop.supervisor.records.fingerprint import FILE, digest_of


class EditedFiles(Frozen):
    """Those since the last attempt, and a digest of all edits so far; empty for none."""

    since_last: tuple[EnvironmentChanged, ...] = ()
    digest: str = ""

    @classmethod
    def from_entries(cls, entries: Sequence[Entry]) -> Self:
        found = tuple(_edited_since_last(entries))
        before = [
            each for each in events_of(entries, EnvironmentChanged) if each.what.startswith(FILE)
        ]
        text = "\n".join(f"{each.what} {each.now}" for each in (*before, *found))
        return cls(found, hashlib.sha256(text.encode()).hexdigest() if text else "")


def _edited_since_last(entries: Sequence[Entry]) -> list[EnvironmentChanged]:
    """None where nobody saw the last attempt end: before its end the script itself may write."""
    started, ended = last_of(entries, AttemptStarted), last_of(entries, AttemptEnded)
    connected = last_of(entries, TrainerConnected)
    was_seen = started is not None and ended is not None and started.attempt == ended.attempt
    if connected is None or not was_seen:
        return []
    return [
        EnvironmentChanged(f"{FILE}{path}", before, now, changes_bits=True)
        for path, before in connected.inputs.items()
        if changed_seconds(path) > entries[-1].time_seconds
        and (now := digest_of(Path(path))) != before
    ]
