"""What a script can reach by name: globals, attributes, and what its functions close over.

The walk has a fixed order: the same script finds an object under the same name in any process.
Libraries are opened only where they are asked for.
"""

from __future__ import annotations

import argparse
import csv
import functools
import gc
import importlib.machinery
import io
import itertools
import logging
import sys
import threading
import types
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from pitstop.engine.audit_events import identity
from pitstop.engine.frames import is_user_file
from pitstop.engine.values.code_names import codes_in, names_in

_MOST_OBJECTS = 20_000
# Random generators are kept in short lists; long ones are data.
_MOST_ITEMS = 256
CODE = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)
_MOST_KINDS = 4096
CACHED = functools._lru_cache_wrapper  # functions that remember what they have returned
_PLAIN = (str, bytes, int, float, complex, type(None))

_T = TypeVar("_T")
Reference = tuple[str, Any]
_Follow = Callable[[str, Any], Iterator[Reference]]
_Kinds = tuple[type, ...]
Opened = Callable[[type], bool]  # whether the attributes of such objects of libraries are followed

_CELLS: set[str] = set()  # modules that cells of a notebook fill
_OF_THE_SHELL = ("In", "Out", "exit", "quit", "open", "get_ipython")  # what IPython puts there
_OF_SYS = frozenset(vars(sys))  # before the script has added to them


def count_as_users(module: str) -> None:
    """Counts what this module defines as the user's, although it comes from no file."""
    _CELLS.add(module)
    _FOUND.clear()


_LIBRARIES: dict[str, types.ModuleType] = {}
"""Modules with a file that is not the user's: thousands, which are asked for at each `fit`."""

_FOUND: dict[tuple[int, int, str], dict[str, types.ModuleType]] = {}
"""The user's modules, by the numbers of all modules and the one that was imported last."""


def user_modules() -> dict[str, types.ModuleType]:
    own = {each.__name__: each for each in _NAMESPACES.values()}
    key = (len(sys.modules), len(own), next(reversed(sys.modules)))
    found = _FOUND.get(key)
    if found is None or any(
        own.get(name, sys.modules.get(name)) is not each for name, each in found.items()
    ):
        present = sys.modules | own
        _FOUND.clear()
        found = _FOUND[key] = dict(sorted(_user_modules_of(present)))
    return found.copy()


def library_modules() -> Mapping[str, types.ModuleType]:
    user_modules()  # which notes those that were imported since
    return _LIBRARIES


def _user_modules_of(present: Mapping[str, Any]) -> Iterator[tuple[str, types.ModuleType]]:
    for name, module in present.items():
        is_new = _LIBRARIES.get(name) is not module
        if is_new and issubclass(type(module), types.ModuleType) and _is_user_module(name, module):
            yield name, module


class Namespace(types.ModuleType):
    """Globals that are in no module, such as those of `runpy.run_path`, seen as one."""

    def __init__(self, name: str, scope: dict[str, Any]) -> None:
        super().__init__(name)
        self.scope = scope

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        return self.scope


_NAMESPACES: dict[int, Namespace] = {}


def namespace(file: str, scope: dict[str, Any]) -> Namespace:
    """The `Namespace` of these globals, always the same one; `file`: where their code is."""
    found = _NAMESPACES.get(identity(scope))
    if found is None:
        name = str(scope.get("__name__") or Path(file).name)
        taken = sys.modules.keys() | {each.__name__ for each in _NAMESPACES.values()}
        numbered = (f"{name}#{number}" for number in itertools.count(2))
        free = next(each for each in itertools.chain([name], numbered) if each not in taken)
        found = _NAMESPACES[identity(scope)] = Namespace(free, scope)
    return found


def find(roots: Mapping[str, Any], kinds: _Kinds, opened: Opened) -> dict[str, Any]:
    """Objects of these kinds that the roots or the script's modules lead to, by readable names."""
    modules = user_modules()
    first = {identity(root) for root in roots.values()}
    opens: Known[bool] = {}

    def behind(name: str, value: Any) -> Iterator[Reference]:
        is_open = of_class(opens, type(value), lambda kind: is_of(kind, modules) or opened(kind))
        return references(name, value, modules, is_open=is_open or identity(value) in first)

    return dict(_walk([*modules.items(), *roots.items()], kinds, behind))


