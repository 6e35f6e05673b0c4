"""Calls that end the process, watched from its beginning: a script may import their names early."""

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from pitstop.engine.hooking import Original, hook

ExitListener = Callable[[str, Any], None]
"""Gets the name of the function that is called, such as `os._exit`, and its argument."""

_CALLS = ((sys, "exit"), (os, "_exit"), (os, "abort"))
_listeners: list[ExitListener] = []
_watched: list[str] = []


def watch() -> None:
    """From now on all calls are seen, by whatever name; once, also if it is called again."""
    for module, name in () if _watched else _CALLS:
        how = f"{module.__name__}.{name}"
        hook(module, name, functools.partial(_call, how))
        _watched.append(how)


def tell(listener: ExitListener) -> None:
    """Tells each call before it is made."""
    watch()
    _listeners.append(listener)


def _call(how: str, original: Original, /, *arguments: Any, **named: Any) -> Any:
    for listener in _listeners:
        listener(how, next(iter((*arguments, *named.values())), None))
    return original(*arguments, **named)
