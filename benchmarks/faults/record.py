"""Keeps what a run left behind, without the paths of the machine it ran on."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

from benchmarks.faults.run import ROOT

_MOST_BYTES = 1 << 20
_LEFT_OUT = frozenset({"checkpoints", "lock"})


def record(run_folder: Path, target: Path) -> None:
    """Copies journal, output and samples of a run to a folder, which is emptied before."""
    shutil.rmtree(target, ignore_errors=True)
    target.mkdir(parents=True)
    for path in sorted(run_folder.rglob("*")):
        inside = path.relative_to(run_folder)
        is_wanted = path.is_file() and not _LEFT_OUT & set(inside.parts)
        if is_wanted and path.stat().st_size <= _MOST_BYTES:
            (target / inside).parent.mkdir(parents=True, exist_ok=True)
            (target / inside).write_bytes(_scrubbed(path.read_bytes(), run_folder))


def _scrubbed(data: bytes, run_folder: Path) -> bytes:
    names = {
        str(run_folder.parent.resolve()): "/home/ada/training",
        str(run_folder.parent): "/home/ada/training",
        sys.prefix: "/home/ada/venv",
        str(ROOT): "/home/ada/pitstop",
        os.uname().nodename: "node17",
    }
    for name, instead in names.items():
        data = data.replace(name.encode(), instead.encode())
    return data
