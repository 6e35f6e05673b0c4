"""The command of an attempt, as far as it says whether another one is the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from pitstop.events import AttemptStarted, JsonValue, TrainerConnected
from pitstop.journal import Entry, events_of
from pitstop.record import record


@record
class StartedCommand:
    """What was started, where; empty where it is not on record.

    Attributes:
        script: absolute path of the script, without links; empty for none.
        files: digests of the small files that the command names, by their words.
    """

    words: tuple[str, ...]
    cwd: str = ""
    host: str = ""
    script: str = ""
    script_digest: str = ""
    files: Mapping[str, str] = field(default_factory=dict)


def command_of(
    words: Sequence[str], host: str, environment: Mapping[str, JsonValue]
) -> StartedCommand:
    """The command that a fingerprint describes, see `fingerprint.collect`."""
    files = environment.get("files")
    return StartedCommand(
        tuple(words),
        str(environment.get("cwd", "")),
        host,
        str(environment.get("script", "")),
        str(environment.get("script_sha256", "")),
        {name: str(each) for name, each in files.items()} if isinstance(files, dict) else {},
    )


def last_command(entries: Sequence[Entry]) -> StartedCommand | None:
    """The command of a run's last attempt; None before the first one."""
    started = events_of(entries, AttemptStarted)
    if not started:
        return None
    return command_of(started[-1].command, started[-1].host, started[-1].environment)


def modules_of(entries: Sequence[Entry]) -> Mapping[str, str]:
    """Digests of the script's own modules in the last attempt, by path."""
    connected = events_of(entries, TrainerConnected)
    return connected[-1].sources if connected else {}
