"""A walk from what a training calls to all objects that hold content; it gives each a name."""

import enum
import functools
import inspect
import logging
import types
import weakref
from collections import deque
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import numpy as np

from pitstop.engine.audit_events import identity
from pitstop.engine.randomness import script_random
from pitstop.engine.script_state import fingerprint, holder, settings
from pitstop.engine.script_state.frozen import (
    OF_GRAPH,
    Function,
    Opaque,
    Record,
    Ref,
    Tensor,
    are_bare,
    is_plain,
)
from pitstop.engine.script_state.library import Library
from pitstop.engine.script_state.names import WEAK, Names, form_of, name_of_function, named_class
from pitstop.engine.script_state.node import Node, Nodes
from pitstop.engine.script_state.ownership import FRAMEWORKS, Ownership
from pitstop.engine.values import code_names, reachable
from pitstop.engine.values.reachable import Reference

MOST_OBJECTS = 200_000
# Longer collections are looked at as a whole.
MOST_ITEMS = 4096
_COLLECTIONS = (*holder.COLLECTIONS, "array")
# A random generator that the training has made is made again; others have their streams set.
HELD = ("elsewhere", "generator")
_LED_FROM = (*holder.FIELDS, *holder.COLLECTIONS, "elsewhere")
_RECORDS = (tuple, enum.Flag, weakref.ref)
_CALLING = (functools.partial, np.vectorize, np.ufunc)
_FOLLOWED = (
    *(types.MethodType, types.BuiltinFunctionType, types.GeneratorType),
    *(weakref.ref, memoryview, tuple, frozenset, reachable.CACHED, logging.Logger),
    *_CALLING,
)
_OF_INTERPRETER = frozenset({"modules", "path_importer_cache", "filters"})
"""Names in `sys` and `warnings` that change by themselves, or are restored as settings."""
_NO_HOLDERS = (type(None), bool, float, bytes, types.ModuleType, *weakref.ProxyTypes)


