"""The identity of a run: the content of its run.json."""

from __future__ import annotations

import json
from dataclasses import asdict

from pitstop.events import JsonValue
from pitstop.record import record
from pitstop.store.format import RUN_KIND, check_format, format_members


@record
class RunIdentity:
    """What a run is.

    Attributes:
        run_id: random hex digits, never used for another run.
        command: the command that the run was created with, secrets in it masked.
        cwd: absolute folder it was started in.
        created_seconds: seconds since the epoch.
        entropy: random text; what the command does not seed begins with it.
    """

    run_id: str
    command: tuple[str, ...]
    cwd: str
    created_seconds: float
    entropy: str


def encode(identity: RunIdentity) -> bytes:
    record = {**format_members(RUN_KIND), **asdict(identity)}
    return (json.dumps(record, indent=2) + "\n").encode()


def decode(data: bytes) -> RunIdentity:
    """The identity that `encode` wrote.

    Raises `ValueError` where the content is damaged or not Pitstop's, or `FormatTooNew`.
    """
    record = check_format(_parsed(data), RUN_KIND)
    command = record.get("command")
    if not isinstance(command, list) or not all(isinstance(word, str) for word in command):
        raise ValueError("its member 'command' is not a list of words")
    return RunIdentity(
        run_id=_text(record, "run_id"),
        command=tuple(command),
        cwd=_text(record, "cwd"),
        created_seconds=_number(record, "created_seconds"),
        entropy=_text(record, "entropy" if "entropy" in record else "run_id"),
    )


def _parsed(data: bytes) -> JsonValue:
    try:
        found: JsonValue = json.loads(data)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return found


def _text(record: dict[str, JsonValue], member: str) -> str:
    value = record.get(member)
    if not isinstance(value, str):
        raise ValueError(f"its member {member!r} is not a text")
    return value


def _number(record: dict[str, JsonValue], member: str) -> float:
    value = record.get(member)
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise ValueError(f"its member {member!r} is not a number")
    return float(value)