def find_used(
    root: Any, kinds: _Kinds, opened: Opened, without: Any = None, *, in_collections: bool = False
) -> list[Any]:
    """Objects of these kinds that an object and its code's globals use, except behind `without`.

    `in_collections`: also what is in collections and objects of the script that code names.
    """
    modules = user_modules()

    opens: Known[bool] = {}
    followed = (*kinds, types.FunctionType, *((list, tuple, dict) if in_collections else ()))

    def is_followed(kind: type) -> bool:
        return issubclass(kind, followed) or (in_collections and is_of(kind, modules))

    def behind(name: str, value: Any) -> Iterator[Reference]:
        if value is without:
            return
        if not issubclass(type(value), types.ModuleType | type):
            is_open = of_class(
                opens, type(value), lambda kind: is_of(kind, modules) or opened(kind)
            )
            yield from references(name, value, modules, is_open=is_open)
        if issubclass(type(value), types.FunctionType):
            yield from _named_in(value.__code__, value.__globals__, is_followed)
        elif issubclass(type(value), types.GeneratorType) and value.gi_frame is not None:
            yield from _named_in(value.gi_code, value.gi_frame.f_globals, is_followed)
        elif is_of(type(value), modules):
            own = (base for base in type(value).__mro__ if base.__module__ in modules)
            yield from (item for base in own for item in vars(base).items())

    return [value for _, value in _walk([("", root)], kinds, behind)]


def _walk(roots: Iterable[Reference], kinds: _Kinds, behind: _Follow) -> Iterator[Reference]:
    seen: dict[int, Any] = {}
    waiting = deque(roots)
    while waiting and len(seen) < _MOST_OBJECTS:
        name, value = waiting.popleft()
        # By type: `isinstance` asks the object, and a dead proxy raises an error.
        kind = type(value)
        if kind in _PLAIN or identity(value) in seen or issubclass(kind, _PLAIN):
            continue
        # Kept: the identity of an object that is gone may be used again.
        seen[identity(value)] = value
        if issubclass(kind, kinds):
            yield name, value
        else:
            waiting.extend(behind(name, value))


def _named_in(
    code: types.CodeType, named: Mapping[str, Any], is_followed: Callable[[type], bool]
) -> Iterator[Reference]:
    for each in codes_in(code):
        values = [named[name] for name in each.co_names if name in named]
        modules = [vars(value) for value in values if issubclass(type(value), types.ModuleType)]
        for scope in (named, *modules):
            for name in each.co_names:
                if is_followed(type(scope.get(name))):
                    yield name, scope[name]


def references(
    name: str, value: Any, modules: Mapping[str, Any], *, is_open: bool
) -> Iterator[Reference]:
    kind = type(value)
    if follow := of_class(_FOLLOWS, kind, _find_follow):
        return follow(name, value)
    if issubclass(kind, types.ModuleType):
        is_own = any(value is module for module in modules.values())
        return _members(f"{name}:", names_of(value) if is_own else {})
    if issubclass(kind, type):
        return _members(f"{name}.", vars(value) if is_of(value, modules) else {})
    return _members(f"{name}.", dict_of(value) | dict(slots_of(value))) if is_open else iter(())


def names_of(module: types.ModuleType) -> dict[str, Any]:
    names = vars(module)
    if module.__name__ not in _CELLS:
        return names
    return {
        name: each
        for name, each in names.items()
        if not name.startswith("_") and name not in _OF_THE_SHELL
    }


def dict_of(value: Any) -> dict[str, Any]:
    base = threading.local if isinstance(value, threading.local) else object
    try:
        found = base.__getattribute__(value, "__dict__")
    except AttributeError:
        return {}
    return found if isinstance(found, dict) else {}


def slots_of(value: Any) -> Iterator[Reference]:
    for name, member in of_class(_SLOTS, type(value), _find_slots):
        try:
            yield name, member.__get__(value)
        except AttributeError:
            continue


def _find_slots(kind: type) -> list[Reference]:
    own = (each for base in kind.__mro__ for each in vars(base).items())
    slots = [(name, each) for name, each in own if isinstance(each, types.MemberDescriptorType)]
    return [each for each in slots if each[0] != "__dict__"]


def has_slots(kind: type, modules: Mapping[str, Any]) -> bool:
    """Whether the class, or a base of it, is of these modules and defines slots."""
    own = (base for base in kind.__mro__ if base.__module__ in modules)
    kinds = (type(each) for base in own for each in vars(base).values())
    return types.MemberDescriptorType in kinds


def cells_of(function: types.FunctionType) -> dict[str, Any]:
    found = {}
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[name] = cell.cell_contents
        except ValueError:
            continue
    return found


def _of_function(name: str, function: types.FunctionType) -> Iterator[Reference]:
    yield from _members(f"{name}.", cells_of(function))
    yield from _of_items(name, function.__defaults__ or ())
    yield from _members(f"{name}.", function.__kwdefaults__ or {})
    yield from _members(f"{name}.", vars(function))


def _of_generator(name: str, generator: types.GeneratorType[Any, Any, Any]) -> Iterator[Reference]:
    # Its arguments and locals, while it has not ended.
    frame = generator.gi_frame
    return _members(f"{name}.", frame.f_locals if frame is not None else {})


