"""From a checkpoint on disk to a restore image: its files, verified, and a table of them.

The table is a line of JSON, and the saved state after it.  The line says the ranges of each
tensor's bytes: each the number of a file among the image's, an offset, and a size.  The files are
handed over as they are, and mapped by whoever restores: a copy would cost their pages twice.
"""

import json
import os
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from pitstop.link.wire import close_all
from pitstop.record import Frozen
from pitstop.store.increment import PreviousCheckpoint, joined, ledger_of
from pitstop.store.manifest import Manifest
from pitstop.store.reader import opened, read_state, read_tensors

_Ranges = dict[str, list[tuple[int, int, int]]]


class RestoreImage(Frozen):
    """A verified checkpoint: its table, then its files; `ledger`: what may be referred to."""

    fds: tuple[int, ...]
    ledger: PreviousCheckpoint

    def close(self) -> None:
        close_all(self.fds)


def load(path: Path, manifest: Manifest) -> RestoreImage:
    """Reads and verifies a checkpoint; raises `CheckpointCorrupt` or `EnvironmentFault`."""
    state = read_state(path, manifest)
    files = sorted({part.file for each in manifest.tensors.values() for part in each.parts})
    with ExitStack() as unless_verified:
        fds = [_opened(path, name, unless_verified) for name in files]
        chunks = read_tensors(path, manifest, lambda _piece: None)
        table = _table(_ranges(manifest, files), state)
        unless_verified.pop_all()
    return RestoreImage((table, *fds), ledger_of(path, manifest, chunks))


def _opened(path: Path, name: str, stack: ExitStack) -> int:
    with opened(path, name) as file:
        fd = os.dup(file.fileno())
    stack.callback(os.close, fd)
    return fd


def _ranges(manifest: Manifest, files: Iterable[str]) -> _Ranges:
    numbers = {name: number for number, name in enumerate(files)}
    return {
        name: [(numbers[part.file], part.offset_bytes, part.size_bytes) for part in joined(parts)]
        for name, parts in ((name, each.parts) for name, each in manifest.tensors.items())
    }


def _table(ranges: _Ranges, state: bytes) -> int:
    fd = os.memfd_create("pitstop-restore")
    with open(fd, "wb", closefd=False) as file:
        file.write(json.dumps(ranges).encode() + b"\n" + state)
    return fd
