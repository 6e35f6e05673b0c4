"""What a function was traced with: the Python values that it read are constants of its graph."""

import hashlib
from collections.abc import Iterable
from typing import Any

from pitstop.tensorflow import private

_SEEDS = frozenset({"seed", "seed2"})
# Names of functions and of resources are others in each process.
_COMPARED = frozenset({"b", "f", "i", "shape", "tensor", "type"})


def digests(function: Any) -> dict[str, str]:
    """For each signature that the function was traced for, a digest of its ops and constants."""
    return {
        _digest([repr(graph.structured_input_signature).encode()]): _of_graph(graph)
        for graph in private.graphs(function)
    }


def _of_graph(graph: Any) -> str:
    definition = graph.as_graph_def()
    inner = (each.node_def for each in definition.library.function)
    # A small tensor is a constant, a large one is captured.
    captured = [each for each, _ in graph.captures if private.is_eager_tensor(each)]
    values = [private.as_numpy(each) for each in captured if each.dtype.is_floating]
    nodes = sorted(map(_of_nodes, (definition.node, *inner)))
    return _digest([*nodes, *(each.tobytes() for each in values)])


def _of_nodes(nodes: Iterable[Any]) -> bytes:
    parts = []
    for node in nodes:
        parts.append(b"" if node.op.startswith("__") else node.op.encode())
        parts += [
            name.encode() + node.attr[name].SerializeToString(deterministic=True)
            for name in sorted(node.attr)
            if name not in _SEEDS and node.attr[name].WhichOneof("value") in _COMPARED
        ]
    return _digest(parts).encode()


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
