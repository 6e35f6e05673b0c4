"""What a spare process does before its script: imports libraries, and waits to be needed."""

import contextlib
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

from pitstop.engine.randomness import entropy
from pitstop.link.settings import EAGER

_PAUSE_SHARE = 3.0  # it pauses so much longer than it works
_BUSY_PAUSE_SHARE = 30.0
"""The same, as long as no processor is idle: it slows the training down by 3 % then."""
_LEAST_WORK_SECONDS = 0.005
"""Between two pauses; there are thousands of modules, and a look at the processors takes time."""
_SHORTEST_LOOK_SECONDS = 0.2  # the kernel counts idle time in hundredths of a second


class _Pauses(importlib.abc.MetaPathFinder):
    """Finds nothing, and waits in front of modules until the process is needed."""

    def __init__(self, supervisor: socket.socket, *, eager: bool) -> None:
        self._supervisor = supervisor
        self._worked_seconds = time.process_time()
        self._share = pause_share(0.0, eager=eager)
        self._eager = eager
        self._is_needed = False

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: object = None
    ) -> ModuleSpec | None:
        now = time.process_time()
        if now - self._worked_seconds >= _LEAST_WORK_SECONDS and not self._is_needed:
            self._pause(self._share * (now - self._worked_seconds))
            self._worked_seconds = now
        return None

    def _pause(self, seconds: float) -> None:
        idle_seconds, began_seconds = _idle_seconds(), time.monotonic()
        readable, _, _ = select.select([self._supervisor], [], [], seconds)
        self._is_needed = bool(readable)
        if readable and not self._supervisor.recv(1, socket.MSG_PEEK):
            os._exit(1)  # The supervisor has ended.
        passed_seconds = time.monotonic() - began_seconds
        if passed_seconds >= _SHORTEST_LOOK_SECONDS:
            idle_processors = (_idle_seconds() - idle_seconds) / passed_seconds
            self._share = pause_share(idle_processors, eager=self._eager)


def pause_share(idle_processors: float, *, eager: bool) -> float:
    return _PAUSE_SHARE if eager or idle_processors >= 1 else _BUSY_PAUSE_SHARE


def _idle_seconds() -> float:
    """Of all processors of the machine since its start (proc_stat(5))."""
    return float(Path("/proc/stat").read_text().split()[4]) / os.sysconf("SC_CLK_TCK")


def wait(told: str) -> None:
    """Returns when this process is needed, or ends it; `told` is the value of `ENV_SPARE`.

    It may be needed before it is ready: it imports the rest without pauses then. One that cannot
    import something becomes a new process once it is needed.
    """
    number, pace, imports = told.split(":", 2)
    environment = dict(os.environ)
    with socket.socket(fileno=int(number)) as supervisor:
        pauses = _Pauses(supervisor, eager=pace == EAGER)
        sys.meta_path.insert(0, pauses)
        try:
            _import(json.loads(Path(imports).read_text()))
        except Exception:  # noqa: BLE001
            has_all = False
        else:
            has_all = True
            with contextlib.suppress(OSError):  # it may be needed by now
                supervisor.sendall(b".")
        needed = b""
        with contextlib.suppress(OSError):
            needed = supervisor.recv(1)
        if not needed:
            os._exit(1)
        sys.meta_path.remove(pauses)
    if not has_all:
        os.execve(sys.executable, sys.orig_argv, environment)
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
