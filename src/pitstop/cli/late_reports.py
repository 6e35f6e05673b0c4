"""The reports of `pitstop run`, whose code is slow to load, and is so while the script runs."""

import importlib
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

_AFTER_SECONDS = 2.0  # the script's own start comes first

_needed = threading.Event()


def prepare(socket_path: str) -> None:
    del socket_path
    threading.Thread(target=_load, name="pitstop-reports", daemon=True).start()


def cause_and_report(run_dir: Path) -> str:
    cause: str = _reports().cause_and_report(run_dir)
    return cause


def leave(run_dir: Path, say: Callable[[str], None]) -> None:
    _needed.set()
    _reports().leave_reports(run_dir, say)


def _load() -> None:
    if not _needed.wait(_AFTER_SECONDS):
        _reports()


def _reports() -> ModuleType:
    return importlib.import_module("pitstop.cli.reports")
