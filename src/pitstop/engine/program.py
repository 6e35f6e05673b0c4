"""The script as it is now: a digest of its files, and of what it was called with."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from pathlib import Path

from pitstop.engine.described import digest_of_text
from pitstop.engine.reachable import user_modules

_MOST_FILES = 256
_LARGEST_BYTES = 1 << 20


@functools.cache
def program_digest() -> str:
    """Of the text of the script and of its own modules, as they are at the first training."""
    files = {str(getattr(module, "__file__", None) or "") for module in user_modules().values()}
    return digest_of_text(*(_text(file) for file in sorted(files) if file))


def command_digest() -> str:
    """Of the arguments that the script was called with."""
    return digest_of_text(*sys.argv[1:])


@functools.cache
def _text(file: str) -> str:
    # Once in a process: the user may edit it while it runs.
    try:
        return Path(file).read_text(errors="replace")
    except OSError:
        return ""


def own_sources() -> dict[str, str]:
    """Digests of the files that the script's modules came from, by path."""
    found: dict[str, str] = {}
    for module in user_modules().values():
        path = Path(vars(module)["__file__"]).absolute()
        # What cannot be read says nothing.
        with contextlib.suppress(OSError):
            if len(found) < _MOST_FILES and path.stat().st_size <= _LARGEST_BYTES:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
