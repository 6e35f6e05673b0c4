"""The state beside the variables, as named digests.  Pure.

The state of a checkpoint is JSON that names arrays in the tensors file; with
each array replaced by its checksum, equal text means equal bits.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence

from pitstop.events import JsonValue

ITERATOR = "the saved input iterator"
ITERATOR_TENSOR = "input/iterator"
RANDOM = (
    "Python's random stream",
    "NumPy's random stream",
    "TensorFlow's seed",
    "TensorFlow's random stream",
)
POSITION = ("batches drawn from the input", "passes over the input")

_PATHS: Mapping[str, tuple[str, ...]] = {
    RANDOM[0]: ("random", "python"),
    RANDOM[1]: ("random", "numpy"),
    RANDOM[2]: ("random", "tensorflow_seed"),
    RANDOM[3]: ("random", "tensorflow_eager"),
    POSITION[0]: ("fit", "input", "drawn"),
    POSITION[1]: ("fit", "input", "created"),
    "the description of the input": ("fit", "data"),
    "the random streams when fit began": ("fit_random",),
    "the logs of the last step": ("fit", "logs"),
    "stop_training": ("fit", "stop_training"),
}
_ARRAYS = ("$array", "$floats")
_NOTHING = "nothing"


def read_facts(state: JsonValue, digests: Mapping[str, str]) -> dict[str, str]:
    """What the content of `state.json` says, by what it is; missing parts count as nothing."""
    found = {name: _digest(_at(state, path), digests) for name, path in _PATHS.items()}
    found[ITERATOR] = digests.get(ITERATOR_TENSOR, _NOTHING)
    return found | {name: _digest(value, digests) for name, value in _callbacks(state)}


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    """What is not the same in both, in the order of the first."""
    names = [*one, *(name for name in other if name not in one)]
    return tuple(name for name in names if one.get(name) != other.get(name))


def is_decisive(name: str, *, read_ahead: bool) -> bool:
    """Whether runs that differ in this will differ in what they train.

    With `read_ahead`, see `record.Saved`, random streams depend on timing.  So do the buffers
    inside of a saved iterator, always; attributes of callbacks may be times.
    """
    return name in POSITION or (name in RANDOM and not read_ahead)


def _callbacks(state: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    nodes = _at(state, ("fit", "objects", "cut")) or {}
    for index, callback in enumerate(_at(state, ("fit", "callbacks")) or ()):
        label = f"callback {index + 1} ({callback.get('class', '')})"
        for name, value in callback.get("attributes", {}).items():
            yield f"{label}: {name}", _with_content(value, nodes)


def _with_content(value: JsonValue, nodes: Mapping[str, JsonValue]) -> JsonValue:
    """Nodes in the place of references to them, each once."""
    if isinstance(value, list):
        return [_with_content(item, nodes) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get("$ref")
    if isinstance(name, str) and name in nodes:
        others = {other: node for other, node in nodes.items() if other != name}
        return _with_content(nodes[name], others)
    return {key: _with_content(item, nodes) for key, item in value.items()}


def _at(value: JsonValue, path: Sequence[str]) -> JsonValue:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _digest(value: JsonValue, digests: Mapping[str, str]) -> str:
    text = json.dumps(_with_digests(value, digests), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _with_digests(value: JsonValue, digests: Mapping[str, str]) -> JsonValue:
    if isinstance(value, list):
        return [_with_digests(item, digests) for item in value]
    if not isinstance(value, dict):
        return value
    return {key: _resolved(key, item, digests) for key, item in value.items()}


def _resolved(key: str, item: JsonValue, digests: Mapping[str, str]) -> JsonValue:
    if key not in _ARRAYS:
        return _with_digests(item, digests)
    name, *form = item if isinstance(item, list) else [item]
    return [digests.get(name, name), *form]
