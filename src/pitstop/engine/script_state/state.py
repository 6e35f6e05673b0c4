"""A script's Python state at the start of a training and at a cut; brought back on a resume."""

import sys
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from pitstop.engine.randomness import script_random
from pitstop.engine.script_state import fingerprint, frozen, holder, refill, settings
from pitstop.engine.script_state.library import Library
from pitstop.engine.script_state.names import Names
from pitstop.engine.script_state.node import Node, Nodes
from pitstop.engine.script_state.walk import HELD, MOST_OBJECTS, Walk
from pitstop.engine.values import reachable
from pitstop.engine.values.python_state import Arrays, Encoder

_SMALL_BYTES = 64 << 10
_INCOMPLETE = f"objects of the script beyond the first {MOST_OBJECTS}"

Saved = dict[str, Any]  # nodes by name, in JSON

# A resumed script has made these itself: only their position or content is set.
_MADE_BY_SCRIPT = ("iterator", "table")
_NOT_SAVED = ("elsewhere", "unreadable")
_ADDRESSING = frozenset({"id", "hash"})
_FILES = ("_io.", "tensorflow.python.platform.gfile.")
_WHOLE = ("object", "function", "class")  # each walk sees all fields of these

Part = tuple[str, str | None]  # a node, or one field of it


class ScriptState:
    """Follows the Python state behind one training.

    A reader of the input may be ahead of the steps; what only the input leads to
    is then saved when its iterator is created, and all else at the cut.
    """

    def __init__(self, library: Library) -> None:
        self.baseline: dict[str, Node] = {}  # all nodes at the begin
        # names of what has changed and is not saved; of the last capture
        self.unverified: list[str] = []
        self._of_input: dict[str, Node] = {}  # when the input's present iterator was created
        self._of_rest: dict[str, Node] = {}  # at the begin, of what the training calls
        self._library = library
        self._is_complete = True  # whether the walks at the begin have seen everything
        self._unreadable: dict[str, str] = {}
        self._names = Names()
        self._modules: dict[str, Any] = {}  # those of the script
        self._loaded = 0  # how many modules there were at the begin
        self._input: dict[str, Any] = {}  # what the input is read from
        self._whole: Mapping[str, Any] = {}  # see `keep_whole`
        self._first: dict[tuple[str, Any], Any] = {}  # opaque fields, as they were seen first
        self._settings: dict[str, str] = {}  # of the process, at the begin
        # random generators that others restore, with their states at the begin
        self._generators: dict[str, tuple[Any, Any]] = {}
        self._at_cut: Nodes = {}

    def begin(self, rest: Mapping[str, Any], data: Mapping[str, Any]) -> None:
        """`rest`: what the training calls, by name; `data`: what its input is read from."""
        self._modules, self._loaded = reachable.user_modules(), len(sys.modules)
        self._input, rest = dict(data), {**rest, **fingerprint.handlers()}
        self._settings = fingerprint.of_process() | settings.told()
        walks = self._walks(rest)
        while found := walks[0].own.packages | walks[1].own.packages:
            self._modules |= found
            walks = self._walks(rest)
        self._of_rest, self._of_input = (walk.nodes for walk in walks)
        self._is_complete = all(walk.is_complete for walk in walks)
        self._unreadable = walks[0].unreadable | walks[1].unreadable
        self.baseline = _together(self._of_rest, self._of_input)
        held = {name for name, node in self.baseline.items() if node.kind in HELD}
        objects = [each for each in self._names.objects().items() if each[0] in held]
        self._generators = {
            name: (each, script_random.state_of(each))
            for name, each in objects
            if script_random.is_kept(each)
        }

    def _walks(self, rest: Mapping[str, Any]) -> list[Walk]:
        return [self._walk(rest), self._walk(self._input)]

    def _walk(self, roots: Mapping[str, Any]) -> Walk:
        walk = Walk(self._library, self._names, self._modules)
        walk.visit(roots)
        return walk

    def _walk_again(self, known: Nodes) -> Walk:
        walk = Walk(self._library, self._names, self._modules, known)
        walk.visit_again(self._names.objects(), self._whole)
        return walk

    def keep_whole(self, objects: Mapping[str, Any]) -> Mapping[str, Any]:
        """Objects by name that are saved with all their plain fields, and never made anew."""
        self._whole = {self._names.name_of(each, name): each for name, each in objects.items()}
        return self._whole

    # -- saving -------------------------------------------------------------------------

    def capture(self, encoder: Encoder, *, read_ahead: bool) -> Saved:
        """The changed nodes as JSON; with `read_ahead` without what only the input leads to."""
        walk = self._walk_again(self._of_rest if read_ahead else self.baseline)
        saved, self.unverified = self._save_changed(walk, encoder)
        if read_ahead:
            shared = self._shared_with_input(saved)
            self.unverified += [f"{name} (the input reads it ahead)" for name in shared]
        self._at_cut = self._of_input | walk.nodes
        self._names.keep(self.baseline | self._at_cut)
        return saved

    def capture_input(self, encoder: Encoder) -> tuple[Saved, list[str]]:
        walk = self._walk(self._input)
        self._of_input = walk.nodes
        saved, unverified = self._save_changed(walk, encoder)
        # Small ones are always saved: a script without seeds makes different ones each time.
        objects = self._names.objects()
        for name, node in [each for each in walk.nodes.items() if each[0] not in saved]:
            value = objects[name]
            is_small = node.kind in (*holder.COLLECTIONS, "object")
            if node.kind == "array":
                is_small = value.nbytes <= _SMALL_BYTES and not value.dtype.hasobject
            if is_small:
                list(self._save(name, node, value, encoder, saved))
        return saved, unverified

    def moved_generators(self) -> dict[str, Any]:
        """Random generators that have drawn since the begin: others save their states."""
        return {
            name: each
            for name, (each, state) in self._generators.items()
            if not script_random.same(state, script_random.state_of(each))
        }

    def is_held(self, name: str) -> bool:
        """Whether something held the object at the last cut; True if nothing did at the begin."""
        had, has = (
            any(frozen.refers_to(node.content, name) for node in nodes.values())
            for nodes in (self.baseline, self._at_cut)
        )
        return has or not had

    def arrays_at_begin(self) -> dict[str, str]:
        arrays = {name: node for name, node in self.baseline.items() if node.kind == "array"}
        return {name: node.content for name, node in arrays.items()}

    def _save_changed(self, walk: Walk, encoder: Encoder) -> tuple[Saved, list[str]]:
        objects = self._names.objects()
        unverified = [] if walk.is_complete and self._is_complete else [_INCOMPLETE]
        unverified += (self._unreadable | walk.unreadable).values()
        saved: Saved = {}
        named: frozenset[str] = frozenset().union(*(node.named for node in walk.nodes.values()))
        told = fingerprint.of_process() | (settings.told() if named & settings.SETTERS else {})
        unverified += [name for name, now in told.items() if self._settings.get(name, now) != now]
        unverified += self._imported_since(named)
        addressing = _ADDRESSING & named
        for name, node in walk.nodes.items():
            before = self.baseline.get(name)
            unverified += self._changed_opaques(name, node, before)
            if before is not None and before.form != node.form:
                unverified.append(f"{name} (now {node.form})")
            if before is None or name in self._whole or _differs(node, before):
                changed = _difference(node, before, keep_plain=name in self._whole)
                unverified += self._save(name, changed, objects[name], encoder, saved)
                if addressing and frozen.addresses_in(changed.content, addressing):
                    unverified.append(f"{name} (with addresses of objects)")
        arrays = {name: objects[name] for name in saved if saved[name]["kind"] == "array"}
        return saved, unverified + self._views(arrays, walk.held)

    def _imported_since(self, named: frozenset[str]) -> list[str]:
        """Modules of the script that its training has loaded, where they hold what may change."""
        if len(sys.modules) == self._loaded:
            return []
        return [
            f"{name} (imported during the training)"
            for name, module in reachable.user_modules().items()
            if name not in self._modules
            and named & {name, name.rpartition(".")[2]}
            and any(_may_change(*each) for each in vars(module).items())
        ]

    def _views(self, arrays: Mapping[str, Any], held: set[str]) -> list[str]:
        """Names of new arrays that share memory with another one: a resume makes each alone.

        Arrays that only local variables of generators hold do not count: these are not made.
        """
        by_owner: dict[int, list[str]] = {}
        for name, array in arrays.items():
            owner = array if array.base is None else array.base
            by_owner.setdefault(id(owner), []).append(name)
        return [
            f"{name} (a view of another array)"
            for names in by_owner.values()
            for name in names
            if name not in self.baseline
            and any(
                np.may_share_memory(arrays[name], arrays[each])
                for each in names
                if each != name and not held.isdisjoint((name, each))
            )
        ]

    def sharing(self, saved: Saved, arrays: list[Any]) -> list[str]:
        """Names of saved arrays that share their memory with one of these."""
        objects = self._names.objects()
        found = [name for name in saved if saved[name]["kind"] == "array"]
        return [
            name for name in found if any(np.may_share_memory(objects[name], a) for a in arrays)
        ]

    def _shared_with_input(self, saved: Saved) -> list[str]:
        kinds = map(type, self._input.values())
        if any(holder.kind_of(kind) or reachable.is_of(kind, self._modules) for kind in kinds):
            # Read by index: what is between two epochs is not read ahead.
            return []
        found, objects = [], self._names.objects()
        for name in saved.keys() & self._of_input.keys():
            content = self._of_input[name].content
            if saved[name]["kind"] not in holder.FIELDS:
                found.append(name)
            else:
                # A field that is new was read from the class before.
                of_class = set().union(*map(vars, type(objects[name]).__mro__))
                known = (content.keys() | of_class) & saved[name]["content"].keys()
                found += [f"{name}.{key}" for key in known]
        return sorted(found)

    def _save(
        self, name: str, node: Node, value: Any, encoder: Encoder, saved: Saved
    ) -> Iterator[str]:
        if node.kind in _NOT_SAVED:
            if name not in self.baseline and script_random.is_kept(value):
                yield f"{name} (random)"
            return
        is_there = name in self.baseline or name in self._whole or node.kind in _MADE_BY_SCRIPT
        if not is_there and not refill.can_be_made(node, self._modules):
            # A function in a function of the script: what holds it tells whether it matters.
            if node.kind not in holder.FIELDS or node.kind == "object":
                yield f"{name} ({node.form})"
            return
        content, lost = refill.content_to_json(node, value, encoder)
        yield from (f"{name}{each}" for each in lost)
        # A new object without one of its attributes would break the script.
        if not lost or (is_there and node.kind in holder.FIELDS):
            saved[name] = {"kind": node.kind, "form": node.form, "content": content}

    def _changed_opaques(self, name: str, node: Node, before: Node | None) -> Iterator[str]:
        fields = node.content if isinstance(node.content, dict) else {}
        if before is not None and before.kind == node.kind and node.kind in _WHOLE:
            gone = before.content.keys() - fields.keys()
            yield from (f"{name}.{key} (deleted)" for key in sorted(gone))
        for key, value in fields.items():
            opaque = frozen.opaque_in(value)
            if opaque is None:
                continue
            first = before.content.get(key) if before is not None else None
            if frozen.opaque_in(first) is None:
                first = self._first.setdefault((name, key), value)
            if first != value:
                yield f"{name}.{key} ({opaque.name})"
        yield from self._lost_items(name, node, before)

    def _lost_items(self, name: str, node: Node, before: Node | None) -> Iterator[str]:
        if not isinstance(node.content, list) or frozen.are_bare(node.content):
            return
        if before is not None and before.content == node.content:
            return
        known = frozen.by_place(before.content, before.kind) if before is not None else {}
        for place, item in frozen.by_place(node.content, node.kind).items():
            opaque = frozen.opaque_in(item)
            if opaque is not None and known.get(place) != item and not opaque.is_of_graph:
                yield f"{name} (with {opaque.name})"
                return

    # -- restoring ----------------------------------------------------------------------

    def restore(
        self, saved: Saved, arrays: Arrays, *, read_ahead: bool, but: frozenset[Part] = frozenset()
    ) -> list[str]:
        """Restores the nodes, except those in `but`; returns the names of those that are lost."""
        known = self._of_rest if read_ahead else self.baseline
        return self._restore(saved, arrays, known, self._walk_again(known).nodes, but)

    def restore_input(self, saved: Saved, arrays: Arrays) -> list[str]:
        now = self._walk(self._input).nodes
        both = self.baseline.keys() & now.keys()
        known = {name: _common(self.baseline[name], now[name]) for name in both}
        return self._restore(saved, arrays, known, now, frozenset())

    def _restore(
        self, saved: Saved, arrays: Arrays, known: Nodes, now: Nodes, but: frozenset[Part]
    ) -> list[str]:
        wanted = {
            name: node
            for name, node in known.items()
            if name in now and now[name].content != node.content and node.kind != "array"
        }
        for name, each in saved.items():
            node = refill.node_from_json(each, arrays)
            if node.kind in holder.FIELDS and name in wanted:
                node.content = wanted[name].content | node.content
            wanted[name] = node
        wanted = {name: _without(node, name, but) for name, node in wanted.items()}
        wanted = {name: node for name, node in wanted.items() if (name, None) not in but}
        script = self._library, self._modules, self._names
        return refill.Refill(*script, self.baseline, now).all(wanted)

    def look_at_input(self) -> dict[str, Node]:
        return self._walk(self._input).nodes

    def moved(self, before: Nodes) -> frozenset[Part]:
        now = self.look_at_input()
        found: set[Part] = set()
        for name, node in before.items():
            if name in now and now[name].content != node.content:
                found |= _parts(name, _difference(now[name], node))
        return frozenset(found)

    def parts_of_input(self) -> frozenset[Part]:
        nodes = self.look_at_input().items()
        return frozenset().union(*(_parts(name, node) for name, node in nodes))


