"""Sets the objects of a running script to the content of the nodes in a checkpoint."""

import os
import types
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from pitstop.engine.files.made_folders import MADE, is_moved
from pitstop.engine.randomness import script_random
from pitstop.engine.script_state import holder
from pitstop.engine.script_state.frozen import (
    Function,
    Opaque,
    Record,
    Tensor,
    agrees,
    by_place,
    from_json,
    opaque_in,
    thaw,
)
from pitstop.engine.script_state.library import Library
from pitstop.engine.script_state.names import Names, make_record, named_class, named_function
from pitstop.engine.script_state.node import Node, Nodes
from pitstop.engine.values.python_state import Arrays, Encoder, NotPortable
from pitstop.engine.values.reachable import own_names

MOST_BYTES = 256 << 20
_ARRAY = "numpy:ndarray"
_EMPTY_BASES = (
    *("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol"),
    "argparse._AttributeHolder",
)


def content_to_json(node: Node, value: Any, encoder: Encoder) -> tuple[Any, list[str]]:
    """The JSON form of a node's content, and what it lacks; arrays go to the encoder."""
    if node.kind in holder.FIELDS:
        return _fields_to_json(node.content, encoder)
    try:
        return _items_to_json(node, value, encoder), []
    except NotPortable as problem:
        return None, [f"{problem.where} ({problem.type_name})"]


def _fields_to_json(fields: Mapping[str, Any], encoder: Encoder) -> tuple[Any, list[str]]:
    content, lost = {}, []
    for key, each in fields.items():
        try:
            content[key] = encoder.encode(each)
        except NotPortable as problem:
            lost.append(f".{key}{problem.where} ({problem.type_name})")
    return content, lost


def _items_to_json(node: Node, value: Any, encoder: Encoder) -> Any:
    if node.kind == "array":
        if not isinstance(value, np.memmap) and type(value) is not np.ndarray:
            raise NotPortable("", type(value).__qualname__)
        if value.nbytes + sum(each.nbytes for each in encoder.arrays.values()) > MOST_BYTES:
            raise NotPortable("", f"array of {value.nbytes >> 20} MB")
        return encoder.encode(np.asarray(value))
    if node.kind == "generator":
        return encoder.encode(script_random.state_of(value))
    is_long = isinstance(node.content, Opaque)
    return encoder.encode(holder.items_of(value) if is_long else node.content)


def node_from_json(saved: Any, arrays: Arrays) -> Node:
    content = saved["content"]
    if saved["kind"] in holder.FIELDS:
        content = {key: from_json(each, arrays) for key, each in content.items()}
    else:
        content = from_json(content, arrays)
    return Node(saved["kind"], saved["form"], content)


def can_be_made(node: Node, modules: Mapping[str, Any]) -> bool:
    if node.kind in holder.COLLECTIONS:
        return holder.can_be_made(node.form)
    if node.kind == "object":
        return _class_of(node, modules) is not None
    return node.kind == "generator" or (node.kind == "array" and node.form == _ARRAY)


def _class_of(node: Node, modules: Mapping[str, Any]) -> type | None:
    """The class to make such an object of; None if it consists of more than attributes."""
    found = named_class(node.form, modules)
    plain = found is not None and all(
        base.__module__ in modules
        or f"{base.__module__}.{base.__qualname__}" in _EMPTY_BASES
        or base.__module__ == "collections.abc"
        or holder.is_plain_object(base)
        for base in found.__mro__
    )
    # Attributes that a `__new__` of the script sets are restored.
    makes = getattr(found, "__new__", None)
    own = makes in (object.__new__, types.SimpleNamespace.__new__)
    return found if plain and (own or isinstance(makes, types.FunctionType)) else None


def make(node: Node, modules: Mapping[str, Any]) -> Any:
    if node.kind == "array":
        content = node.content
        return np.empty_like(content)
    if node.kind == "generator":
        return script_random.make(node.form, node.content)
    if node.kind == "object":
        return holder.make_object(_class_of(node, modules) or object)
    return holder.make(node.kind, node.form)