def _filters(handlers: Iterable[logging.Handler]) -> list[Any]:
    return [each for handler in handlers for each in handler.filters]


def _members(prefix: str, members: Mapping[Any, Any]) -> Iterator[Reference]:
    return ((f"{prefix}{key!s}", value) for key, value in list(members.items()))


def _of_items(name: str, items: Any) -> Iterator[Reference]:
    return ((f"{name}[{index}]", item) for index, item in enumerate(items))


def _follow(base: Any) -> _Follow:
    # By the methods of the builtin: a class of the script may do much in its own.
    def follow(name: str, items: Any) -> Iterator[Reference]:
        few = list(base.__iter__(items)) if base.__len__(items) <= _MOST_ITEMS else []
        return _of_items(name, few)

    return follow


_FOLLOWED: Mapping[type, _Follow] = {
    types.FunctionType: _of_function,
    types.MethodType: lambda name, each: iter([(name, each.__self__), (name, each.__func__)]),
    # `draw = generator.random` holds the generator.
    types.BuiltinFunctionType: lambda name, each: iter([(name, each.__self__)]),
    functools.partial: lambda name, each: _of_items(name, [each.func, each.args, each.keywords]),
    np.vectorize: lambda name, each: iter([(name, each.pyfunc)]),
    # These have no attribute that names the function which they call.
    **dict.fromkeys(
        (np.ufunc, type(csv.writer(io.StringIO()))),
        lambda name, each: _of_items(name, filter(callable, gc.get_referents(each))),
    ),
    CACHED: lambda name, each: iter([(name, each.__wrapped__)]),
    types.GeneratorType: _of_generator,
    # Plain attributes, although their classes are not of the script.
    **dict.fromkeys(
        (types.SimpleNamespace, argparse.Namespace),
        lambda name, each: _members(f"{name}.", dict_of(each)),
    ),
    weakref.ref: lambda name, each: iter([(name, each())]),
    ContextVar: lambda name, each: iter([(f"{name}.value", each.get(None))]),
    memoryview: lambda name, each: iter([(name, each.obj)]),
    logging.Logger: lambda name, each: _of_items(
        name, [each.parent, *each.filters, *each.handlers, *_filters(each.handlers)]
    ),
    dict: lambda name, each: _members(
        f"{name}.", dict(dict.items(each)) if dict.__len__(each) <= _MOST_ITEMS else {}
    ),
    **{base: _follow(base) for base in (list, tuple, set, frozenset, deque)},
}

Known = dict[int, tuple[type, _T]]
"""What is known of classes, by their identities: some of the script cannot be hashed."""
_FOLLOWS: Known[_Follow | None] = {}
_SLOTS: Known[list[Reference]] = {}


def of_class(known: Known[_T], kind: type, find: Callable[[type], _T]) -> _T:
    key = identity(kind)
    found = known.get(key)
    if found is None:
        if len(known) >= _MOST_KINDS:
            known.clear()
        found = known[key] = kind, find(kind)
    return found[1]


def _find_follow(kind: type) -> _Follow | None:
    return next((each for base, each in _FOLLOWED.items() if issubclass(kind, base)), None)


def loggers() -> Iterator[Reference]:
    known = logging.root.manager.loggerDict
    return _members("logging.", {"root": logging.root, **known})


def modules_in(scope: Mapping[str, Any], named: frozenset[str]) -> list[types.ModuleType]:
    """Modules that code with these names uses, also those in modules; they may be libraries."""
    found: dict[int, types.ModuleType] = {}
    waiting = [scope, sys.modules]
    while waiting:
        names = waiting.pop()
        for each in sorted(named & names.keys()):
            module = names[each]
            if isinstance(module, types.ModuleType) and identity(module) not in found:
                found[identity(module)] = module
                waiting.append(vars(module))
    return list(found.values())


@functools.lru_cache(maxsize=1024)
def own_names(module: str) -> frozenset[str]:
    """Names that the code of a library uses; of a module without Python code, all its names."""
    if module not in sys.modules:
        return frozenset()  # one that the script has made
    spec = vars(sys.modules[module]).get("__spec__")
    loader = getattr(spec, "loader", None)
    if isinstance(loader, importlib.machinery.SourceFileLoader):
        return names_in(loader.get_code(module))
    return _OF_SYS if module == "sys" else frozenset(vars(sys.modules[module]))


def is_of(kind: type, modules: Mapping[str, Any]) -> bool:
    return any(base.__module__ in modules for base in kind.__mro__)


def _is_user_module(name: str, module: types.ModuleType) -> bool:
    # Not by attribute, which would load a module that is lazy.
    file = vars(module).get("__file__")
    if file is None:
        return module.__name__ in _CELLS
    is_users = isinstance(file, str) and is_user_file(file)
    if not is_users:
        _LIBRARIES[name] = module
    return is_users
