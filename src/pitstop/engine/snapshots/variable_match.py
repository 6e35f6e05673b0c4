"""Which variable of a process takes which saved value.  Pure.

A script that is run again creates its variables in the same order, under the same names.
Where it does not, a name that only one variable has still tells which one it is; what is
left without a certain partner is refused or named, never guessed.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from itertools import pairwise

from pitstop.errors import ResumeRefused
from pitstop.record import Frozen

_REMEDY = "Undo the change, start over with --new, or restore what still fits with --force."
_SEPARATORS = re.compile("[/_]")
_SAVE_COUNTER = "save_counter"
"""Of a `tf.train.Checkpoint`, which makes it when it first saves; or restores, which is earlier."""
_SHOWN = 3
_Numbers = tuple[int, ...]

REORDERED = (
    "the script creates its variables in another order than before: values are matched by name, "
    "and sums may differ in the last bits; set PYTHONHASHSEED, and sort what comes from a set or "
    "a folder"
)


class _Variable(Frozen):
    index: int
    path: str
    dtype: str
    shape: tuple[int | None, ...] | None

    @property
    def label(self) -> str:
        return f"{self.path} {self.dtype}{list(self.shape or ())}"


class SavedVariable(_Variable):
    shape: tuple[int, ...]
    tensor: str
    name: str  # what it was called at its creation
    owned: bool = False  # it belongs to the model of the `fit`, or to an object that was named
    dropped: bool = False  # of a model that was trained before, and that the script no longer held


class PresentVariable(_Variable):
    """A variable of this process, dead where the script has dropped it; its shape may be open."""

    name: str
    owned: bool = False
    alive: bool = True


_Saved = Sequence[SavedVariable]
_Present = Sequence[PresentVariable]


class VariableMatch(Frozen):
    """Which variable takes which saved value.

    `waiting`: not created yet.  `reordered`: matched by their names, not by the order.
    `unsaved`: variables of the model that take nothing.
    """

    pairs: tuple[tuple[SavedVariable, int], ...]
    waiting: tuple[SavedVariable, ...] = ()
    reordered: bool = False
    unsaved: tuple[PresentVariable, ...] = ()


def match(saved: _Saved, present: _Present, *, some: bool = False) -> VariableMatch:
    """Finds the variable of each saved value, or raises `ResumeRefused` where it is not certain.

    With `some`, of those that are not the model's none has a partner where not all are certain.
    """
    by_index = {each.index: each for each in present}
    there = [(item, by_index[item.index]) for item in saved if item.index in by_index]
    new = {each.index for each in present if each.owned} - {item.index for item in saved}
    if not new and (all(is_same(*pair) for pair in there) or _renumbered(there)):
        pairs = tuple((item, each.index) for item, each in there if each.alive)
        return VariableMatch(pairs, tuple(item for item in saved if item.index not in by_index))
    parts = [
        _by_name(
            [item for item in saved if item.owned == owned],
            [each for each in present if each.alive and each.owned == owned],
            some=some and not owned,
        )
        for owned in (True, False)
    ]
    pairs = tuple(pair for part in parts for pair in part.pairs)
    waiting = tuple(item for part in parts for item in part.waiting)
    takers = {index for _, index in pairs}
    unsaved = tuple(
        each for each in present if each.owned and each.alive and each.index not in takers
    )
    return VariableMatch(pairs, waiting, any(part.reordered for part in parts), unsaved)


def what_fits(
    saved: _Saved, present: _Present
) -> tuple[list[tuple[SavedVariable, int]], list[str]]:
    paths = Counter(each.path for each in present), Counter(item.path for item in saved)
    by_path = {each.path: each for each in present}
    pairs, left = [], []
    for item in saved:
        taker = by_path.get(item.path)
        if max(counts[item.path] for counts in paths) > 1:
            left.append(f"{item.label} (one of several of this name)")
        elif taker is None or not fits(item, taker):
            left.append(item.label)
        else:
            pairs.append((item, taker.index))
    return pairs, left


def reshaped(saved: _Saved, present: _Present) -> list[str]:
    before = {item.path: item for item in saved}
    pairs = [(before.get(each.path), each) for each in present]
    return [
        f"{item.label} is now {each.label.removeprefix(each.path + ' ')}"
        if item
        else f"{each.label} is new"
        for item, each in pairs
        if item is None or not fits(item, each)
    ]


def fits(item: SavedVariable, variable: PresentVariable) -> bool:
    shape = variable.shape
    known = shape is not None and None not in shape
    return item.dtype == variable.dtype and (not known or shape == item.shape)


def is_same(item: SavedVariable, variable: PresentVariable) -> bool:
    if variable.alive and (item.path, item.owned) != (variable.path, variable.owned):
        return False
    return item.name == variable.name and fits(item, variable)


def named(items: Collection[_Variable]) -> str:
    labels = [item.label for item in items]
    more = f" and {len(labels) - _SHOWN} more" if len(labels) > _SHOWN else ""
    return ", ".join(labels[:_SHOWN]) + more


def _by_name(saved: _Saved, present: _Present, *, some: bool) -> VariableMatch:
    in_turn = list(zip(saved, present, strict=False))
    if len(saved) == len(present) and (
        all(is_same(*pair) for pair in in_turn) or _renumbered(in_turn)
    ):
        return VariableMatch(tuple((item, each.index) for item, each in in_turn))
    if nested := _of_one_model(saved, present) or _but_for_save_counters(saved, present):
        return nested
    if latest := _latest(saved, present):
        return latest
    once = _once(item.path for item in saved) & _once(each.path for each in present)
    by_path = {each.path: each for each in present if each.path in once}
    pairs = [(item, by_path[item.path]) for item in saved if item.path in once]
    left = [item for item in saved if item.path not in once]
    rest = [each for each in present if each.path not in once]
    rivals = [(item, each) for item in left for each in rest if fits(item, each)]
    if wrong := [*(pair for pair in pairs if not fits(*pair)), *rivals]:
        if some:
            return VariableMatch((), tuple(saved))
        if dropped := [item for item in saved if item.dropped]:
            # The script does not use them any more.
            lasting = [item for item in saved if not item.dropped]
            without = _by_name(lasting, present, some=some)
            return replace(without, waiting=(*without.waiting, *dropped))
        raise changed(*wrong[0])
    takers = [each.index for _, each in pairs]
    found = tuple((item, each.index) for item, each in pairs)
    return VariableMatch(found, tuple(left), takers != sorted(takers))


def _of_one_model(saved: _Saved, present: _Present) -> VariableMatch | None:
    """The same names but for the model's own in front, which a loaded model may lack."""
    paths = [*(item.path for item in saved), *(each.path for each in present)]
    firsts = {path.partition("/")[0] for path in paths}
    known = _alone([item.path for item in saved])
    counted = _alone([each.path for each in present])
    anew = {counted[words]: known[words] for words in known.keys() & counted.keys()}
    for first in sorted(firsts):
        before = {_without(first, item.path): item for item in saved}
        now = {_without(first, anew.get(each.path, each.path)): each for each in present}
        is_certain = len(before) == len(saved) == len(present) and before.keys() == now.keys()
        if is_certain and all(fits(item, now[path]) for path, item in before.items()):
            takers = [now[path].index for path in before]
            pairs = tuple(zip(before.values(), takers, strict=True))
            return VariableMatch(pairs, reordered=takers != sorted(takers))
    return None


