"""Where the random streams of a cell begin: at numbers of its run, unless the user has seeded.

A cell draws the same in each kernel, whichever cells have run before it; and other numbers
each time that it has come to its end and is run again.
"""

from __future__ import annotations

import functools
import random
import sys
from collections.abc import Callable
from typing import Any

from pitstop.engine import entropy
from pitstop.inject import streams

_SEEDING = (("random", ("seed", "setstate")), ("numpy.random", ("seed", "set_state")))


class RandomBegin:
    """The streams of Python and NumPy.

    Attributes:
        streams: as the cell that runs now has found them; None where it has them of its run.
    """

    def __init__(self, key: Callable[[], str]) -> None:
        """Seeds nothing yet; `key` is the entropy of the run."""
        self.streams: dict[str, Any] | None = None
        self._key = key
        self._seeded = False
        self._watched: set[str] = set()
        self._is_ours = False

    def begin(self, cell: str, streams_before: dict[str, Any] | None) -> None:
        """A cell begins, with the streams that it had before where it was stopped."""
        self.watch()
        if not self._seeded:
            self.streams = None
            entropy.use(f"{self._key()}/{cell}")
            self._by_us(lambda: [seed() for name, seed in _SEEDERS if name in sys.modules])
            return
        if streams_before is not None:
            self._by_us(lambda: _restore(streams_before))
        self.streams = _capture()

    def watch(self) -> None:
        """Learns of a user who seeds, in the modules that are there by now."""
        for module, names in _SEEDING:
            if module in sys.modules and module not in self._watched:
                self._watched.add(module)
                for name in names:
                    original = getattr(sys.modules[module], name)
                    setattr(sys.modules[module], name, self._told(original))

    def numpy_came(self) -> None:
        """NumPy was imported in the middle of a cell."""
        self.watch()
        if not self._seeded:
            self._by_us(streams.seed_numpy)

    def _told(self, original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def seed(*arguments: Any, **named: Any) -> Any:
            if not self._is_ours and not is_restoring():
                self._seeded = True
            return original(*arguments, **named)

        return seed

    def _by_us(self, act: Callable[[], Any]) -> None:
        before, self._is_ours = self._is_ours, True
        try:
            act()
        finally:
            self._is_ours = before


def is_restoring() -> bool:
    """Whether Pitstop itself sets the streams, for a training that goes on."""
    frame = sys._getframe(2)
    return str(frame.f_globals.get("__name__")).startswith("pitstop.")


_SEEDERS = (("random", streams.seed_python), ("numpy.random", streams.seed_numpy))


def _capture() -> dict[str, Any]:
    if "tensorflow" in sys.modules:
        from pitstop.tensorflow import randomness  # noqa: PLC0415

        return randomness.capture()
    found: dict[str, Any] = {"python": random.getstate()}
    if "numpy.random" in sys.modules:
        found["numpy"] = sys.modules["numpy.random"].get_state()
    return found


def _restore(state: dict[str, Any]) -> None:
    if "tensorflow_seed" in state:
        from pitstop.tensorflow import randomness  # noqa: PLC0415

        randomness.restore(state)
        return
    random.setstate(state["python"])
    if "numpy" in state:
        sys.modules["numpy.random"].set_state(state["numpy"])
