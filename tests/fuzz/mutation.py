"""Inputs that are nearly good: bytes changed at random, and values of JSON replaced by others."""

from __future__ import annotations

import json
from random import Random
from typing import Any

_VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 1 << 30, 1 << 63, 10**400, 1.5, float("inf"), float("nan")),
    *("", "x", "..", "/etc/passwd", "../../x", "\ud800", "\0", "|O", "<f8", "f4,O"),
    *([], {}, [[]], [1, 2], {"$array": ["python/0", "|O", [8]]}, {"$deque": []}, {"$new": 1}),
    *({"$set": [[]]}, {"$floats": 5}, {"$scalar": ["|O", "AAAAAAAAAAA="]}),
)
_HEAD_BYTES = 5


def mutated(data: bytes, random: Random) -> bytes:
    """A neighbour of a good input."""
    if random.random() < 0.5:
        return _other_bytes(data, random)
    for skipped in (0, _HEAD_BYTES):
        try:
            tree = json.loads(data[skipped:])
        except ValueError:
            continue
        text = json.dumps(_other_tree(tree, random)).encode()
        return len(text).to_bytes(4, "little") + b"\0" + text if skipped else text
    return _other_bytes(data, random)


def _other_bytes(data: bytes, random: Random) -> bytes:
    changed = bytearray(data)
    for _ in range(random.choice((1, 1, 2, 8))):
        at = random.randrange(len(changed) + 1)
        match random.randrange(4):
            case 0:
                changed[at : at + 1] = bytes([random.randrange(256)])
            case 1:
                del changed[at : at + random.choice((1, 4, 1000))]
            case 2:
                changed[at:at] = changed[at // 2 : at] * random.choice((1, 3))
            case _:
                changed[at:at] = random.choice((b"[" * 3000, b'{"a":' * 3000, b"\xff", b"\0"))
    return bytes(changed)


def _other_tree(tree: Any, random: Random) -> Any:
    if not isinstance(tree, list | dict) or not tree or random.random() < 0.15:
        return random.choice(_VALUES)
    keys = list(tree) if isinstance(tree, dict) else list(range(len(tree)))
    key = random.choice(keys)
    if random.random() < 0.1:
        del tree[key]
    else:
        tree[key] = _other_tree(tree[key], random)
    return tree
