"""Where the random streams of a cell begin: at numbers of its run, unless the user has seeded.

A cell draws the same in each kernel, and other numbers each time that it has ended and runs again.
"""

import functools
import random
import sys
from collections.abc import Callable
from typing import Any

from pitstop.engine.randomness import entropy
from pitstop.inject import streams

_MODULES: dict[str, tuple[Callable[[], None], tuple[str, str]]] = {
    "random": (streams.seed_python, ("seed", "setstate")),
    "numpy.random": (streams.seed_numpy, ("seed", "set_state")),
}
"""By module: how Pitstop seeds it, and how a user does."""


class RandomBegin:
    """The streams of Python and NumPy; `streams`: from before the cell, None if of its run."""

    def __init__(self, key: Callable[[], str]) -> None:
        self.streams: dict[str, Any] | None = None
        self._key = key
        self._seeded = False
        self._watched: set[str] = set()

    def begin(self, cell: str, streams_before: dict[str, Any] | None) -> None:
        for module in _MODULES:
            self._watch(module)
        if not self._seeded:
            self.streams = None
            entropy.use(f"{self._key()}/{cell}")
            for module in self._watched:
                _MODULES[module][0]()
            return
        if streams_before is not None:
            from pitstop.tensorflow import randomness  # noqa: PLC0415

            randomness.restore(streams_before)
        self.streams = _capture()

    def numpy_came(self) -> None:
        self._watch("numpy.random")
        if not self._seeded:
            streams.seed_numpy()

    def _watch(self, module: str) -> None:
        """Notices seeds of the user, if the module is loaded by now."""
        if module in sys.modules and module not in self._watched:
            self._watched.add(module)
            for name in _MODULES[module][1]:
                original = getattr(sys.modules[module], name)
                setattr(sys.modules[module], name, self._told(original))

    def _told(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def seed(*arguments: Any, **named: Any) -> Any:
            caller = str(sys._getframe(1).f_globals.get("__name__"))
            self._seeded |= not caller.startswith("pitstop.")
            return original(*arguments, **named)

        return seed


def _capture() -> dict[str, Any]:
    if "tensorflow" in sys.modules:
        from pitstop.tensorflow import randomness  # noqa: PLC0415

        return randomness.capture()
    found: dict[str, Any] = {"python": random.getstate()}
    if "numpy.random" in sys.modules:
        found["numpy"] = sys.modules["numpy.random"].get_state()
    return found
