"""Keeps failures of our own code away from the training that it looks at.

A failure is noted once by its place, in the attempt's folder, and the training goes on. Where it
was needed for an exact resume, it ends the snapshots: none is better than a wrong one. What leaves
a script on purpose is no `Exception`, and passes; the user's code never runs inside of a fence.
"""

import functools
import os
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import ParamSpec, Protocol

from pitstop.engine.leaving import Refused
from pitstop.events import Event, Notice
from pitstop.link.beacon import Phase
from pitstop.link.settings import ENV_STACKS

FAILURES_FILE = "failures.txt"
"""In the attempt's folder: tracebacks of what failed in Pitstop itself."""

_MOST_PLACES = 50
_REPORT = "Please report this as a bug of Pitstop, with {}."
_P = ParamSpec("_P")


class Watched(Protocol):
    """The part of the session that is told of failures."""

    attempt_dir: Path

    def report(self, event: Event) -> None: ...

    def give_up_snapshots(self, error: Exception) -> None: ...

    def phase(self) -> Phase: ...


class Fence:
    """The failures of one process, each place once."""

    def __init__(self) -> None:
        self._session: Watched | None = None
        self._early: list[tuple[str, Exception, bool]] = []
        self._places: set[str] = set()
        self._told = False
        self._pid = os.getpid()

    def tell(self, session: Watched) -> None:
        self._session, self._pid = session, os.getpid()
        early, self._early = self._early, []
        for place, error, spoils in early:
            self._tell(session, place, error, spoils=spoils)

    def note(self, place: str, error: Exception, *, spoils: bool = False) -> None:
        """Tells a failure of ours once by its place; raises `Refused` while a state is restored."""
        if os.getpid() != self._pid:
            return  # a forked data worker
        if place not in self._places and len(self._places) < _MOST_PLACES:
            self._places.add(place)
            # If this fails, nothing else can be told.
            with suppress(Exception):
                if self._session is None:
                    self._early.append((place, error, spoils))
                    _write(Path(os.environ[ENV_STACKS]).parent, place, error)
                else:
                    _write(self._session.attempt_dir, place, error)
                    self._tell(self._session, place, error, spoils=spoils)
        if spoils and self._session is not None and self._session.phase() is Phase.RESTORING:
            raise Refused

    def _tell(self, session: Watched, place: str, error: Exception, *, spoils: bool) -> None:
        if session.phase() is Phase.RESTORING and spoils:
            words = f"Pitstop failed to restore the saved state ({error!r}); "
            remedy = _REPORT.format(f"{FAILURES_FILE} in the attempt's folder; --new starts over")
            session.report(Notice("resume_refused", f"{words}the checkpoint is kept.", remedy))
        elif spoils:
            session.give_up_snapshots(error)
        elif not self._told:
            self._told = True
            words = f"Pitstop failed in {place} ({error!r}); "
            remedy = _REPORT.format(session.attempt_dir / FAILURES_FILE)
            notice = Notice("observation_failed", f"{words}the training is not affected.", remedy)
            session.report(notice)


def _write(attempt_dir: Path, place: str, error: Exception) -> None:
    trace = "".join(traceback.format_exception(error))
    with suppress(OSError), (attempt_dir / FAILURES_FILE).open("a", encoding="utf-8") as file:
        file.write(f"{place}\n{trace}\n")


FENCE = Fence()  # of this process


@contextmanager
def fenced(*, spoils: bool = False) -> Iterator[None]:
    """As `observing`, for a few lines of a function."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - ours, as below
        # The frame that called the end of this block, which `contextlib` calls.
        FENCE.note(sys._getframe(2).f_code.co_qualname, error, spoils=spoils)


def observing(*, spoils: bool = False) -> Callable[[Callable[_P, object]], Callable[_P, None]]:
    """Fences a function that only looks on; `spoils`: a later snapshot would lack something."""

    def decorate(function: Callable[_P, object]) -> Callable[_P, None]:
        place = getattr(function, "__qualname__", repr(function))

        @functools.wraps(function)
        def observe(*args: _P.args, **kwargs: _P.kwargs) -> None:
            try:
                function(*args, **kwargs)
            except Exception as error:  # noqa: BLE001 - ours: no code of the user's runs in here
                FENCE.note(place, error, spoils=spoils)

        return observe

    return decorate
