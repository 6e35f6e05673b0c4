"""What a script's Python state was at the begin of a training, is at a cut, and becomes again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pitstop.engine import reachable
from pitstop.engine.python_state import Encoder, NotPortable
from pitstop.engine.script_state import holder
from pitstop.engine.script_state.frozen import Opaque, Ref, Tensor, is_opaque, missing_in, thaw
from pitstop.engine.script_state.library import Library
from pitstop.engine.script_state.stored_node import (
    can_be_made,
    content_to_json,
    make,
    node_from_json,
)
from pitstop.engine.script_state.walk import MOST_OBJECTS, Names, Node, Walk

_SMALL_BYTES = 64 << 10
_INCOMPLETE = f"objects of the script beyond the first {MOST_OBJECTS}"

Saved = dict[str, Any]
"""Nodes by name, in JSON."""

Part = tuple[str, str | None]
"""A node, or one field of it."""


class ScriptState:
    """Follows the Python state behind one training.

    A reader of the input may be ahead of the steps; what only the input leads to
    is then saved when its iterator is created, and all else at the cut.

    Attributes:
        baseline: the nodes when the training began.
        unverified: names of what has changed and is not saved; of the last capture.
    """

    def __init__(self, library: Library) -> None:
        self.baseline: dict[str, Node] = {}
        self.unverified: list[str] = []
        self._of_input: dict[str, Node] = {}
        self._of_rest: dict[str, Node] = {}
        self._library = library
        self._is_complete = True
        self._names = Names()
        self._modules: Mapping[str, Any] = {}
        self._input: dict[str, Any] = {}
        self._first: dict[tuple[str, Any], Opaque] = {}

    def begin(self, rest: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """The training begins: what is now is what a script that is run again brings along.

        Args:
            rest: what the training calls, by name.
            data: what its input is read from.
        """
        self._modules = reachable.user_modules()
        self._input = dict(data)
        walks = [self._walk(rest), self._walk(self._input)]
        self._of_rest, self._of_input = (walk.nodes for walk in walks)
        self._is_complete = all(walk.is_complete for walk in walks)
        self.baseline = _together(self._of_rest, self._of_input)

    def _walk(self, roots: Mapping[str, Any]) -> Walk:
        walk = Walk(self._library, self._names, self._modules)
        walk.visit(roots)
        return walk

    def _walk_again(self, known: Mapping[str, Node]) -> Walk:
        walk = Walk(self._library, self._names, self._modules, known)
        walk.visit_again(self._names.objects())
        return walk

    # -- saving -------------------------------------------------------------------------

    def capture(self, encoder: Encoder, *, read_ahead: bool) -> Saved:
        """The nodes that are not as they were at the begin, as JSON and arrays.

        Args:
            encoder: takes the arrays.
            read_ahead: what only the input leads to is saved by `capture_input`.
        """
        walk = self._walk_again(self._of_rest if read_ahead else self.baseline)
        saved, self.unverified = self._save_changed(walk, encoder)
        if read_ahead:
            shared = self._shared_with_input(saved)
            self.unverified += [f"{name} (the input reads it ahead)" for name in shared]
        self._names.keep(self.baseline | walk.nodes | self._of_input)
        return saved

    def capture_input(self, encoder: Encoder) -> tuple[Saved, list[str]]:
        """The same of what the input leads to; and names of what is not saved."""
        walk = self._walk(self._input)
        self._of_input = walk.nodes
        saved, unverified = self._save_changed(walk, encoder)
        # Small ones in any case: a script without seeds brings along others.
        objects = self._names.objects()
        for name, node in walk.nodes.items():
            if name not in saved and _is_small(node, objects[name]):
                list(self._save(name, node, objects[name], encoder, saved))
        return saved, unverified

    def arrays_at_begin(self) -> dict[str, str]:
        """A checksum of each array that the script brought along, by name."""
        arrays = {name: node for name, node in self.baseline.items() if node.kind == "array"}
        return {name: node.content for name, node in arrays.items()}

    def fields_at_begin(self) -> list[Any]:
        """The content of all that the script brought along."""
        return [node.content for node in self.baseline.values() if node.kind != "array"]

    def _save_changed(self, walk: Walk, encoder: Encoder) -> tuple[Saved, list[str]]:
        objects = self._names.objects()
        unverified = [] if walk.is_complete and self._is_complete else [_INCOMPLETE]
        saved: Saved = {}
        for name, node in walk.nodes.items():
            before = self.baseline.get(name)
            unverified += self._changed_opaques(name, node, before)
            if before is None or _differs(node, before):
                changed = _difference(node, before)
                unverified += self._save(name, changed, objects[name], encoder, saved)
        return saved, unverified

    def _shared_with_input(self, saved: Saved) -> list[str]:
        """What is saved of the nodes that a reader ahead of the steps uses, too."""
        if any(holder.kind_of(each) or self._walk_kind(each) for each in self._input.values()):
            # Read by index: what is between two epochs is not read ahead.
            return []
        found = []
        for name in saved.keys() & self._of_input.keys():
            content = self._of_input[name].content
            if saved[name]["kind"] not in holder.FIELDS:
                found.append(name)
            else:
                found += [f"{name}.{key}" for key in saved[name]["content"] if key in content]
        return sorted(found)

    def _walk_kind(self, value: Any) -> bool:
        return reachable.is_of(type(value), self._modules)

    def _save(
        self, name: str, node: Node, value: Any, encoder: Encoder, saved: Saved
    ) -> Iterator[str]:
        if name not in self.baseline and not can_be_made(node, self._modules):
            # A function in a function of the script: what holds it tells whether it matters.
            if node.kind == "object":
                yield f"{name} ({node.form})"
            return
        try:
            content = content_to_json(node, value, encoder)
        except NotPortable as problem:
            yield f"{name}{problem.where} ({problem.type_name})"
        else:
            saved[name] = {"kind": node.kind, "form": node.form, "content": content}

    def _changed_opaques(self, name: str, node: Node, before: Node | None) -> Iterator[str]:
        """Names of parts that are not carried and have changed."""
        fields = node.content if isinstance(node.content, dict) else {}
        for key, value in fields.items():
            if not isinstance(value, Opaque) or value.fingerprint is None:
                continue
            first = before.content.get(key) if before is not None else None
            first = (
                first if isinstance(first, Opaque) else self._first.setdefault((name, key), value)
            )
            if first.fingerprint != value.fingerprint:
                yield f"{name}.{key} ({value.type_name})"
        if isinstance(node.content, list) and (before is None or before.content != node.content):
            missing = next((each for each in map(missing_in, node.content) if each), None)
            if missing is not None:
                yield f"{name} (with {missing.type_name})"

    # -- restoring ----------------------------------------------------------------------

    def restore(
        self,
        saved: Saved,
        arrays: Mapping[str, memoryview],
        *,
        read_ahead: bool,
        but: frozenset[Part] = frozenset(),
    ) -> list[str]:
        """Makes the nodes what they were at the cut, all others what they were at the begin.

        Args:
            saved: what `capture` gave.
            arrays: the stored arrays by name.
            read_ahead: as it was for `capture`.
            but: parts that are left as they are.

        Returns:
            Names of what the script no longer has.
        """
        known = self._of_rest if read_ahead else self.baseline
        return self._restore(saved, arrays, known, self._walk_again(known).nodes, but)

    def restore_input(self, saved: Saved, arrays: Mapping[str, memoryview]) -> list[str]:
        """Makes what the input leads to what `capture_input` saw."""
        now = self._walk(self._input).nodes
        known = {name: node for name, node in self.baseline.items() if name in now}
        return self._restore(saved, arrays, known, now, frozenset())

    def _restore(
        self,
        saved: Saved,
        arrays: Mapping[str, memoryview],
        known: Mapping[str, Node],
        now: Mapping[str, Node],
        but: frozenset[Part],
    ) -> list[str]:
        wanted = {
            name: node
            for name, node in known.items()
            if name in now and now[name].content != node.content and node.kind != "array"
        }
        for name, each in saved.items():
            node = node_from_json(each, arrays)
            if node.kind in holder.FIELDS and name in wanted:
                node.content = wanted[name].content | node.content
            wanted[name] = node
        live = self._names.objects()
        wanted = {name: _without(node, name, but) for name, node in wanted.items()}
        wanted = {name: node for name, node in wanted.items() if (name, None) not in but}
        missing = [name for name in wanted if not self._has(name, wanted[name], live)]
        for name in wanted.keys() - set(missing):
            self._refill(live[name], wanted[name], live)
        return missing

    def look_at_input(self) -> dict[str, Node]:
        """The nodes that the input leads to, as they are."""
        return self._walk(self._input).nodes

    def moved(self, before: Mapping[str, Node]) -> frozenset[Part]:
        """The parts of the input's nodes that are not as they were."""
        now = self.look_at_input()
        found: set[Part] = set()
        for name, node in before.items():
            if name in now and now[name].content != node.content:
                found |= _parts(name, _difference(now[name], node))
        return frozenset(found)

    def parts_of_input(self) -> frozenset[Part]:
        """All that the input leads to."""
        nodes = self.look_at_input().items()
        return frozenset().union(*(_parts(name, node) for name, node in nodes))

    def _has(self, name: str, node: Node, live: dict[str, Any]) -> bool:
        present = live.get(name)
        if present is None:
            if name in self.baseline or not can_be_made(node, self._modules):
                return False
            live[name] = present = make(node, self._modules)
            self._names.give(present, name)
            return True
        known = self.baseline.get(name)
        is_same = known is not None and known.kind == node.kind
        return known is None or (is_same and (node.kind != "object" or known.form == node.form))

    def _refill(self, value: Any, node: Node, live: Mapping[str, Any]) -> None:
        def resolve(frozen: Any) -> Any:
            if isinstance(frozen, Ref):
                return live.get(frozen.name)
            return self._library.tensor_of(frozen.array) if isinstance(frozen, Tensor) else None

        if node.kind in holder.FIELDS:
            self._refill_fields(value, node, resolve)
        elif node.kind == "array":
            fits = isinstance(node.content, np.ndarray) and value.shape == node.content.shape
            if fits and value.flags.writeable:
                value[...] = node.content
        elif node.kind == "table":
            self._library.refill_table(value, node.content)
        elif not any(map(is_opaque, node.content)):
            holder.refill(value, thaw_items(node.content, resolve))

    def _refill_fields(self, value: Any, node: Node, resolve: Any) -> None:
        known = self.baseline.get(_name_in(self._names, value))
        for key, frozen in node.content.items():
            present = known.content.get(key) if known is not None else None
            is_new = known is not None and key not in known.content
            if is_opaque(frozen) or isinstance(present, Opaque) or not key.isidentifier():
                continue
            if key.startswith("__") or (is_new and node.kind in ("class", "function", "module")):
                continue
            holder.set_field(value, key, thaw(frozen, resolve))


