"""Objects are found wherever a script may keep them, and named the same each time."""

from __future__ import annotations

import argparse
import functools
import sys
import threading
import types
import weakref
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.values import reachable


class Treasure:
    """What is looked for."""


NOTHING: frozenset[type] = frozenset()


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> types.ModuleType:
    """The only module of the user's."""
    module = types.ModuleType("script")
    module.__file__ = str(tmp_path / "script.py")
    for name in reachable.user_modules():
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "script", module)
    return module


def found(
    roots: dict[str, Any], opened: Callable[[type], bool] = NOTHING.__contains__
) -> dict[str, Any]:
    return reachable.find(roots, (Treasure,), opened)


def closing_over(value: Any) -> Callable[[], Any]:
    return lambda: value


def with_attribute(value: Any) -> Callable[[], Any]:
    def function() -> None: ...

    vars(function).update(kept=value)
    return function


def in_context(value: Any) -> ContextVar[Any]:
    variable: ContextVar[Any] = ContextVar("kept")
    variable.set(value)
    return variable


def keeping(value: Any) -> Iterator[Any]:
    inner = [value]
    while True:
        yield inner


def of_users_class(value: Any, script: types.ModuleType, base: type = object) -> Any:
    kind = type("Holder", (base,), {"__module__": script.__name__})
    holder = kind()
    holder.kept = value
    return holder


HOLDERS: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "itself": ("", lambda value: value),
    "in a list": ("[1]", lambda value: [0, value]),
    "in a dictionary": (".a", lambda value: {"a": value}),
    "in nested collections": (".a[0][0]", lambda value: {"a": ({value},)}),
    "in a namespace": (".a", lambda value: types.SimpleNamespace(a=value)),
    "in parsed arguments": (".a", lambda value: argparse.Namespace(a=value)),
    "in a closure": (".value", closing_over),
    "as a default": ("[0]", lambda value: lambda x=value: x),
    "as an attribute of a function": (".kept", with_attribute),
    "in a context variable": (".value", in_context),
    "in a partial": ("[1][0]", lambda value: functools.partial(print, value)),
    "in a method": ("[0]", lambda value: [value].append),
    "in a started generator": (".value", lambda value: started(keeping(value))),
}


def started(generator: Iterator[Any]) -> Iterator[Any]:
    next(generator)
    return generator


@pytest.mark.parametrize("holder", HOLDERS)
def test_a_global_leads_to_it(holder: str, script: types.ModuleType) -> None:
    path, hold = HOLDERS[holder]
    treasure = Treasure()
    script.__dict__["kept"] = hold(treasure)
    assert found({}) == {f"script:kept{path}": treasure}


@pytest.mark.parametrize("base", [object, threading.local])
def test_attributes_of_the_scripts_own_classes_lead_to_it(
    base: type, script: types.ModuleType
) -> None:
    treasure = Treasure()
    script.__dict__["holder"] = of_users_class(treasure, script, base)
    assert found({}) == {"script:holder.kept": treasure}


def test_a_class_leads_to_its_attributes(script: types.ModuleType) -> None:
    treasure = Treasure()
    script.__dict__["Made"] = type("Made", (), {"__module__": "script", "shared": treasure})
    assert found({}) == {"script:Made.shared": treasure}


def test_library_objects_are_closed_unless_they_are_asked_for(script: types.ModuleType) -> None:
    treasure = Treasure()
    inner: Any = Future()
    inner.kept = treasure
    script.__dict__["library"] = inner
    assert found({}) == {}
    assert found({}, lambda kind: kind is Future) == {"script:library.kept": treasure}
    assert found({"x": inner}) == {"x.kept": treasure}


def test_each_object_has_the_name_it_was_met_by_first(script: types.ModuleType) -> None:
    treasure = Treasure()
    script.__dict__["kept"] = treasure
    assert found({"x": [treasure, treasure]}) == {"script:kept": treasure}


@pytest.mark.usefixtures("script")
def test_cycles_end() -> None:
    treasure, ring = Treasure(), list[Any]()
    ring.extend([ring, treasure])
    assert found({"x": ring}) == {"x[1]": treasure}


@pytest.mark.usefixtures("script")
def test_long_collections_are_data() -> None:
    assert found({"x": [Treasure()] * 257}) == {}


@pytest.mark.usefixtures("script")
def test_an_empty_cell_holds_nothing() -> None:
    def refers_to_later() -> Any:
        return later

    assert found({"x": refers_to_later}) == {}
    later = Treasure()
    assert found({"x": refers_to_later}) == {"x.later": later}


class Lazy(list[Any]):
    """Computes its items when it is asked for them."""

    def __len__(self) -> int:
        raise AssertionError("asked for its length")

    def __iter__(self) -> Iterator[Any]:
        raise AssertionError("asked for its items")


@pytest.mark.usefixtures("script")
def test_the_scripts_code_is_not_run() -> None:
    treasure = Treasure()
    assert found({"x": Lazy([treasure])}) == {"x[0]": treasure}


@pytest.mark.usefixtures("script")
def test_a_dead_proxy_is_passed_by() -> None:
    gone = Treasure()
    proxy = weakref.proxy(gone)
    del gone
    assert found({"x": [proxy]}) == {}


def test_modules_of_libraries_are_not_the_users() -> None:
    assert not reachable.user_modules().keys() & {
        "json",
        "numpy",
        "pitstop.engine.values.reachable",
    }
