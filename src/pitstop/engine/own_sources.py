"""The files of the script's own modules: whether they are the same when it is run again."""

from __future__ import annotations

import contextlib
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

from pitstop.engine.witness import is_user_file

_MOST_FILES = 256
_LARGEST_BYTES = 1 << 20


def own_sources() -> dict[str, str]:
    """Digests of the files that the script's modules came from, by path."""
    found: dict[str, str] = {}
    for path in _own_files():
        # What cannot be read says nothing.
        with contextlib.suppress(OSError):
            if len(found) < _MOST_FILES and path.stat().st_size <= _LARGEST_BYTES:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _own_files() -> Iterator[Path]:
    for module in list(sys.modules.values()):
        # Not `getattr`, which loads a module that is loaded when it is used.
        name = getattr(module, "__dict__", {}).get("__file__")
        if isinstance(name, str) and is_user_file(name):
            yield Path(name).absolute()
