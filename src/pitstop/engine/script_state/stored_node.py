"""A node in a checkpoint: its JSON form, and how an object is made of it again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pitstop.engine.python_state import Encoder, NotPortable
from pitstop.engine.script_state import holder
from pitstop.engine.script_state.frozen import Opaque, from_json
from pitstop.engine.script_state.names import named_class
from pitstop.engine.script_state.walk import Node

MOST_BYTES = 256 << 20
_ARRAY = "numpy:ndarray"
_EMPTY_BASES = ("builtins.object", "abc.ABC", "typing.Generic", "typing.Protocol")


def content_to_json(node: Node, value: Any, encoder: Encoder) -> Any:
    """The JSON form of a node's content; arrays go to the encoder; `NotPortable` for none."""
    if node.kind == "array":
        if not isinstance(value, np.memmap) and type(value) is not np.ndarray:
            raise NotPortable("", type(value).__qualname__)
        if value.nbytes + sum(each.nbytes for each in encoder.arrays.values()) > MOST_BYTES:
            raise NotPortable("", f"array of {value.nbytes >> 20} MB")
        return encoder.encode(np.asarray(value))
    if node.kind in holder.FIELDS:
        return {key: encoder.encode(each) for key, each in node.content.items()}
    is_long = isinstance(node.content, Opaque)
    return encoder.encode(holder.items_of(value) if is_long else node.content)


def node_from_json(saved: Any, arrays: Mapping[str, memoryview]) -> Node:
    content = saved["content"]
    if saved["kind"] in holder.FIELDS:
        content = {key: from_json(each, arrays) for key, each in content.items()}
    else:
        content = from_json(content, arrays)
    return Node(saved["kind"], saved["form"], content)


def can_be_made(node: Node, modules: Mapping[str, Any]) -> bool:
    """Whether an object of this node can be made in another process."""
    if node.kind in holder.COLLECTIONS:
        return holder.can_be_made(node.form)
    if node.kind == "object":
        return _class_of(node, modules) is not None
    return node.kind == "array" and node.form == _ARRAY


def _class_of(node: Node, modules: Mapping[str, Any]) -> type | None:
    """The class of the script that an object is made of again; None where it has more in it."""
    found = named_class(node.form, modules)
    plain = found is not None and all(
        base.__module__ in modules
        or f"{base.__module__}.{base.__qualname__}" in _EMPTY_BASES
        or holder.is_plain_object(base)
        for base in found.__mro__
    )
    is_made_by_object = getattr(found, "__new__", None) is object.__new__
    return found if plain and is_made_by_object else None


def make(node: Node, modules: Mapping[str, Any]) -> Any:
    """An object that has yet to be given its content."""
    if node.kind == "array":
        content = node.content
        return np.empty(content.shape, content.dtype)
    if node.kind == "object":
        return object.__new__(_class_of(node, modules) or object)
    return holder.make(node.kind, node.form)
