"""What a function was traced with: the Python values that it read are constants of its graph."""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable
from typing import Any

from tensorflow.python.eager.polymorphic_function import polymorphic_function

from pitstop.tensorflow import private, traced_ops
from pitstop.tensorflow.traced_ops import OpKind

# Names of functions and of resources are others in each process.
_COMPARED = frozenset({"b", "f", "i", "shape", "tensor", "type"})
_ADDRESS = re.compile(r" object at 0x[0-9a-f]+|(?<=, )\d{10,}(?=[,)])")
"""Of an object; a `DistributedIteratorSpec` has those of the strategy and of its options."""


def nodes_of(graph: Any) -> list[Iterable[Any]]:
    """The nodes of a graph, and of each function that is called in it."""
    definition = graph.as_graph_def()
    return [definition.node, *(each.node_def for each in definition.library.function)]


Kinds = dict[OpKind, str]
"""What ops do that a resume cannot take for granted, each with the type of one."""


def kinds_of(function: Any) -> Kinds:
    kinds = _kinds_in([each for graph in private.graphs(function) for each in nodes_of(graph)])
    return kinds | _of_itself(function)


def _of_itself(function: Any) -> Kinds:
    """What the graphs of a function do not tell."""
    if isinstance(function, polymorphic_function.Function):
        is_compiled = bool(function._jit_compile)
    else:
        is_compiled = traced_ops.kind_of("", function.function_def.attr) is OpKind.COMPILED
    return {OpKind.COMPILED: ""} if is_compiled else {}


def _kinds_in(parts: Iterable[Iterable[Any]]) -> Kinds:
    nodes = (node for part in parts for node in part)
    found = ((traced_ops.kind_of(node.op, node.attr), node.op) for node in nodes)
    return {kind: op_type for kind, op_type in found if kind is not None}


def look(function: Any) -> tuple[dict[str, str], Kinds]:
    """For each signature that the function was traced for, a digest of its ops and constants.

    Objects of Python have no name in a signature: those of equal ones are numbered.
    """
    digests, kinds, counts = {}, _of_itself(function), Counter[str]()
    for graph in private.graphs(function):
        parts = nodes_of(graph)
        kinds |= _kinds_in(parts)
        # A small tensor is a constant, a large one is captured.
        captured = [each for each, _ in graph.captures if private.is_eager_tensor(each)]
        values = [private.as_numpy(each) for each in captured if each.dtype.is_floating]
        content = [*sorted(map(_of_nodes, parts)), *(each.tobytes() for each in values)]
        signature = _ADDRESS.sub("", repr(graph.structured_input_signature))
        counts[signature] += 1
        number = f"#{counts[signature]}" if counts[signature] > 1 else ""
        digests[_digest([signature.encode()]) + number] = _digest(content)
    return digests, kinds


def _of_nodes(nodes: Iterable[Any]) -> bytes:
    parts = []
    for node in nodes:
        parts.append(b"" if node.op.startswith("__") else node.op.encode())
        parts += [
            name.encode() + node.attr[name].SerializeToString(deterministic=True)
            for name in sorted(node.attr)
            if name not in traced_ops.SEEDS and node.attr[name].WhichOneof("value") in _COMPARED
        ]
    return _digest(parts).encode()


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        digest.update(len(part).to_bytes(8, "big") + part)
    return digest.hexdigest()
