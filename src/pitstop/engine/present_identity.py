"""What is known of any training from the call that begins it."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import sys
from pathlib import Path

from pitstop.engine.call_site import present_call_site
from pitstop.engine.described import digest_of_text
from pitstop.engine.identity import Identity
from pitstop.engine.reachable import user_modules

_MOST_FILES = 256
_LARGEST_BYTES = 1 << 20


def identity_of_present_call(seed: int | None) -> Identity:
    """The place of the call that runs now, in the program, the command and the process."""
    site = present_call_site()
    return Identity(
        process=process_name(),
        program=program_digest(),
        command=command_digest(),
        frames=site.frames,
        counters=site.counters,
        arguments=site.arguments,
        complete=site.complete,
        values=site.values,
        seed="" if seed is None else str(seed),
    )


def process_name() -> str:
    """The name that `multiprocessing` gave it, in the order in which they are made.

    Empty for a process that it did not make.
    """
    made_by = sys.modules.get("multiprocessing.process")
    if made_by is None or made_by.parent_process() is None:
        return ""
    return str(made_by.current_process().name)


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
    files = [vars(module).get("__file__") for module in user_modules().values()]
    for path in (Path(file).absolute() for file in files if file):
        # What cannot be read says nothing.
        with contextlib.suppress(OSError):
            if len(found) < _MOST_FILES and path.stat().st_size <= _LARGEST_BYTES:
                found[str(path)] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found
