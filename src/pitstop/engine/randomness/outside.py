"""What a training does that no checkpoint holds: it draws from the machine, sets variables."""

import os
import re
import sys
from collections.abc import Callable
from typing import Any

from pitstop.engine.audit_events import Frame, subscribe
from pitstop.engine.files.made_folders import script_frame
from pitstop.engine.hooking import hook

_DRAWS = (
    "the training draws from the machine's entropy (os.urandom, secrets, uuid, a generator without "
    "a seed in a thread) at {}:{}: not repeatable even without an interruption; seed a generator"
)
_SEEDED = (
    "a random op with a seed of its own runs outside of a tf.function at {}; TensorFlow counts "
    "its draws where nobody can read them: omit this seed, or use tf.random.Generator"
)
_SETS = "the training sets environment variables ({}), which are not restored; use an attribute"


class Outside:
    """Notes draws from the system and changed environment variables while a training runs."""

    def __init__(self) -> None:
        self._doubt: Callable[[str], None] | None = None
        self._steps = False

    def watch(self) -> None:
        hook(os, "urandom", self._draw)
        # `random` has its own name for it, which `secrets` and `SystemRandom` use.
        if hasattr(known := sys.modules.get("random"), "_urandom"):
            known._urandom = os.urandom  # type: ignore[union-attr]
        subscribe(("os.putenv", "os.unsetenv"), self._on_event)

    def begin(self, doubt: Callable[[str], None]) -> None:
        self._doubt, self._steps = doubt, False

    def begin_steps(self) -> None:
        self._steps = True

    def leave(self) -> None:
        self._doubt = None

    def drawn(self, frame: Frame) -> None:
        if self._doubt and not _is_seeded(frame) and (place := script_frame(frame)):
            self._tell(_DRAWS.format(place.f_code.co_filename, place.f_lineno))

    def drawn_by_seeded_op(self, place_on_stack: Callable[[], str]) -> None:
        if self._steps and self._doubt:
            self._tell(_SEEDED.format(place_on_stack()))

    def _tell(self, reason: str) -> None:
        doubt, self._doubt = self._doubt, None
        if doubt is not None:
            doubt(reason)

    def _draw(self, original: Callable[[int], bytes], size: int, /) -> bytes:
        self.drawn(sys._getframe(2))
        return original(size)

    def _on_event(self, _: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        if self._steps and self._doubt and script_frame(frame):
            self._tell(_SETS.format(os.fsdecode(arguments[0])))


def _is_seeded(frame: Frame) -> bool:
    """Whether the frame calls `RandomState` with a seed, which draws before it looks at it."""
    if frame is None:
        return False
    import linecache  # noqa: PLC0415  each Python process of a run loads this module

    code = frame.f_code
    line, last_line, begin, end = [*code.co_positions()][frame.f_lasti // 2]
    if line is None or line != last_line:
        return False
    call = linecache.getline(code.co_filename, line, frame.f_globals).encode()[begin:end].decode()
    found = re.fullmatch(r"(?:\w+\.)*RandomState\((?:seed=)?(.+)\)", call)
    if found is None or "None" in call:
        return False
    seed = found[1]
    if seed.isdigit() or not re.fullmatch(r"[\w.]+", seed):
        # What is computed is not None.
        return True
    first, *attributes = seed.split(".")
    value = {**frame.f_globals, **frame.f_locals}.get(first)
    for name in attributes:
        value = getattr(value, "__dict__", {}).get(name)
    return value is not None


OUTSIDE = Outside()  # of this process
