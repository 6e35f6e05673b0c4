"""Where random numbers begin that a script does not seed: the same again on a resume.

A run has one entropy, kept in its run.json; each purpose draws its stream from it. Children of the
process, and threads beside the main one, get numbers of their own.
"""

import contextlib
import fcntl
import os
import sys
import threading
from collections.abc import Mapping, MutableMapping
from pathlib import Path

from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.link.settings import ENV_ENTROPY, ENV_STACKS

CLAIMS_FILE = "streams"
"""In the folder of an attempt: a byte for each process that began with the run's entropy."""


class Entropy:
    def __init__(self, key: str) -> None:
        self.drawn: dict[str, int] = {}
        self._key = key
        self._pid = os.getpid()

    @property
    def is_here(self) -> bool:
        return os.getpid() == self._pid and threading.current_thread() is threading.main_thread()

    def bits(self, purpose: str, count: int) -> int:
        # Only now: each Python process of a run loads this module.
        import hashlib  # noqa: PLC0415

        number = self.drawn[purpose] = self.drawn.get(purpose, 0) + 1
        text = f"{self._key}/{purpose}/{number}".encode()
        digest = hashlib.shake_256(text).digest((count + 7) // 8)
        return int.from_bytes(digest, "big") >> (-count % 8)


_current: Entropy | None = None


def begin(environment: MutableMapping[str, str]) -> Entropy | None:
    """The entropy of this process; None where it is a child of one that has it already."""
    global _current  # noqa: PLW0603
    key, _, taken_by = environment.get(ENV_ENTROPY, "").partition(":")
    if not key or taken_by not in ("", str(os.getpid())):
        return None
    environment[ENV_ENTROPY] = f"{key}:{os.getpid()}"
    number = 0 if taken_by else claim(environment)
    _current = Entropy(f"{key}/{number}")
    return _current


def use(key: str) -> None:
    global _current  # noqa: PLW0603
    _current = Entropy(key)


def is_here() -> bool:
    return _current is not None and _current.is_here


def bits(purpose: str, count: int) -> int:
    """A number of this many bits: the run's, where this process has a part of its entropy."""
    import secrets  # noqa: PLC0415

    if _current is not None and _current.is_here:
        return _current.bits(purpose, count)
    OUTSIDE.drawn(sys._getframe(2))
    return secrets.randbits(count)


def drawn() -> dict[str, int]:
    return dict(sorted(_current.drawn.items())) if _current is not None else {}


def go_on(drawn: Mapping[str, int]) -> None:
    if _current is not None:
        _current.drawn = dict(drawn)


def claim(environment: Mapping[str, str]) -> int:
    """The number of this process in the attempt: each process draws its own numbers."""
    stacks_file = environment.get(ENV_STACKS, "")
    if not stacks_file:
        return 0
    with contextlib.suppress(OSError), Path(stacks_file).with_name(CLAIMS_FILE).open("ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(b".")
        file.flush()
        return os.fstat(file.fileno()).st_size - 1
    return 0
