"""The order of a set: it depends on what was added and removed before, and on collisions.

CPython keeps the items of a set in a table of slots (Objects/setobject.c).  An item is in the first
slot of its probe sequence that was not in use when it was added.  The slot of a removed item is
marked, and stays in use.  `pop` begins its search at a cursor.  No function of Python returns all
this, so the memory of the set is read.
"""

import ctypes
import functools
import os
import struct
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice, takewhile
from pathlib import PurePath
from typing import Any

import numpy as np

_LAST_KNOWN = (3, 13)  # version of CPython
_LINEAR_PROBES = 9  # LINEAR_PROBES of CPython 3.11 to 3.13; the next is its PERTURB_SHIFT
_PERTURB_SHIFT = 5
_HASH_MASK = (1 << 64) - 1
_OF_REMOVED = -1  # the hash in the slot of an item that was removed
_LEAST_SLOTS = 8
_GROWTH = 8  # a table that is made anew has at most so many slots for each of its items
# The memory of larger tables may be freed while another thread changes the set.
_MOST_SLOTS = 4096
_SIZES = frozenset(1 << power for power in range(3, 13))
_BEYOND = 1 << 20  # so many table sizes, added to a slot, give a number that is hardly an item
_NUMBERS = (int, float, complex, np.number, np.bool_)
_TEXTS = (str, bytes, PurePath)

Layout = tuple[int, ...]
"""The number of slots, the cursor, and each slot in use; inverted where the item was removed.

Empty where nothing depends on it, or where it cannot be read.
"""

_TABLE = struct.Struct("nnnPnn")
"""What follows the header of an object in `PySetObject`: fill, used, mask, table, hash, finger."""


def items_of(value: set[Any] | frozenset[Any]) -> list[Any]:
    """The layout, then the items in their order; `()` and sorted items if it is not repeatable."""
    items = list(_iterated(value))
    return [layout_of(value), *items] if has_order(items) else [(), *sorted(items, key=repr)]


def has_order(items: Iterable[Any]) -> bool:
    """Whether a set of these has the same order in another process with the same hash seed."""
    seed = os.environ.get("PYTHONHASHSEED", "")
    fixed = (*_NUMBERS, *_TEXTS) if seed.isdigit() else _NUMBERS
    return all(
        has_order(each) if isinstance(each, tuple | frozenset) else isinstance(each, fixed)
        for each in items
    )


def layout_of(value: set[Any] | frozenset[Any]) -> Layout:
    return _read(value) if _is_readable() else ()


def _read(value: set[Any] | frozenset[Any]) -> Layout:
    data = ctypes.string_at(id(value) + object.__basicsize__, _TABLE.size)
    _, _, mask, address, _, cursor = _TABLE.unpack(data)
    if not 0 <= mask < _MOST_SLOTS:
        return ()
    slots = np.frombuffer(ctypes.string_at(address, 16 * (mask + 1)), np.int64)
    items, hashes = slots[::2], slots[1::2]
    used = items.nonzero()[0]
    marked = np.where(hashes[used] == _OF_REMOVED, ~used, used).tolist()
    return (mask + 1, cursor, *marked)


@functools.cache
def _is_readable() -> bool:
    # Elsewhere the memory may have another form, and its addresses mean nothing.
    if sys.implementation.name != "cpython" or sys.version_info[:2] > _LAST_KNOWN:
        return False
    sample = {0, 1, 2}
    sample.discard(1)
    return _read(sample) == (8, 0, 0, ~1, 2) and sample.pop() == 0 and _read(sample)[1] == 1


def fill(value: set[Any], contents: list[Any]) -> None:
    """Gives a set what `items_of` returned; raises `ValueError` if its order cannot be made."""
    layout, items = _checked(contents)
    if layout:
        _build(value, layout, items)
    elif has_order(items):
        set.clear(value)
        set.update(value, items)
    else:
        set.intersection_update(value, items)
        set.update(value, items)
    if has_order(items) and not (_iterates_as(value, items) and layout_of(value) == layout):
        raise ValueError("its items come in another order")


def _checked(contents: list[Any]) -> tuple[Layout, list[Any]]:
    """The layout and the items; raises `ValueError` for a layout that no table has."""
    found, *items = contents
    layout = tuple(found) if isinstance(found, list | tuple) else (found,)
    size, cursor, *used = layout or (_LEAST_SLOTS, 0)
    if (
        not all(type(each) is int for each in layout)
        or size not in _SIZES
        or not 0 <= cursor <= size
        or not all(-size <= slot < size for slot in used)
    ):
        raise ValueError("no set has such a table")
    return layout, items


