"""One line about the run at the bottom of a terminal.

The bottom row is taken out of the scrolling region (DECSTBM), as package managers do.
"""

from __future__ import annotations

import codecs
import os
import re
from collections.abc import Mapping

from pitstop.durations import duration
from pitstop.record import Frozen
from pitstop.supervisor.status import Status, replay_text

FEWEST_ROWS = 10
LONGEST_SEQUENCE_BYTES = 64

_SAVE, _RESTORE = "\x1b7", "\x1b8"
_CLEAR_ROW = "\x1b[2K"
_INVERSE, _PLAIN = "\x1b[7m", "\x1b[0m"
# An escape sequence (CSI, OSC or a short one) that has not ended yet.
_OPEN_SEQUENCE = re.compile(rb"\x1b(\[[0-?]*[ -/]*|\][^\x07\x1b]*|[ -/]*)$")


class Size(Frozen):
    """Of a window, in character cells."""

    rows: int
    columns: int


def wanted(environment: Mapping[str, str], *, terminals: bool, rows: int) -> bool:
    return terminals and rows >= FEWEST_ROWS and environment.get("TERM", "dumb") != "dumb"


def window_size(fd: int) -> Size | None:
    try:
        size = os.get_terminal_size(fd)
    except OSError:
        return None
    return Size(size.lines, size.columns)


def reserve(size: Size) -> bytes:
    """Takes the bottom row out of the scrolling region; the cursor stays above it."""
    return f"\n{_SAVE}\x1b[1;{size.rows - 1}r{_RESTORE}\x1b[1A".encode()


def paint(size: Size, text: str) -> bytes:
    row = text[: size.columns].ljust(size.columns)
    return f"{_SAVE}\x1b[{size.rows};1H{_INVERSE}{row}{_PLAIN}{_RESTORE}".encode()


def release(size: Size) -> bytes:
    """Gives the bottom row back to the script and clears it."""
    return f"{_SAVE}\x1b[1;{size.rows}r\x1b[{size.rows};1H{_CLEAR_ROW}{_RESTORE}".encode()


def inside_sequence(tail: bytes) -> bool:
    """Whether output that ends so is in the middle of a sequence or a character."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(tail)
    return bool(_OPEN_SEQUENCE.search(tail)) or bool(decoder.getstate()[0])


def format_status(status: Status, columns: int) -> str:
    parts = [f"pitstop: {status.state}", _position(status), _pace(status), _saved(status)]
    if status.level:
        parts.append(status.level.replace("_", " "))
    return " | ".join(part for part in parts if part)[:columns]


def _position(status: Status) -> str:
    if status.batches_to_replay is not None:
        return replay_text(status)
    if status.step is None:
        return ""
    if status.epoch is None or status.epochs == 1:
        return f"step {status.step}"
    epoch = f", epoch {status.epoch + 1}"
    of = f"/{status.epochs}" if status.epochs else ""
    return f"step {status.step}{epoch}{of}"


def _pace(status: Status) -> str:
    if status.standstill:
        return f"no progress for {duration(status.silent_seconds or 0.0)}"
    if status.rate is None:
        return ""
    eta = "" if status.eta_seconds is None else f", {duration(status.eta_seconds)} left"
    return f"{status.rate:.3g} steps/s{eta}"


def _saved(status: Status) -> str:
    if status.checkpoint_step is None:
        return "nothing saved yet"
    age = status.checkpoint_age_seconds
    ago = "" if age is None else f" {duration(age)} ago"
    return f"saved step {status.checkpoint_step}{ago}"