@dataclass(eq=False)
class Refill:
    """One restore of saved nodes into the objects of the script."""

    _library: Library
    _modules: Mapping[str, Any]
    _names: Names
    _baseline: Nodes  # when the training began
    _now: Nodes

    def __post_init__(self) -> None:
        self._live = self._names.objects()
        self._has_made = False
        contents = [node.content for node in self._baseline.values() if node.kind != "array"]
        named = (_absolute(text).parent for text in _paths(contents))
        self._own_folders = [Path.cwd(), *map(Path, MADE.of_run), *named]

    def all(self, wanted: Nodes) -> list[str]:
        """Sets the objects of these nodes; returns the names of those that could not be set."""
        lost = [name for name, node in wanted.items() if not self._finds_or_makes(name, node)]
        missing = [f"{name} (not as it was)" if name in self._now else name for name in lost]
        # Objects first: a set or a dictionary asks those in it for their hash.
        names = sorted(wanted, key=lambda name: wanted[name].kind not in holder.FIELDS)
        for name in names:
            if name not in lost:
                missing += self._refill(name, wanted[name])
        return missing

    def _finds_or_makes(self, name: str, node: Node) -> bool:
        """Whether the script has the object of this node, or a new one could be made."""
        known = self._now.get(name) or self._baseline.get(name)
        if known is not None and _can_become(self._live.get(name), known, node):
            return True
        is_made = can_be_made(node, self._modules) and not _lacks_items(node)
        if name in self._baseline or not is_made:
            return False
        # A reference to it may mean another object with the same name.
        self._has_made = True
        try:
            self._live[name] = made = make(node, self._modules)
        except ValueError:
            return False
        self._names.give(made, name)
        return True

    def _refill(self, name: str, node: Node) -> Iterator[str]:
        if node.kind in holder.FIELDS:
            yield from self._refill_fields(name, node)
            return
        now = self._now.get(name)
        try:
            both = now.content if now is not None else None, node.content
            is_same = all(isinstance(each, list) for each in both) and agrees(*map(tuple, both))
            if self._has_made or not is_same:
                self._check_places(node.content)
                self._refill_items(self._live[name], node, now)
        except Exception as problem:  # noqa: BLE001  an object may refuse a value that it had
            yield f"{name} ({problem})"

    def _refill_items(self, value: Any, node: Node, now: Node | None) -> None:
        if node.kind == "array":
            if value.flags.writeable:
                value[...] = node.content
        elif node.kind == "generator":
            script_random.set_state(value, node.content)
        elif node.kind == "table":
            self._library.refill_table(value, *(each.value for each in node.content))
        elif node.kind == "iterator":
            if not holder.move_iterator(value, node.content[0]):
                raise ValueError("it cannot be moved to its position")
        elif isinstance(node.content, bytes):
            holder.refill(value, node.content)
        else:
            present = _present(value, now) if any(map(opaque_in, node.content)) else {}
            items = by_place(node.content, node.kind).items()
            holder.refill(value, [self._item(item, present.get(place)) for place, item in items])

    def _item(self, frozen: Any, present: tuple[Any, Any] | None) -> Any:
        if present is not None and opaque_in(frozen) and agrees(present[0], frozen):
            return present[1]
        return thaw(frozen, self._value_of)

    def _refill_fields(self, name: str, node: Node) -> Iterator[str]:
        known, now = self._baseline.get(name), self._now.get(name)
        owner = self._live[name]
        for key, frozen in node.content.items():
            before = known.content.get(key) if known is not None else None
            present = now.content.get(key) if now is not None else None
            is_of_graph = isinstance(frozen, Opaque) and frozen.is_of_graph
            is_asked = self._library.is_asked(owner, present)
            if is_of_graph or is_moved(present, frozen) or is_asked:
                continue
            is_fixed = self._is_fixed(node, owner, key)
            if is_fixed or opaque_in(frozen) or isinstance(before, Opaque):
                # The attribute keeps the value that the script gave it.
                is_there = now is not None and agrees(present, frozen)
                is_remade = not is_fixed and key in self._library.remade_names(type(owner))
                if not is_there and not is_remade:
                    yield f"{name}.{key}"
                continue
            try:
                self._check_places(frozen)
                holder.set_field(owner, key, thaw(frozen, self._value_of))
            except Exception as problem:  # noqa: BLE001  an object may refuse a value that it had
                yield f"{name}.{key} ({problem})"

    def _check_places(self, frozen: Any) -> None:
        if place := foreign_path(frozen, self._own_folders):
            raise ValueError(f"names {place}, which is in none of the script's folders")

    def _is_fixed(self, node: Node, owner: Any, key: str) -> bool:
        """Whether an attribute is never set: one of Python, a method, or one of a library's own."""
        if not key.isidentifier() or key.startswith("__"):
            return True
        kind = type(owner)
        if node.kind == "class":
            return callable(getattr(owner, key, None)) or hasattr(vars(owner).get(key), "__get__")
        if node.kind == "module" and owner.__name__ not in self._modules:
            return key in own_names(owner.__name__)
        is_method = node.kind == "object" and callable(getattr(kind, key, None))
        return is_method or key in self._library.own_names(kind)

    def _value_of(self, frozen: Any) -> Any:
        match frozen:
            case Record():
                items = tuple(thaw(each, self._value_of) for each in frozen.items)
                return make_record(frozen.form, items, self._modules)
            case Tensor():
                return self._library.tensor_of(frozen.value)
            case Function():
                if (function := named_function(frozen.name)) is None:
                    raise ValueError(f"{frozen.name} does not belong to the script")
                return function
            case Opaque():
                raise ValueError(f"with {frozen.name}")
        if frozen.name not in self._live:
            raise ValueError(f"with {frozen.name}, which no longer exists")
        return self._live[frozen.name]


