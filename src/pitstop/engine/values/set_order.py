"""The order of a set: it depends on what was added and removed before, and on collisions.

CPython keeps the items of a set in a table of slots (Objects/setobject.c).  An item is in the first
slot of its probe sequence that was free when it was added.
"""

import os
from collections.abc import Iterable, Iterator
from itertools import islice, permutations
from pathlib import PurePath
from typing import Any

import numpy as np

_LINEAR_PROBES = 9  # LINEAR_PROBES of CPython 3.11 to 3.13, as are the next two
_PERTURB_SHIFT = 5
_SMALLEST_TABLE = 8
_HASH_MASK = (1 << 64) - 1
_MOST_PROBES = 24  # of an item that are looked at
_ROUNDS = 3
_BEYOND = 1 << 20  # of multiples of a table's size, which are unlikely to be among the items
_COST_OF_GAP = 4  # of a slot that none of the items has
_MOST_ITEMS = 1024
_MOST_FROZEN = 64
_FEW_ITEMS = 6  # of which all orders are tried
_NUMBERS = (int, float, complex, np.number, np.bool_)
_TEXTS = (str, bytes, PurePath)


def items_of(value: Iterable[Any]) -> list[Any]:
    """In their order, if it is the same in another process with the same hash seed; else sorted."""
    items = list(value)
    return items if has_order(items) else sorted(items, key=repr)


def has_order(items: Iterable[Any]) -> bool:
    seed = os.environ.get("PYTHONHASHSEED", "")
    fixed = (*_NUMBERS, *_TEXTS) if seed.isdigit() else _NUMBERS
    return all(
        has_order(each) if isinstance(each, tuple | frozenset) else isinstance(each, fixed)
        for each in items
    )


def fill(value: set[Any], items: list[Any]) -> None:
    """Gives a set these items; raises `ValueError` if they come in another order."""
    wanted = set(items)
    for each in list(set.__iter__(value)):
        if each not in wanted:
            set.discard(value, each)
    set.update(value, items)
    if not has_order(items) or _is(value, items):
        return
    set.difference_update(value, ())  # this makes a table smaller from which much was removed
    if _is(value, items):
        return
    is_few = len(items) <= _FEW_ITEMS
    for again in permutations(items) if is_few else (_arranged(items), items):
        set.clear(value)
        for each in again:
            set.add(value, each)
        for each in again:
            if each not in wanted:
                set.discard(value, each)
        if _is(value, items):
            return
    raise ValueError("its items come in another order")


def frozen(items: list[Any]) -> frozenset[Any]:
    """One that has these items in their order, if it can be made."""
    found = frozenset(items)
    # A snapshot asks for it.
    if has_order(items) and not _is(found, items) and len(items) <= _MOST_FROZEN:
        wanted = [each for each in _arranged(items) if each in found]
        other = frozenset(wanted)
        return other if _is(other, items) else found
    return found


def is_frozen_again(value: frozenset[Any]) -> bool:
    items = list(value)
    return not has_order(items) or _is(frozen(items), items)


def _is(value: set[Any] | frozenset[Any], items: list[Any]) -> bool:
    # A class of the script may have its own.
    found = set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)
    return all(map(_is_alike, found, items))


def _is_alike(one: Any, other: Any) -> bool:
    return one is other or bool(one == other)


def _arranged(items: list[Any]) -> list[Any]:
    """In which order to add items to an empty set, so that it has them in this order.

    Numbers that are not among them stand for items that were removed.
    """
    if len(items) > _MOST_ITEMS:
        return items
    size = _table_size(len(items))
    probes = [[*islice(_probes(hash(each), size - 1), _MOST_PROBES)] for each in items]
    depths = _depths(probes, set())
    for _ in range(_ROUNDS):
        depths = _depths(probes, {own[depth] for own, depth in zip(probes, depths, strict=True)})
    found: list[Any] = []
    taken: set[int] = set()
    # Those that are where they belong come first, and then those that found a slot taken.
    waiting = sorted(range(len(items)), key=depths.__getitem__)
    while waiting:
        lacking = {each: set(probes[each][: depths[each]]) - taken for each in waiting}
        ready = [
            each for each in waiting if not lacking[each] and depths[each] == depths[waiting[0]]
        ]
        ready = ready or [min(waiting, key=lambda each: len(lacking[each]))]
        for each in ready:
            found += [slot + size * _BEYOND for slot in lacking[each]]
            taken.update(probes[each][: depths[each] + 1])
            found.append(items[each])
        waiting = [each for each in waiting if each not in ready]
    return found


def _table_size(count: int) -> int:
    """How many slots there are when so many items were added."""
    size = _SMALLEST_TABLE
    while count * 5 >= (size - 1) * 3:
        used = -(-(size - 1) * 3 // 5)  # by which the table becomes larger
        least = used * 4
        while size <= least:
            size *= 2
    return size


def _probes(number: int, mask: int) -> Iterator[int]:
    """The slots that are looked at for an item with this hash, in their order."""
    perturb = number & _HASH_MASK
    slot = perturb & mask
    while True:
        last = slot + _LINEAR_PROBES if slot + _LINEAR_PROBES <= mask else slot
        yield from range(slot, last + 1)
        perturb >>= _PERTURB_SHIFT
        slot = (slot * 5 + 1 + perturb) & mask


def _depths(probes: list[list[int]], taken: set[int]) -> list[int]:
    """How many slots each item has found taken: as few as possible, with slots that ascend."""
    steps: list[list[tuple[int, int, int, int]]] = []  # slot, cost, depth, the choice before
    for own in probes:
        row, passed = [], 0
        for depth, slot in enumerate(own):
            before = steps[-1] if steps else [(-1, 0, 0, -1)]
            fitting = [(cost, index) for index, (at, cost, _, _) in enumerate(before) if at < slot]
            if fitting:
                cost, index = min(fitting)
                row.append((slot, cost + passed, depth, index))
            passed += 1 if slot in taken else _COST_OF_GAP
        if not row:
            return [0] * len(probes)
        steps.append(row)
    found: list[int] = []
    choice = min(range(len(steps[-1])), key=lambda index: steps[-1][index][1]) if steps else 0
    for row in reversed(steps):
        _, _, depth, before_choice = row[choice]
        found.append(depth)
        choice = before_choice
    return found[::-1]
