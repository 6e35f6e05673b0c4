"""What a spare process does before its script: imports libraries, and waits to be needed.

It is the run's command, started while an attempt trains; it goes on when the attempt has failed.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.util
import json
import os
import select
import socket
import sys
import time
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from pathlib import Path

from pitstop.engine import entropy

_PAUSE_SHARE = 3.0
"""So much longer than it works, it leaves the processors to the training."""


class _Pauses(importlib.abc.MetaPathFinder):
    """Finds nothing, and waits in front of each module until the process is needed."""

    def __init__(self, supervisor: socket.socket) -> None:
        self._supervisor = supervisor
        self._worked_seconds = time.process_time()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        now = time.process_time()
        pause_seconds = _PAUSE_SHARE * (now - self._worked_seconds)
        self._worked_seconds = now
        select.select([self._supervisor], [], [], pause_seconds)
        return None


def wait(told: str) -> None:
    """Returns when this process is needed, or ends it; `told` is the value of `ENV_SPARE`."""
    number, _, imports = told.partition(":")
    with socket.socket(fileno=int(number)) as supervisor:
        pauses = _Pauses(supervisor)
        sys.meta_path.insert(0, pauses)
        try:
            _import(json.loads(Path(imports).read_text()))
            supervisor.sendall(b".")
            needed = supervisor.recv(1)
        except Exception:  # noqa: BLE001
            needed = b""
        if not needed:
            os._exit(1)
        sys.meta_path.remove(pauses)
    # Its attempt, whose folder there was not yet, has begun.
    entropy.claim(os.environ)


def _import(modules: Sequence[tuple[str, str]]) -> None:
    files = dict(modules)
    for name in files:
        library = name.partition(".")[0]
        # The script's folder is not on the path yet: what it has of that name is left alone.
        if library in sys.modules or _file_of(library) == files.get(library):
            importlib.import_module(name)


def _file_of(library: str) -> str | None:
    spec = importlib.util.find_spec(library)
    return spec.origin if spec is not None else None