class Walk:
    """One walk over what the training calls."""

    def __init__(
        self, library: Library, names: Names, modules: dict[str, Any], known: Nodes | None = None
    ) -> None:
        """`known`: nodes of an earlier walk; their code is not looked at again."""
        self.nodes: dict[str, Node] = {}
        # names of objects that could not be looked at, and why
        self.unreadable: dict[str, str] = {}
        self.is_complete = True
        # names of those that the content of another one refers to
        self.held: set[str] = set()
        self._known = known
        self._library = library
        self._names = names
        self._modules = modules
        self.own = Ownership(modules)
        self._is_given = True  # whether Keras holds what the walk looks at now
        self._waiting: deque[tuple[str, Any, Node | None]] = deque()
        self._followed: dict[int, Any] = {}
        # By class: the many objects of a large model have few classes.
        self._kinds: dict[type, str] = {}
        self._forms: dict[type, str] = {}
        self._are_followed: dict[type, bool] = {}

    def visit(self, roots: Mapping[str, Any]) -> None:
        for name, value in roots.items():
            self._meet(value, name)
        while self._waiting:
            if len(self._followed) > MOST_OBJECTS:
                self.is_complete = False
                known = self.nodes.items()
                self.nodes = {name: node for name, node in known if node.content is not None}
                return
            name, value, node = self._waiting.popleft()
            try:
                self._look(name, value, node)
            except Exception as error:  # noqa: BLE001  objects of the script may do anything
                self._give_up(name, value, error)

    def _look(self, name: str, value: Any, node: Node | None) -> None:
        self._is_given = type(value).__module__.startswith(FRAMEWORKS)
        if node is not None:
            node.content = self._content(name, node.kind, value)
        is_known = self._known is not None and name in self._known
        if node is None or (node.kind in _LED_FROM and not is_known):
            for inner, each in self._behind(name, value):
                self._meet(each, inner)

    def _give_up(self, name: str, value: Any, error: Exception) -> None:
        self.unreadable[name] = f"{name} ({type(value).__qualname__}: {type(error).__name__})"
        if name in self.nodes:
            self.nodes[name] = Node("unreadable", "", ())

    def visit_again(self, objects: Mapping[str, Any], others: Mapping[str, Any]) -> None:
        """Looks at the known nodes, and at all that their content and the others lead to."""
        for name, node in (self._known or {}).items():
            if node.kind == "module":
                self._note_globals(objects[name], node.named, node.stored)
        known = (self._known or {}).items()
        names = [name for name, node in known if node.kind not in HELD and name in objects]
        self.visit({name: objects[name] for name in names} | dict(others))

    # -- what an object is ------------------------------------------------------------

    def _meet(self, value: Any, path: str, *, is_content: bool = False) -> Ref | None:
        if issubclass(type(value), _NO_HOLDERS):
            return None
        try:
            return self._note(value, path, is_content=is_content)
        except Exception as error:  # noqa: BLE001  any attribute of an object may raise
            self._give_up(path, value, error)
            return None

    def _note(self, value: Any, path: str, *, is_content: bool) -> Ref | None:
        kind = self._kind_of(value)
        # What is saved by other means has a name only where an object of the script holds it.
        if not kind or (kind in HELD and not is_content):
            if identity(value) not in self._followed and self._is_followed(type(value)):
                self._followed[identity(value)] = value
                self._waiting.append((path, value, None))
            return None
        name = self._names.name_of(value, path)
        if is_content:
            self.held.add(name)
        if name not in self.nodes:
            self._followed[identity(value)] = value
            self.nodes[name] = node = Node(kind, self._form_of(kind, value), None)
            self._waiting.append((name, value, node))
        return Ref(name)

    def _kind_of(self, value: Any) -> str:
        kind = type(value)
        if issubclass(kind, types.FunctionType):
            function = inspect.unwrap(value)
            self.own.meet(function.__module__, is_given=self._is_given)
            return "function" if self.own.has(function) else ""
        if issubclass(kind, type):
            self.own.meet(value.__module__, is_given=self._is_given)
            is_own = self._is_own(value) and value.__module__ in self._modules
            return "class" if is_own else ""
        found = self._kinds.get(kind)
        if found is None:
            found = self._kinds[kind] = self._kind_of_objects(kind)
        if found == "iterator":
            return found if holder.position_of(value) is not None else ""
        if found == "generator":
            return found if script_random.form_of(value) else "elsewhere"
        if found == "library":
            return "elsewhere" if self._library.script_fields(value) is None else found
        return found

    def _is_own(self, kind: type) -> bool:
        if self.own.is_in_no_module(kind):
            self.unreadable[kind.__name__] = f"{kind.__name__} (a class in no module)"
        return self.own.has_class(kind)

    def _kind_of_objects(self, kind: type) -> str:
        self.own.meet(kind.__module__, is_given=self._is_given)
        if issubclass(kind, script_random.KINDS):
            return "generator"
        if collection := holder.kind_of(kind):
            if reachable.has_slots(kind, self._modules):
                self.unreadable[kind.__name__] = f"{kind.__name__} (a {collection} with slots)"
            return collection
        if self._library.is_table(kind):
            return "table"
        if issubclass(kind, ContextVar):
            return "context"
        if holder.has_position(kind):
            return "iterator"
        is_own = self._is_own(kind) and not issubclass(kind, tuple)
        if is_own or self._library.is_opened(kind) or holder.is_plain_object(kind):
            return "object"
        return "library" if self._library.is_elsewhere(kind) else ""

    def _form_of(self, kind: str, value: Any) -> str:
        if kind == "generator":
            return script_random.form_of(value)
        is_own = reachable.is_of(type(value), self._modules)
        if kind in holder.COLLECTIONS and not is_own:
            return holder.form_of(value)
        form = self._forms.get(type(value))
        if form is None:
            form = self._forms[type(value)] = form_of(type(value), self._modules)
        return form

    def _is_followed(self, kind: type) -> bool:
        if kind not in self._are_followed:
            is_of_python = issubclass(kind, _FOLLOWED)
            is_of_library = self._known is None and self._library.is_followed(kind)
            self._are_followed[kind] = is_of_python or is_of_library
        return self._are_followed[kind]

    # -- what is in it ----------------------------------------------------------------

    def _content(self, name: str, kind: str, value: Any) -> Any:
        if kind == "array":
            return fingerprint.of_array(value)
        if kind == "table":
            return [Tensor(each) for each in self._library.entries_of(value)]
        if kind in HELD:
            return ()
        if kind == "iterator":
            return [holder.position_of(value)]
        if kind in holder.FIELDS:
            fields = self._fields_of(kind, value).items()
            content = {key: self.freeze(each, f"{name}.{key}") for key, each in fields}
            if kind == "function" and self.own.has(value):
                content["__code__"] = Opaque("the code or the defaults", fingerprint.of_code(value))
            return content
        items = holder.items_of(value)
        if len(items) > MOST_ITEMS:
            return Opaque(type(value).__name__, fingerprint.of_many(items))
        if isinstance(items, bytes) or are_bare(items):
            return items
        return [self.freeze(item, f"{name}[{index}]") for index, item in enumerate(items)]

    def _fields_of(self, kind: str, value: Any) -> Mapping[str, Any]:
        if kind == "function":
            if self.own.has(value):
                left_out = self._library.own_names(types.FunctionType)
                own = {key: each for key, each in vars(value).items() if key not in left_out}
                return reachable.cells_of(value) | own
            # A library's wrapper of a function of the script: the library's callables are left out.
            both = {key: each for key, each in vars(value).items() if not callable(each)}
            return both | {"__wrapped__": vars(value)["__wrapped__"]}
        if kind == "class":
            return holder.data_of_class(value)
        if kind == "library":
            return self._library.script_fields(value) or {}
        left_out = self._library.own_names(type(value))
        return {key: each for key, each in holder.fields_of(value).items() if key not in left_out}

    def freeze(self, value: Any, path: str) -> Any:
        if is_plain(value) or (type(value) is tuple and are_bare(value)):
            return value
        if fingerprint.is_of_graph(value):
            return Opaque(OF_GRAPH)
        if type(value) is tuple:
            return tuple(self.freeze(item, f"{path}[{i}]") for i, item in enumerate(value))
        kind = type(value)
        if issubclass(kind, _RECORDS) and (record := self._record(value, path)) is not None:
            return record
        found = self._meet(value, path, is_content=True)
        if found is not None and self.nodes[found.name].kind not in ("function", "class"):
            return found
        if function := name_of_function(value):
            return Function(function)
        if found is not None:
            # Its identity can be told, but its content is not saved.
            return Opaque(type(value).__qualname__, found.name)
        if kind in _CALLING:
            # Their fingerprint is made of the function that they call, and of its arguments.
            behind = reachable.references(path, value, self._modules, is_open=False)
            bound = [self.freeze(each, name) for name, each in behind]
            return Opaque(f"{kind.__module__}.{kind.__qualname__}", repr(bound))
        return self._told(value, path)

    def _record(self, value: Any, path: str) -> Record | None:
        kind = type(value)
        form = f"{kind.__module__}:{kind.__qualname__}"
        if kind is weakref.ref and value.__callback__ is None:
            return Record(WEAK, (self.freeze(value(), path),))
        if named_class(form, self._modules) is not kind:
            return None
        if issubclass(kind, enum.Flag):
            return Record(form, (value.value,))
        if not issubclass(kind, tuple) or reachable.dict_of(value):
            return None
        items = enumerate(tuple.__iter__(value))
        return Record(form, tuple(self.freeze(each, f"{path}[{i}]") for i, each in items))

    def _told(self, value: Any, path: str) -> Any:
        try:
            array = self._library.array_of(value)
            if array is not None:
                return Tensor(array)
            parts = map(fingerprint.of_array, self._library.parts_of(value))
            told = " ".join(parts) or fingerprint.fingerprint(value)
            return Opaque(f"{type(value).__module__}.{type(value).__qualname__}", told)
        except Exception as error:  # noqa: BLE001  see `_meet`
            self._give_up(path, value, error)
            return Opaque(type(value).__qualname__)

    # -- what is behind it --------------------------------------------------------------

    def _behind(self, name: str, value: Any) -> Iterator[Reference]:
        if isinstance(value, types.FunctionType):
            yield from self._behind_function(name, value)
        elif isinstance(value, type):
            yield from self._code_of_class(name, value)
        elif reachable.is_of(type(value), self._modules) or self._kind_of(value) == "object":
            yield f"{type(value).__qualname__}", type(value)
            if self._kind_of(value) in (*_COLLECTIONS, *HELD):
                yield f"{name}.__dict__", reachable.dict_of(value)
            elif self._known is None:
                yield from self._behind_library(name, value, self._library.own_names(type(value)))
        elif self._library.is_followed(type(value)):
            yield from self._behind_library(name, value, None)
        else:
            if isinstance(value, types.GeneratorType) and value.gi_frame is not None:
                self.own.meet(value.gi_frame.f_globals.get("__name__"), is_given=True)
                yield from self._behind_code(value.gi_code, value.gi_frame.f_globals)
            yield from reachable.references(name, value, self._modules, is_open=False)

    def _behind_function(self, name: str, function: types.FunctionType) -> Iterator[Reference]:
        if self.own.has(function):
            yield from self._behind_code(function.__code__, function.__globals__)
        yield from enumerate_values(name, function.__defaults__ or ())
        yield from enumerate_values(name, list((function.__kwdefaults__ or {}).values()))

    def _behind_code(self, code: types.CodeType, scope: dict[str, Any]) -> Iterator[Reference]:
        if not self.own.has_code(code, scope):
            return
        named, stored = code_names.names_in(code), code_names.stored_in(code)
        if named & settings.SETTERS:
            yield "process", settings.SETTINGS
        self._note_globals(self.own.module_of(code.co_filename, scope), named, stored)
        for module in reachable.modules_in(scope, named):
            self.own.meet(module.__name__, is_given=False)
            self._note_globals(self.own.known(module), named, stored)
            if module is logging:
                yield from reachable.loggers()

    def _note_globals(
        self, module: types.ModuleType, named: frozenset[str], stored: frozenset[str]
    ) -> None:
        key = f"{module.__name__}:"
        if key not in self.nodes:
            self._names.give(module, key)
            self.nodes[key] = Node("module", "", {})
        self.nodes[key].named |= named
        self.nodes[key].stored |= stored
        content = self.nodes[key].content
        if "globals" in named:
            named = frozenset(each for each in reachable.names_of(module) if each[:2] != "__")
        if module.__name__ not in self._modules:
            own = reachable.own_names(module.__name__)
            for name in named & own & vars(module).keys() - _OF_INTERPRETER:
                value = vars(module)[name]
                if name in stored or type(value) in (list, dict, set):
                    content[name] = Opaque("of a library", _changing_with(value))
            named -= own
        for name in named & vars(module).keys() - content.keys():
            if not isinstance(vars(module)[name], types.ModuleType):
                content[name] = None
                content[name] = self.freeze(vars(module)[name], f"{key}{name}")

    def _code_of_class(self, name: str, kind: type) -> Iterator[Reference]:
        metaclass: type = type(kind)
        for base in (*kind.__mro__, *metaclass.__mro__):
            if base.__module__ in self._modules:
                yield f"{base.__qualname__}", base
                for key, value in list(vars(base).items()):
                    if isinstance(value, type) or hasattr(type(value), "__get__"):
                        yield from ((f"{name}.{key}", each) for each in holder.called_for(value))

    def _behind_library(
        self, name: str, value: Any, only: frozenset[str] | None
    ) -> Iterator[Reference]:
        for key, each in holder.fields_of(value).items():
            if (only is None or key in only) and key not in self._library.set_by_callbacks:
                yield from self._in_library(f"{name}.{key}", each)
        for function in self._library.functions_of(value):
            yield f"{name}()", function

    def _in_library(self, name: str, value: Any) -> Iterator[Reference]:
        if isinstance(value, list | tuple | dict) and len(value) <= MOST_ITEMS:
            members = value.values() if isinstance(value, dict) else value
            for index, each in enumerate(list(members)):
                yield from self._in_library(f"{name}[{index}]", each)
        elif self._kind_of(value) not in _COLLECTIONS:
            yield name, value


def _changing_with(value: Any) -> str:
    is_many = type(value) in (list, dict, set)
    found = fingerprint.of_many(holder.items_of(value)) if is_many else ""
    return f"{fingerprint.of_item(value)} {found}"


def enumerate_values(name: str, values: Any) -> Iterator[Reference]:
    return ((f"{name}({index})", value) for index, value in enumerate(values))
