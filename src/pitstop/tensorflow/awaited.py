"""Saved variables that a process has not created yet, while their restore lasts.

Values are given at creation, inside of a constructor of the script: nothing is
refused there.  What does not fit together is told when the restore is over.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection
from typing import Any

from pitstop.engine.variable_match import (
    REORDERED,
    PresentVariable,
    SavedVariable,
    VariableMatch,
    changed,
    fits,
    named,
)


class Awaited:
    """What a restore waits for."""

    def __init__(self, found: VariableMatch, assign: Callable[[SavedVariable, Any], None]) -> None:
        self._reordered = found.reordered
        self._waiting = {item.index: item for item in found.waiting}
        self._assign = assign
        self._claimed: list[tuple[SavedVariable, weakref.ref[Any]]] = []
        self._others: list[PresentVariable] = []

    def created(self, now: PresentVariable, variable: Any) -> None:
        """A variable has been created; it gets its value if it is certain that it has one."""
        item = self._waiting.get(now.index)
        if item is None or item.name not in ("", now.name) or not fits(item, now):
            self._others.append(now)
            return
        del self._waiting[now.index]
        self._claimed.append((item, weakref.ref(variable)))
        self._assign(item, variable)

    def settle(self, path_of: Callable[[Any], str]) -> str:
        """Why what came is not what was awaited, else empty.

        Raises:
            ResumeRefused: a variable came that is called otherwise, or has another form.
        """
        for now in self._others:
            item = self._waiting.get(now.index)
            if item is not None:
                raise changed(item, now)
        doubts = [REORDERED] if self._reordered else []
        if lost := [item for item in self._waiting.values() if not item.dropped]:
            doubts.append(_told("did not come back", lost))
        if unproven := self._unproven(path_of):
            doubts.append(_told("came late and may have been meant to be new", unproven))
        return "; ".join(doubts)

    def _unproven(self, path_of: Callable[[Any], str]) -> list[SavedVariable]:
        """Variables that nothing holds that was there before: they may be made anew each time."""
        living = [(item, made()) for item, made in self._claimed]
        return [
            item
            for item, variable in living
            if variable is not None and not (item.owned and path_of(variable) == item.path)
        ]


def _told(what: str, items: Collection[SavedVariable]) -> str:
    return f"{len(items)} saved variable(s) {what}: {named(items)}"
