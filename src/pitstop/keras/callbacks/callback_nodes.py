"""Callbacks in a saved state: their attributes are the fields of nodes, see `script_state`.

Of a resumed script they may stand in other places, or be fewer or more.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pitstop.engine.files.made_folders import is_moved
from pitstop.engine.script_state.frozen import with_refs
from pitstop.engine.script_state.state import Saved, object_with_fields
from pitstop.keras.packages import kinds

_DISPLAY_ONLY = ("ProgbarLogger",)
_GONE = "(gone) "
_Described = Sequence[Mapping[str, Any]]  # callbacks, as a saved state lists them


def named(callbacks: Sequence[Any]) -> dict[str, Any]:
    return {
        name: each
        for name, each in numbered(callbacks).items()
        if type(each).__name__ not in _DISPLAY_ONLY
    }


def taken_out(
    cut: Saved, callbacks: Sequence[Any], nodes: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """The callbacks as the saved state lists them, taken out of the cut; `nodes` by name."""
    names = {id(each): name for name, each in nodes.items()}
    described = []
    for callback in callbacks:
        node = names.get(id(callback), "")
        attributes = cut.pop(node, {"content": {}})["content"]
        kind = type(callback).__name__
        described.append({"class": kind, "node": node, "attributes": attributes})
    return described


def put_in(
    cut: Saved, described: _Described, callbacks: Sequence[Any], nodes: Mapping[str, Any]
) -> tuple[Saved, list[str]]:
    """The nodes of a cut with those `taken_out`, and a sentence for each callback that changed."""
    names = {id(each): name for name, each in nodes.items()}
    renamed, problems, found = {}, [], dict(cut)
    for saved, callback in matched(described, callbacks):
        now = names.get(id(callback), "")
        before = saved.get("node", now)
        if now and before:
            renamed[before] = now
            found[before] = object_with_fields(callback, saved["attributes"])
            problems += _moved_files(callback, saved["attributes"])
        elif before or callback is None:
            renamed[before] = f"{_GONE}{before}"
            problems.append(f"{saved['class']} is missing")
    return _renamed(found, renamed), problems


def added(described: _Described, callbacks: Sequence[Any], nodes: Mapping[str, Any]) -> list[str]:
    """Nodes of callbacks that the saved state does not know."""
    known = {id(callback) for _, callback in matched(described, callbacks)}
    return [name for name, each in nodes.items() if id(each) not in known]


def new_kinds(callbacks: Sequence[Any], described: _Described) -> list[str]:
    known = {each["class"] for each in described}
    kinds = {type(each).__name__ for each in callbacks} - known
    return [f"{kind} is new" for kind in sorted(kinds)]


def _renamed(nodes: Saved, renamed: Mapping[str, str]) -> Saved:
    if all(before == now for before, now in renamed.items()):
        return nodes

    def new_name(name: str) -> str:
        callback, bracket, rest = name.partition("]")
        return renamed.get(callback + bracket, callback + bracket) + rest

    return {new_name(name): with_refs(each, new_name) for name, each in nodes.items()}


def _moved_files(callback: Any, attributes: Mapping[str, Any]) -> list[str]:
    """What is to be said of files that Keras has written to another place than now."""
    if not isinstance(callback, kinds("callbacks.ModelCheckpoint")):
        return []
    return [
        f"{type(callback).__name__}.{key} is {now} but was {before}, where the old file still is"
        for key, before in attributes.items()
        if isinstance(before, str) and (now := vars(callback).get(key)) != before
        if isinstance(now, str) and not is_moved(now, before)
        if Path(before).exists() and not Path(now).exists()
    ]


_PLAIN = (str, int, float, bool)


def numbered(callbacks: Iterable[Any]) -> dict[str, Any]:
    counts: Counter[str] = Counter()
    found = {}
    for callback in callbacks:
        kind = type(callback).__name__
        found[f"{kind}[{counts[kind]}]"] = callback
        counts[kind] += 1
    return found


def matched(saved: _Described, callbacks: Sequence[Any]) -> list[tuple[Mapping[str, Any], Any]]:
    left = list(callbacks)
    found: dict[int, Any] = {}
    pairs = ((_likeness(each, other), at, other) for at, each in enumerate(saved) for other in left)
    # The most alike first; among equals, in their order.
    for likeness, at, other in sorted(pairs, key=lambda pair: -pair[0]):
        if likeness >= 0 and at not in found and any(other is each for each in left):
            found[at] = other
            left = [each for each in left if each is not other]
    return [(each, found.get(at)) for at, each in enumerate(saved)]


def _likeness(saved: Mapping[str, Any], callback: Any) -> int:
    if type(callback).__name__ != saved["class"]:
        return -1
    now = vars(callback)
    attributes = saved["attributes"].items()
    return sum(isinstance(value, _PLAIN) and now.get(key) == value for key, value in attributes)
