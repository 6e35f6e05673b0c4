"""What each signal to `pitstop run` does.  Pure."""

from __future__ import annotations

import enum
import signal
from collections.abc import Iterable, Mapping
from dataclasses import field
from types import MappingProxyType

from pitstop.record import record

_FREE = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2")


class Action(enum.Enum):
    """What a signal does; the value is the name that the command line gives it."""

    STOP = "stop"
    NOW = "now"
    CHECKPOINT = "checkpoint"
    IGNORE = "ignore"


_USUAL: Mapping[signal.Signals, Action] = MappingProxyType(
    {
        signal.SIGINT: Action.STOP,
        signal.SIGTERM: Action.STOP,
        signal.SIGHUP: Action.STOP,
        signal.SIGUSR1: Action.STOP,
        signal.SIGUSR2: Action.CHECKPOINT,
    }
)


@record
class SignalActions:
    """The actions that the user chose; the others are as usual."""

    chosen: Mapping[signal.Signals, Action] = field(default_factory=dict)

    @property
    def all(self) -> Mapping[signal.Signals, Action]:
        return {**_USUAL, **self.chosen}

    def of(self, number: signal.Signals) -> Action | None:
        """What a signal does; None for one that is no business of the user's."""
        return self.all.get(number)

    @classmethod
    def from_texts(cls, texts: Iterable[str]) -> SignalActions:
        """From `USR1=checkpoint` and the like; a later one wins.  Else `ValueError`."""
        return cls(dict(parse(text) for text in texts))


def parse(text: str) -> tuple[signal.Signals, Action]:
    """A signal and its action, from `USR1=checkpoint` or `SIGUSR1=checkpoint`.

    Raises:
        ValueError: it is something else.
    """
    name, _, action = text.partition("=")
    name = name.strip().upper().removeprefix("SIG")
    actions = {each.value: each for each in Action}
    if name not in _FREE:
        raise ValueError(f"{text!r} names none of {', '.join(_FREE)}")
    if action.strip().lower() not in actions:
        raise ValueError(f"{text!r} names none of {', '.join(actions)}")
    return signal.Signals[f"SIG{name}"], actions[action.strip().lower()]
