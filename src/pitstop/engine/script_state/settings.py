"""Settings of the process that code changes by calling a function, such as the level of a logger.

No object of the script holds them.  Where the code of a training names such a function, a walk
finds all of them as the fields of one object, `SETTINGS`.
"""

import atexit
import gc
import locale
import logging
import os
import re
import resource
import signal
import sys
import warnings
import weakref
from collections.abc import Callable, Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import Any

from pitstop.engine.values import reachable

SETTERS = frozenset(
    {
        *("setLevel", "disable", "disabled", "propagate", "addHandler", "removeHandler"),
        *("handlers", "set_verbosity", "basicConfig", "dictConfig", "fileConfig"),
        *("filterwarnings", "simplefilter", "resetwarnings", "filters"),
        *("set_threshold", "enable", "setrecursionlimit", "setswitchinterval", "stack_size"),
        *("setlocale", "setdefaulttimeout", "setfirstweekday", "field_size_limit", "traps"),
        *("register_dialect", "setbufsize", "seterrcall", "set_max_steps_per_epoch"),
        *("enable_interactive_logging", "disable_interactive_logging"),
        *("enable_traceback_filtering", "disable_traceback_filtering"),
        *("enable_flash_attention", "disable_flash_attention", "set_max_epochs"),
        *("set_soft_device_placement", "set_jit", "set_experimental_options"),
        *("enable_tensor_float_32_execution", "get_custom_objects", "register"),
        *("umask", "setrlimit", "setitimer", "finalize"),
    }
)
"""Names by which code changes such settings."""


def _loggers() -> list[logging.Logger]:
    return [each for _, each in sorted(reachable.loggers()) if isinstance(each, logging.Logger)]


def _levels() -> tuple[Any, ...]:
    return tuple(
        (each.name, each.level, each.disabled, each.propagate, *_levels_of_handlers(each))
        for each in _loggers()
    )


def _levels_of_handlers(logger: logging.Logger) -> list[int]:
    return [handler.level for handler in logger.handlers]


def _set_levels(wanted: tuple[Any, ...]) -> None:
    for name, level, is_disabled, propagates, *of_handlers in wanted:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.disabled, logger.propagate = is_disabled, propagates
        for handler, its_level in zip(logger.handlers, of_handlers, strict=True):
            handler.setLevel(its_level)


def _filters() -> tuple[Any, ...]:
    return tuple(
        (action, _text_of(message), _name_of(category), _text_of(module), line)
        for action, message, category, module, line in warnings.filters
    )


def _set_filters(wanted: tuple[Any, ...]) -> None:
    found = [
        (action, _pattern_of(message), _class_of(*category), _pattern_of(module), line)
        for action, message, category, module, line in wanted
    ]
    warnings.resetwarnings()
    warnings.filters[:] = found  # type: ignore[index]


def _text_of(pattern: Any) -> Any:
    return (pattern.pattern, pattern.flags) if isinstance(pattern, re.Pattern) else pattern


def _pattern_of(text: Any) -> Any:
    return re.compile(*text) if isinstance(text, tuple) else text


def _name_of(category: Any) -> tuple[str, str]:
    return category.__module__, category.__qualname__


def _class_of(module: str, name: str) -> type[Warning]:
    found = attrgetter(name)(sys.modules[module])
    if not issubclass(found, Warning):
        raise ValueError(f"{name} is no warning")
    return found  # type: ignore[no-any-return]


def _mask() -> int:
    # `os.umask` would change it for other threads meanwhile.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("\nUmask:")[2].split()[0], 8)


def _limits() -> tuple[Any, ...]:
    """The soft limits, which a process may lower and raise again."""
    names = [name for name in dir(resource) if name.startswith("RLIMIT_")]
    return tuple((name, resource.getrlimit(getattr(resource, name))[0]) for name in names)


def _set_limits(wanted: tuple[Any, ...]) -> None:
    for name, soft in wanted:
        limit = getattr(resource, name)
        resource.setrlimit(limit, (soft, resource.getrlimit(limit)[1]))


_RESTORED: Mapping[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "levels_of_loggers": (_levels, _set_levels),
    "level_of_logging": (lambda: logging.root.manager.disable, logging.disable),
    "filters_of_warnings": (_filters, _set_filters),
    "garbage_collector": (gc.isenabled, lambda is_on: (gc.enable if is_on else gc.disable)()),
    "thresholds_of_garbage": (gc.get_threshold, lambda wanted: gc.set_threshold(*wanted)),
    "recursion_limit": (sys.getrecursionlimit, sys.setrecursionlimit),
    "switch_interval": (sys.getswitchinterval, sys.setswitchinterval),
    "mask_of_files": (_mask, os.umask),
    "limits_of_resources": (_limits, _set_limits),
    "locale": (lambda: locale.setlocale(locale.LC_ALL), partial(locale.setlocale, locale.LC_ALL)),
}


class ProcessSettings:
    """The settings that a resume restores, as attributes."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return {name: read() for name, (read, _) in _RESTORED.items()}

    def put(self, name: str, value: Any) -> None:
        _, put = _RESTORED[name]
        put(value)


SETTINGS = ProcessSettings()

_OF_KERAS = (
    *("is_flash_attention_enabled", "is_interactive_logging_enabled", "max_epochs"),
    *("max_steps_per_epoch", "is_traceback_filtering_enabled"),
)
_OF_TENSORFLOW = (
    *("get_soft_device_placement", "optimizer.get_jit", "optimizer.get_experimental_options"),
    "experimental.tensor_float_32_execution_enabled",
)
_TOLD = (
    # The token is another one after each `ABC.register`.
    *("abc.get_cache_token", "keras.saving.get_custom_objects"),
    *("threading.stack_size", "socket.getdefaulttimeout", "calendar.firstweekday"),
    *("csv.field_size_limit", "csv.list_dialects", "numpy.getbufsize", "numpy.geterrcall"),
    *(f"keras.config.{name}" for name in _OF_KERAS),
    *(f"tensorflow.config.{name}" for name in _OF_TENSORFLOW),
)


def told() -> dict[str, str]:
    """The settings that are not restored, as texts by name: a change makes a resume inexact."""
    found = {f"{name}()": repr(read()) for name in _TOLD if (read := _function(name))}
    timers = signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF
    found["intervals of timers"] = str([signal.getitimer(each)[1] for each in timers])
    handled = (each for each in _loggers() if each.handlers)
    found["handlers of loggers"] = str([(e.name, [*map(type, e.handlers)]) for e in handled])
    found["functions of atexit"] = str(atexit._ncallbacks())
    found["finalizers of weakref"] = str(len(weakref.finalize._registry))  # type: ignore[attr-defined]
    if context := _function("decimal.getcontext"):
        found["decimal.getcontext().traps"] = str(
            [key for key, on in context().traps.items() if on]
        )
    return found


def _function(name: str) -> Callable[[], Any] | None:
    module, _, path = name.partition(".")
    try:
        found: Callable[[], Any] = attrgetter(path)(sys.modules.get(module))
    except AttributeError:
        return None
    return found
