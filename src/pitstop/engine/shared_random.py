"""Random generators that an input written in Python shares with callbacks.

A thread reads such an input ahead of the steps, by a number of batches that
nobody controls: who draws first from a shared generator is not repeatable.
"""

from __future__ import annotations

import types
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pitstop.engine import reachable
from pitstop.engine.exactness import Exactness
from pitstop.engine.reachable import Reference
from pitstop.engine.script_random import KINDS

_MOST_OBJECTS = 5_000


def level_of(
    data: Any, callbacks: Sequence[Any], opened: Callable[[type], bool]
) -> Exactness | None:
    """What a shared generator makes of a resume; None when there is none."""
    of_input = _used_by(data, opened, without=())
    for callback in callbacks:
        for each in _used_by(callback, opened, without=(data,)):
            if any(each is other for other in of_input):
                return Exactness(
                    "not_exact",
                    f"the input, which is read ahead, and {type(callback).__name__} draw from one "
                    "random generator: not repeatable even without an interruption; "
                    "give each its own",
                )
    return None


def _used_by(root: Any, opened: Callable[[type], bool], without: Sequence[Any]) -> list[Any]:
    modules = reachable.user_modules()
    found: list[Any] = []
    seen: dict[int, Any] = {id(each): each for each in without}
    waiting: deque[Reference] = deque([("", root)])
    while waiting and len(seen) < _MOST_OBJECTS:
        _, value = waiting.popleft()
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if issubclass(type(value), KINDS):
            found.append(value)
            continue
        is_open = reachable.is_of(type(value), modules) or opened(type(value))
        if not _is_module(value) and not issubclass(type(value), type):
            waiting.extend(reachable.references("", value, modules, is_open=is_open))
        waiting.extend(_named_in_code(value, modules))
    return found


def _named_in_code(value: Any, modules: dict[str, types.ModuleType]) -> Iterator[Reference]:
    if issubclass(type(value), types.FunctionType):
        yield from _globals_of(value.__code__, value.__globals__)
    elif issubclass(type(value), types.GeneratorType) and value.gi_frame is not None:
        yield from _globals_of(value.gi_code, value.gi_frame.f_globals)
    elif reachable.is_of(type(value), modules):
        own = (base for base in type(value).__mro__ if base.__module__ in modules)
        yield from (item for base in own for item in vars(base).items())


def _globals_of(code: types.CodeType, named: dict[str, Any]) -> Iterator[Reference]:
    followed = (*KINDS, types.FunctionType)
    named_modules = [named[name] for name in code.co_names if _is_module(named.get(name))]
    for scope in (named, *map(vars, named_modules)):
        for name in code.co_names:
            if issubclass(type(scope.get(name)), followed):
                yield name, scope[name]
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _globals_of(inner, named)


def _is_module(value: Any) -> bool:
    return issubclass(type(value), types.ModuleType)
