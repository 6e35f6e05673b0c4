"""The loops that a frame is in, and the names that they count with.  Pure.

Read from the byte code, so that no source is needed: a loop is a jump back over
the present instruction; one that begins with `FOR_ITER` stores what it is at.
"""

from __future__ import annotations

import dis
import functools
import types
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

_PREPARE = ("NOP", "EXTENDED_ARG", "CACHE")


@dataclass(frozen=True)
class Loop:
    """A loop of a function; `targets` are the names that a `for` stores to, none of a `while`."""

    targets: tuple[str, ...]


def enclosing_loops(code: types.CodeType, at: int) -> tuple[Loop, ...]:
    """The loops around the instruction at an offset (as `frame.f_lasti`), from the outermost in."""
    spans = sorted(_spans(code).items())
    return tuple(loop for start, (end, loop) in spans if start <= at < end)


@functools.lru_cache(maxsize=256)
def _spans(code: types.CodeType) -> dict[int, tuple[int, Loop]]:
    """By the offset at which a loop begins: where it ends, and what it is."""
    instructions = list(dis.get_instructions(code))
    places = {each.offset: place for place, each in enumerate(instructions)}
    ends: dict[int, int] = {}
    for each in instructions:
        if each.opcode in dis.hasjrel and each.argval <= each.offset:
            ends[each.argval] = max(each.offset, ends.get(each.argval, 0))
    return {
        start: (end, Loop(tuple(_targets(instructions[places[start] :]))))
        for start, end in ends.items()
        if start in places
    }


def _targets(instructions: Sequence[dis.Instruction]) -> Iterator[str]:
    """The names stored to behind a `FOR_ITER`; nothing where there is none."""
    found = iter(each for each in instructions if each.opname not in _PREPARE)
    if next(found).opname != "FOR_ITER":
        return
    waiting = 1
    for each in found:
        if waiting <= 0:
            return
        if each.opname.startswith("UNPACK_SEQUENCE"):
            waiting += int(each.argval) - 1
        elif each.opname.startswith("STORE_"):
            # Python 3.13 stores two at once, or stores one and loads another.
            names = each.argval if isinstance(each.argval, tuple) else (each.argval,)
            stored = names if each.opname == "STORE_FAST_STORE_FAST" else names[:1]
            yield from (str(name) for name in stored)
            waiting -= len(stored)
        else:
            return