def _difference(node: Node, before: Node | None) -> Node:
    """The fields that are not as before; all that is in a node of another kind."""
    if before is None or node.kind not in holder.FIELDS:
        return node
    known = before.content
    changed = {
        key: value for key, value in node.content.items() if key not in known or known[key] != value
    }
    return Node(node.kind, node.form, changed)


def _without(node: Node, name: str, but: frozenset[Part]) -> Node:
    if node.kind not in holder.FIELDS:
        return node
    kept = {key: value for key, value in node.content.items() if (name, key) not in but}
    return Node(node.kind, node.form, kept)


def thaw_items(content: Any, resolve: Any) -> Any:
    """The items that frozen content stands for."""
    return content if isinstance(content, bytes) else [thaw(item, resolve) for item in content]


def _name_in(names: Names, value: Any) -> str:
    return names.name_of(value, "")


def _together(rest: Mapping[str, Node], data: Mapping[str, Node]) -> dict[str, Node]:
    """The nodes of two walks; fields that either saw are in it."""
    found = {**rest, **data}
    for name in rest.keys() & data.keys():
        node = rest[name]
        if node.kind in holder.FIELDS:
            found[name] = Node(node.kind, node.form, node.content | data[name].content)
    return found


def _differs(node: Node, before: Node) -> bool:
    if node.kind not in holder.FIELDS:
        return bool(node.content != before.content)
    return any(before.content.get(key, before) != value for key, value in node.content.items())


def _is_small(node: Node, value: Any) -> bool:
    if node.kind == "array":
        return bool(value.nbytes <= _SMALL_BYTES) and not value.dtype.hasobject
    return node.kind in (*holder.COLLECTIONS, "object")


def _parts(name: str, node: Node) -> set[Part]:
    return {(name, key) for key in node.content} if node.kind in holder.FIELDS else {(name, None)}
