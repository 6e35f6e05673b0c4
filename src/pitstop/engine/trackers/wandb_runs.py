"""Runs of W&B: the same id in each attempt, and each of their rows once.

Offline, each process writes a file of its own, which lacks the last second when the process is
killed: a saved state carries the last rows, and a resume logs those that no file has.
"""

import contextlib
import json
import os
import struct
import sys
import time
import types
from collections import deque
from collections.abc import Iterator, Mapping
from pathlib import Path
from string import ascii_lowercase, digits
from typing import Any

from pitstop.engine.fence import fenced
from pitstop.engine.randomness import entropy

_ENVIRONMENT = {"WANDB_RESUME": "allow", "WANDB_X_TRANSACTION_LOG_FLUSH_INTERVAL": "1"}
_TAIL_SECONDS = 5.0
_MOST_ROWS = 5_000
_CHARACTERS = ascii_lowercase + digits
_BLOCK_BYTES, _HEADER_BYTES = 32_768, 7
"""Of LevelDB's log format, which W&B writes, after a header of as many bytes."""
_LAST_PARTS = (1, 4)


class _Rows:
    """The rows of one run.

    Attributes:
        there: the step after the last one that the run has.
        goes_on: it was our run that has given it those.
        last: time, step and JSON of the last rows.
    """

    def __init__(self, run: Any, there: int, *, goes_on: bool) -> None:
        self.run, self.there, self.goes_on = run, there, goes_on
        self.last: deque[tuple[float, int, str]] = deque(maxlen=_MOST_ROWS)

    def has(self, data: Mapping[str, Any], step: int) -> bool:
        if self.goes_on and step < self.there:
            return True
        # Other values, such as pictures, are in the file, or are lost.
        with contextlib.suppress(TypeError, ValueError, OverflowError, RecursionError):
            self.last.append((time.monotonic(), step, json.dumps(data, default=float)))
        return False


_generated: set[str] = set()
_runs: dict[str, _Rows] = {}
_log: Any = None


def watch() -> None:
    global _log
    for name, value in _ENVIRONMENT.items():
        os.environ.setdefault(name, value)
    sys.modules["wandb.sdk.wandb_init"].runid = types.SimpleNamespace(generate_id=_id)  # type: ignore[attr-defined]
    run_class = sys.modules["wandb.sdk.wandb_run"].Run
    begin, _log = run_class._set_run_obj, run_class._partial_history_callback

    def begun(run: Any, told: Any) -> None:
        begin(run, told)
        with fenced():
            there = max(run._local_step, _steps_in_files(run))
            # A run that the script has named may have rows from before our run.
            goes_on = run.id in _generated
            if goes_on:
                run._local_step = 0
            _runs[run.id] = _Rows(run, there, goes_on=goes_on)

    def log(run: Any, data: Any, step: int | None = None, commit: bool | None = None) -> None:
        rows = _runs.get(run.id)
        if rows is not None and rows.goes_on and step is None:
            # The process that writes begins to count at 0 where it is not told.
            step, commit = run._local_step, commit is not False
        if rows is None or not rows.has(data, run._local_step if step is None else step):
            _log(run, data, step, commit)

    run_class._set_run_obj, run_class._partial_history_callback = begun, log


def _id(length: int = 8) -> str:
    number = entropy.bits("wandb", 8 * length)
    found = "".join(_CHARACTERS[number // 36**place % 36] for place in range(length))
    _generated.add(found)
    return found


def capture() -> dict[str, Any]:
    since = time.monotonic() - _TAIL_SECONDS
    return {
        name: {
            "step": rows.run._local_step,
            "last": [[step, text] for at, step, text in rows.last if at > since],
        }
        for name, rows in _runs.items()
    }


def restore(saved: Mapping[str, Any]) -> None:
    for name, known in saved.items():
        if rows := _runs.get(name):
            for step, text in known["last"]:
                if step >= rows.there:
                    _log(rows.run, json.loads(text), step, True)
            rows.there, rows.goes_on = max(rows.there, known["step"]), True
            rows.run._local_step = known["step"]


def _steps_in_files(run: Any) -> int:
    own = Path(run.settings.sync_file)
    files = Path(run.settings.wandb_dir).glob(f"*-{run.id}/{own.name}")
    return max((_steps_in(each) for each in files if each != own), default=0)


def _steps_in(file: Path) -> int:
    kind = sys.modules["wandb.proto.wandb_internal_pb2"].Record
    records = map(kind.FromString, _records(file.read_bytes()))
    steps = (each.history.step.num + 1 for each in records if each.HasField("history"))
    return max(steps, default=0)


def _records(data: bytes) -> Iterator[bytes]:
    at, record = _HEADER_BYTES, b""
    while at + _HEADER_BYTES <= len(data):
        left = _BLOCK_BYTES - at % _BLOCK_BYTES
        if left < _HEADER_BYTES:
            at += left
            continue
        size_bytes, part = struct.unpack_from("<HB", data, at + 4)
        at += _HEADER_BYTES
        if at + size_bytes > len(data):
            return
        record += data[at : at + size_bytes]
        at += size_bytes
        if part in _LAST_PARTS:
            yield record
            record = b""