def _lacks_items(node: Node) -> bool:
    """Whether it is a collection with an item, or an object with a field, that is not saved."""
    fields = node.content.values() if node.kind == "object" else ()
    is_of_items = isinstance(node.content, list) and node.kind in holder.COLLECTIONS
    found = map(opaque_in, node.content if is_of_items else fields)
    return any(each is not None and not each.is_of_graph for each in found)


def _present(value: Any, now: Node | None) -> dict[Any, tuple[Any, Any]]:
    if now is None or not isinstance(now.content, list):
        return {}
    places = by_place(now.content, now.kind).items()
    pairs = zip(places, holder.items_of(value), strict=True)
    return {place: (frozen, living) for (place, frozen), living in pairs}


def _can_become(value: Any, known: Node, node: Node) -> bool:
    if value is None or known.kind != node.kind:
        return False
    if node.kind == "object":
        return known.form == node.form
    if node.kind != "array":
        return True
    saved = node.content
    if not isinstance(saved, np.ndarray) or not isinstance(value, np.ndarray):
        return False
    is_alike = (value.dtype, value.shape) == (saved.dtype, saved.shape)
    return is_alike and (value.flags.writeable or Tensor(value) == Tensor(saved))


def foreign_path(value: Any, own: list[Path]) -> str:
    """The first text in a value that names a place in none of these folders; or empty."""
    folders = [each for each in own if each != Path("/")]
    for text in _paths(value):
        if not any(_absolute(text).is_relative_to(folder) for folder in folders):
            return text
    return ""


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str) and os.sep in text and "://" not in text:
            yield text
    elif isinstance(value, dict):
        yield from (text for each in value.items() for text in _paths(each))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (text for each in value for text in _paths(each))
    elif isinstance(value, Record):
        yield from _paths(value.items)
    elif isinstance(value, Tensor):
        yield from _paths(value.value)


def _absolute(text: str) -> Path:
    return Path(os.path.normpath(Path(text).absolute()))
