"""What a spare process does before its script: imports libraries, and waits to be needed."""

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
from pitstop.link.settings import EAGER

_PAUSE_SHARE = 3.0  # it pauses so much longer than it works
_BUSY_PAUSE_SHARE = 30.0
"""The same, as long as no processor is idle: it slows the training down by 3 % then."""
_SHORTEST_LOOK_SECONDS = 0.2  # the kernel counts idle time in hundredths of a second


class _Pauses(importlib.abc.MetaPathFinder):
    """Finds nothing, and waits in front of each module until the process is needed."""

    def __init__(self, supervisor: socket.socket, *, eager: bool) -> None:
        self._supervisor = supervisor
        self._worked_seconds = time.process_time()
        self._share = pause_share(0.0, eager=eager)
        self._eager = eager

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        now = time.process_time()
        pause_seconds = self._share * (now - self._worked_seconds)
        self._worked_seconds = now
        idle_seconds, began_seconds = _idle_seconds(), time.monotonic()
        select.select([self._supervisor], [], [], pause_seconds)
        passed_seconds = time.monotonic() - began_seconds
        if passed_seconds >= _SHORTEST_LOOK_SECONDS:
            idle_processors = (_idle_seconds() - idle_seconds) / passed_seconds
            self._share = pause_share(idle_processors, eager=self._eager)
        return None


def pause_share(idle_processors: float, *, eager: bool) -> float:
    return _PAUSE_SHARE if eager or idle_processors >= 1 else _BUSY_PAUSE_SHARE


def _idle_seconds() -> float:
    """Of all processors of the machine since its start (proc_stat(5))."""
    return float(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")


def wait(told: str) -> None:
    """Returns when this process is needed, or ends it; `told` is the value of `ENV_SPARE`."""
    number, pace, imports = told.split(":", 2)
    with socket.socket(fileno=int(number)) as supervisor:
        pauses = _Pauses(supervisor, eager=pace == EAGER)
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
    # Its attempt has begun, and has a folder now.
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