def _may_change(name: str, value: Any) -> bool:
    """Whether a global is neither code nor a constant."""
    is_code = name.startswith("__") or isinstance(value, reachable.CODE)
    return not is_code and not (name.isupper() and frozen.is_plain(value))


def object_with_fields(value: Any, content: Any) -> Any:
    form = f"{type(value).__module__}:{type(value).__qualname__}"
    return {"kind": "object", "form": form, "content": content}


def _difference(node: Node, before: Node | None, *, keep_plain: bool = False) -> Node:
    if before is None or node.kind not in holder.FIELDS:
        return node
    known = before.content
    changed = {
        key: value
        for key, value in node.content.items()
        if key not in known
        or not frozen.same(known[key], value)
        or (keep_plain and _is_kept(value))
    }
    return Node(node.kind, node.form, changed)


def _is_kept(value: Any) -> bool:
    """Whether a field is plain, or a file, which a training that is skipped does not open."""
    is_file = isinstance(value, frozen.Opaque) and value.name.startswith(_FILES)
    return is_file or not frozen.has_marks(value)


def _without(node: Node, name: str, but: frozenset[Part]) -> Node:
    if node.kind not in holder.FIELDS:
        return node
    kept = {key: value for key, value in node.content.items() if (name, key) not in but}
    return Node(node.kind, node.form, kept)


def _together(rest: Nodes, data: Nodes) -> dict[str, Node]:
    found = {**rest, **data}
    for name in rest.keys() & data.keys():
        node = rest[name]
        if node.kind in holder.FIELDS:
            other = data[name]
            content, named = node.content | other.content, node.named | other.named
            found[name] = Node(node.kind, node.form, content, named, node.stored | other.stored)
    return found


def _common(node: Node, now: Node) -> Node:
    if node.kind not in holder.FIELDS:
        return node
    both = {key: node.content[key] for key in node.content.keys() & now.content.keys()}
    return Node(node.kind, node.form, both)


def _differs(node: Node, before: Node) -> bool:
    if node.kind not in holder.FIELDS:
        return not frozen.same(node.content, before.content)
    known = before.content
    return not all(frozen.same(known.get(key, before), each) for key, each in node.content.items())


def _parts(name: str, node: Node) -> set[Part]:
    return {(name, key) for key in node.content} if node.kind in holder.FIELDS else {(name, None)}
