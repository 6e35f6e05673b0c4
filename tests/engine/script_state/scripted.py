"""A script's module as two processes would have it, and what a checkpoint carries between them."""

from __future__ import annotations

import json
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.script_state.state import ScriptState
from pitstop.engine.values import reachable
from pitstop.engine.values.python_state import Encoder

_MODULE = "__this_module__"


class NoLibrary:
    """A process without any framework."""

    set_by_callbacks: frozenset[str] = frozenset()

    def is_opened(self, kind: type) -> bool:
        return False

    is_followed = is_elsewhere = is_table = is_opened

    def script_fields(self, value: Any) -> None:
        return None

    def own_names(self, kind: type) -> frozenset[str]:
        return frozenset()

    remade_names = own_names

    def is_asked(self, owner: Any, value: Any) -> bool:
        return False

    def functions_of(self, value: Any) -> Iterator[Any]:
        return iter(())

    def array_of(self, value: Any) -> None:
        return None

    def parts_of(self, value: Any) -> list[Any]:
        return []

    def tensor_of(self, array: Any) -> Any:
        return array

    def entries_of(self, table: Any) -> Any:
        raise NotImplementedError

    def refill_table(self, table: Any, keys: Any, values: Any) -> None:
        raise NotImplementedError


def begun(**roots: Any) -> ScriptState:
    _be_the_process_of(roots.values())
    state = ScriptState(NoLibrary())
    state.begin(roots, {})
    return state


def _be_the_process_of(roots: Iterable[Any]) -> None:
    """In a process of its own, a script has no second module of its name."""
    for root in roots:
        for each in (root, *vars(type(root)).values()):
            module = getattr(each, "__globals__", {}).get(_MODULE)
            if module is not None:
                sys.modules["script"] = module


def saved_of(state: ScriptState) -> tuple[Any, dict[str, memoryview]]:
    """What a checkpoint holds of it."""
    encoder = Encoder("")
    saved = json.loads(json.dumps(state.capture(encoder, read_ahead=False)))
    return saved, {name: memoryview(each.tobytes()) for name, each in encoder.arrays.items()}


def carried(state: ScriptState, into: ScriptState) -> None:
    saved, arrays = saved_of(state)
    assert state.unverified == []
    assert into.restore(saved, arrays, read_ahead=False) == []


def process(
    source: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> Callable[[], types.ModuleType]:
    """What runs a script as another process would, and gives its module."""
    # Threads that other tests have left are none of this process.
    enumerate_all, others = threading.enumerate, {*threading.enumerate()}
    others.discard(threading.main_thread())
    monkeypatch.setattr(
        threading, "enumerate", lambda: [each for each in enumerate_all() if each not in others]
    )
    # Of `python -m pytest`, pytest is the program that runs.
    for name in reachable.user_modules().keys() - {"__main__"}:
        monkeypatch.delitem(sys.modules, name)

    def again() -> types.ModuleType:
        monkeypatch.setattr(reachable, "_NAMESPACES", {})
        module = types.ModuleType("script")
        module.__file__ = str(folder / "script.py")
        vars(module)[_MODULE] = module
        monkeypatch.setitem(sys.modules, "script", module)
        exec(compile(source, module.__file__, "exec"), vars(module))
        return module

    return again