def _but_for_save_counters(saved: _Saved, present: _Present) -> VariableMatch | None:
    others = [each for each in saved if each.path != _SAVE_COUNTER]
    if len(others) == len(saved):
        return None
    known = {each.path for each in others}  # no value is saved of one that stands for its shards
    left = [each for each in present if each.path in known]
    in_turn = list(zip(others, left, strict=False))
    if len(others) != len(left) or not all(is_same(*pair) for pair in in_turn):
        return None
    counters = [each for each in saved if each.path == _SAVE_COUNTER]
    takers = [each for each in present if each.path == _SAVE_COUNTER]
    pairs = (*in_turn, *zip(counters, takers, strict=False))
    found = tuple((item, each.index) for item, each in pairs)
    return VariableMatch(found, tuple(counters[len(takers) :]))


def _latest(saved: _Saved, present: _Present) -> VariableMatch | None:
    count = len(present)
    in_turn = list(zip(saved[-count:], present, strict=False))
    if any(item.owned for item in saved) or not all(is_same(*pair) for pair in in_turn):
        return None
    pairs = tuple((item, each.index) for item, each in in_turn)
    return VariableMatch(pairs, tuple(saved[:-count])) if 0 < count < len(saved) else None


def _without(first: str, path: str) -> str:
    """A path without the name of a model; the optimizer's have it after its own (`adam/m_k`)."""
    owner, _, rest = path.partition("/")
    return rest if owner == first else f"{owner}/{rest.removeprefix(f'{first}_')}"


def _alone(paths: Collection[str]) -> dict[str, str]:
    words = {path: "/".join(_counted(path)[0]) for path in paths}
    once = _once(words.values())
    return {each: path for path, each in words.items() if each in once}


def _once(paths: Iterable[str]) -> set[str]:
    return {path for path, count in Counter(paths).items() if count == 1}


def _renumbered(pairs: Sequence[tuple[SavedVariable, PresentVariable]]) -> bool:
    """Whether names differ in the numbers that a framework counted, and in these alone."""
    groups: dict[tuple[str, ...], list[tuple[_Numbers, _Numbers]]] = {}
    for item, each in pairs:
        words, before = _counted(item.path)
        same, now = _counted(each.path)
        strangers = each.alive and item.owned != each.owned
        if words != same or strangers or not fits(item, each):
            return False
        groups.setdefault(words, []).append((before, now))
    return all(_rises(group) for group in groups.values())


def _rises(group: Sequence[tuple[_Numbers, _Numbers]]) -> bool:
    ordered = sorted(group)
    return all(
        (before < other) == (now < further) and now <= further
        for (before, now), (other, further) in pairwise(ordered)
    )


def _counted(path: str) -> tuple[tuple[str, ...], _Numbers]:
    """The words of a path, and the number after each; 0 where it has none."""
    words: list[str] = []
    numbers: list[int] = []
    for part in _SEPARATORS.split(path):
        if part.isdecimal() and words:
            numbers[-1] = int(part)
        else:
            words.append(part)
            numbers.append(0)
    return tuple(words), tuple(numbers)


def changed(item: SavedVariable, now: PresentVariable) -> ResumeRefused:
    if item.label == now.label:
        return ResumeRefused(
            "The script creates its variables in another order than before, and several are "
            f"named {item.label}: they cannot be told apart.",
            _REMEDY,
        )
    return ResumeRefused(
        f"The model changed: variable {item.index} was {item.label} and is now {now.label}.",
        _REMEDY,
    )


def unique_names(paths: Iterable[str]) -> list[str]:
    """The paths in their order; the second of one path gets `.2` at its end, and so on."""
    names: list[str] = []
    taken: set[str] = set()
    counts: Counter[str] = Counter()
    for path in paths:
        counts[path] += 1
        name = path if counts[path] == 1 else f"{path}.{counts[path]}"
        while name in taken:
            counts[path] += 1
            name = f"{path}.{counts[path]}"
        taken.add(name)
        names.append(name)
    return names