def _build(value: set[Any], layout: Layout, items: list[Any]) -> None:
    size, cursor, *used = layout
    set.clear(value)
    if layout_of(value)[1:] != (cursor,):
        _move_cursor(value, cursor)
    removed, entries = _entries(size, used, items)
    if size > _LEAST_SLOTS:
        _enlarge(value, size, entries[: size // _GROWTH])
    for each in entries:
        set.add(value, each)
    for each in removed:
        set.discard(value, each)


def _entries(size: int, used: list[int], items: list[Any]) -> tuple[list[int], list[Any]]:
    """Numbers that stand for removed items; these and the items, in an order of adding them."""
    marked = {~slot for slot in used if slot < 0}
    held = dict(zip((slot for slot in used if slot >= 0), items, strict=True))
    removed = [slot + size * _BEYOND for slot in marked]
    return removed, removed + _in_order(held, marked, size)


def _enlarge(value: set[Any], size: int, entries: list[Any]) -> None:
    """Adds entries to an empty set so that the last one makes its table anew, with `size` slots.

    CPython does that when three fifths of the slots are in use, also by removed items.  The new
    table has more than four slots for each item that is left.
    """
    set.update(value, entries[:-1])
    slots, _, *used = layout_of(value)
    taken = next(each for each in _probes(hash(entries[-1]), slots - 1) if each not in used)
    others = (each for each in range(slots) if each not in used and each != taken)
    for slot in islice(others, ((slots - 1) * 3 - 1) // 5 - len(used)):
        set.add(value, slot + size * _BEYOND)
        set.discard(value, slot + size * _BEYOND)
    set.add(value, entries[-1])


def _move_cursor(value: set[Any], cursor: int) -> None:
    """Sets the cursor of an empty set: `pop` leaves it behind the slot of the item that it took."""
    set.update(value, range(cursor))
    for each in range(cursor - 1):
        set.discard(value, each)
    if cursor:
        set.pop(value)
    set.clear(value)


def frozen(contents: list[Any]) -> frozenset[Any]:
    """A frozenset of what `items_of` returned, in the same order if that can be made."""
    layout, items = _checked(contents)
    if not layout:
        return frozenset(items)
    size, _, *used = layout
    removed, entries = _entries(size, used, items)
    # A table grows by steps while items are added one by one, and once for those of a dictionary.
    grown, at_once = frozenset(entries), frozenset(dict.fromkeys(entries))
    found = at_once if layout_of(at_once)[:1] == (size,) else grown
    return found.difference(removed) if removed else found


def is_frozen_again(value: frozenset[Any]) -> bool:
    """Whether `frozen` can make this one again, with its order and layout."""
    items = list(value)
    if not has_order(items):
        return True
    found = frozen(items_of(value))
    return _iterates_as(found, items) and layout_of(found) == layout_of(value)


def _iterates_as(value: set[Any] | frozenset[Any], items: list[Any]) -> bool:
    pairs = zip(_iterated(value), items, strict=False)
    return len(value) == len(items) and all(one is other or one == other for one, other in pairs)


def _iterated(value: set[Any] | frozenset[Any]) -> Iterator[Any]:
    # Not by `iter`: a class of the script may have an `__iter__` of its own.
    return set.__iter__(value) if isinstance(value, set) else frozenset.__iter__(value)


def _in_order(held: Mapping[int, Any], used: set[int], size: int) -> list[Any]:
    """The items in an order to add them: each after those in the slots that are probed before.

    `held`: the items by slot.  `used`: slots that are in use; those of the items are added to it.
    """
    found = []
    waiting = {slot: _passed(item, slot, size) for slot, item in held.items()}
    while waiting:
        ready = [slot for slot, passed in waiting.items() if passed <= used]
        if not ready:
            raise ValueError("its items come in another order")
        for slot in sorted(ready, key=lambda slot: len(waiting[slot])):
            used.add(slot)
            found.append(held[slot])
            del waiting[slot]
    return found


def _passed(item: Any, slot: int, size: int) -> set[int]:
    """The slots that are probed for an item before this one."""
    probes = islice(_probes(hash(item), size - 1), size * size)
    return set(takewhile(lambda each: each != slot, probes))


def _probes(number: int, mask: int) -> Iterator[int]:
    """The slots that are looked at for an item with this hash, in their order."""
    perturb = number & _HASH_MASK
    slot = perturb & mask
    while True:
        last = slot + _LINEAR_PROBES if slot + _LINEAR_PROBES <= mask else slot
        yield from range(slot, last + 1)
        perturb >>= _PERTURB_SHIFT
        slot = (slot * 5 + 1 + perturb) & mask
