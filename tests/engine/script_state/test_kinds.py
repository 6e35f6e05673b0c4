"""Kinds of objects that a script holds: each comes back, or costs itself alone."""

from __future__ import annotations

import csv
import ctypes
import functools
import hashlib
import io
import itertools
import json
import mmap
import multiprocessing
import optparse
import queue
import threading
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import numpy as np
import pytest

from pitstop.engine.script_state.state import ScriptState
from pitstop.engine.values.python_state import Encoder
from tests.engine.script_state.scripted import NoLibrary, begun, carried, process, saved_of

_SOURCE = """
import abc
import array
import collections
import contextlib
import dataclasses
import enum
import fractions
import functools
import itertools
import multiprocessing
import pathlib
import queue
import threading
import typing
import weakref
import numpy

class Phase(enum.Enum):
    WARM = 1
    MAIN = 2

class Span(typing.NamedTuple):
    low: float
    phase: Phase

Counts = collections.namedtuple("Counts", "up seen")

@dataclasses.dataclass(frozen=True, slots=True)
class Reading:
    step: int
    span: Span

class Base(abc.ABC):
    pass

class Pair(tuple):
    __slots__ = ()

class Marked(tuple):
    pass

class Last(Base, typing.Generic[typing.TypeVar("T")]):
    reading = None

class Log(list):
    def __init__(self):
        super().__init__()
        self.total = 0

class Counting(type):
    made = []
    def __call__(cls, *given):
        cls.made.append(cls.__name__)
        return super().__call__(*given)

class Counted(metaclass=Counting):
    pass

class Silent:
    count = 0
    def __init__(self):
        self.count = 0
    def __getattr__(self, name):
        raise KeyError(name)
    @property
    def never(self):
        raise RuntimeError
    __hash__ = None

seen = []

@contextlib.contextmanager
def noted(value):
    seen.append(value)
    yield len(seen)

@functools.singledispatch
def weight(value):
    return len(seen)

class Drawn:
    def __init__(self, seen):
        self.seen = seen
    def __call__(self, value):
        self.seen.append(value)
        return value

class Only:
    made = None
    def __new__(cls):
        if cls.made is None:
            cls.made = super().__new__(cls)
            cls.made.count = 0
        return cls.made

class Held:
    class Inside:
        hits = 0

    def hit(self):
        with noted("a"):
            type(self).Inside.hits += 1
            noted.last = self.Inside.hits * weight(self)

@functools.singledispatch
def rate(value):
    return 0.1

class Pretender:
    @property
    def __class__(self):
        raise RuntimeError("outside of the context")

class Field:
    def __init__(self):
        self.held = {}
    def __get__(self, holder, kind=None):
        return self.held.get(holder is None, 0)
    def __set__(self, holder, value):
        self.held[False] = value

sets = []

class Rule:
    level = Field()

    @property
    def share_of(self):
        return len(self.log)

    @share_of.setter
    def share_of(self, value):
        sets.append(value)

    @functools.cached_property
    def first(self):
        sets.append(0)

    def __init__(self):
        self.slots = {phase: [] for phase in Phase}
        self.phase = Phase.WARM
        self.counts = Counts(0, [])
        self.pair = Pair((0, self.counts.seen))
        self.last = None
        self.log = Log()
        self.silent = Silent()
        self.where = pathlib.Path("first")
        self.share = fractions.Fraction(1, 2)
        self.done = frozenset()
        self.turns = itertools.cycle("abc")
        self.numbers = itertools.count(10, 3)
        self.order = iter([5, 4, 3, 2, 1])
        self.table = {"act": self.act, "calls": 0}
        self.losses = array.array("d", [0.5])
        self.many = array.array("i", range(9000))
        self.made = None
        self.urgent = queue.PriorityQueue()
        self.epoch = multiprocessing.Value("d", 0.5)
        self.cells = multiprocessing.Array("i", 3)
        self.known = weakref.WeakKeyDictionary({self.act.__func__: [0]})
        self.queues = collections.defaultdict(collections.Counter)
        self.chosen = self.log
        self.good = threading.Event()
        self.note = functools.partial(list.append, [])
        self.view = memoryview(array.array("i", range(3)))
        self.drawn = numpy.vectorize(Drawn([1]), otypes=[float])
        self.turned = numpy.frompyfunc(Drawn([2]), 1, 1)
        self.only = None

    def act(self, value):
        self.phase = Phase.MAIN
        self.slots[self.phase].append(value)
        self.counts = Counts(self.counts.up + 1, [*self.counts.seen, value])
        self.pair = Pair((value, self.counts.seen))
        self.last = Last()
        self.last.reading = Reading(value, Span(value / 2, self.phase))
        self.log.append(value)
        self.log.total += value
        self.silent.count += 1
        self.where = pathlib.Path("best") / str(value)
        self.share /= value
        self.done |= {value}
        self.table["calls"] += 1
        self.queues[value]["n"] += 1
        self.losses.append(value / 4)
        self.many[0] += 1
        self.urgent.put((-value, "item"))
        self.epoch.value += value
        self.known[type(self).act].append(value)
        self.cells[1] += value
        self.made = array.array("i", [value])
        self.chosen = self.slots[self.phase]
        self.good.set()
        self.note(value)
        self.view[1] = value
        Counted()
        self.level += value
        self.share_of = value
        self.drawn([value])
        self.turned([value, value])
        self.only = Only()
        self.only.count += value
        return next(self.turns), next(self.numbers), next(self.order)
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Any]:
    """Runs the script, as another process would; its module."""
    return process(_SOURCE, monkeypatch, tmp_path)


def test_each_kind_comes_back(run: Any) -> None:
    rule = run().Rule()
    state = begun(rule=rule)
    for value in (2, 3, 4):
        rule.act(value)
    script = run()
    twin = script.Rule()
    kept = (twin.slots, twin.log, twin.silent, twin.table)
    carried(state, begun(rule=twin))
    now = (twin.slots, twin.log, twin.silent, twin.table)
    assert all(map(lambda one, two: one is two, kept, now))
    assert twin.chosen is twin.slots[script.Phase.MAIN]
    assert twin.phase is script.Phase.MAIN
    assert twin.slots == {script.Phase.WARM: [], script.Phase.MAIN: [2, 3, 4]}
    assert twin.counts == script.Counts(3, [2, 3, 4])
    assert twin.pair == (4, [2, 3, 4])
    assert type(twin.pair) is script.Pair
    assert twin.pair[1] is twin.counts.seen
    assert type(twin.counts) is script.Counts
    assert twin.last.reading == script.Reading(4, script.Span(2.0, script.Phase.MAIN))
    assert (list(twin.log), twin.log.total, twin.silent.count) == ([2, 3, 4], 9, 3)
    assert (twin.where, twin.share, twin.done) == (rule.where, rule.share, {2, 3, 4})
    assert twin.table["calls"] == 3
    assert (twin.losses, twin.made, twin.many) == (rule.losses, rule.made, rule.many)
    assert (twin.made.typecode, twin.many[0]) == ("i", 3)
    assert [twin.urgent.get_nowait() for _ in range(3)] == [
        (-4, "item"),
        (-3, "item"),
        (-2, "item"),
    ]
    assert (twin.epoch.value, twin.cells[:]) == (9.5, [0, 9, 0])
    assert twin.known[script.Rule.act] == [0, 2, 3, 4]
    assert twin.good.is_set()
    assert (twin.note.args[0], twin.view.tolist()) == ([2, 3, 4], [0, 4, 2])
    assert (twin.level, script.sets) == (9, [2, 3, 4])
    assert script.Counting.made == ["Counted"] * 3
    assert twin.drawn.pyfunc.seen == [1, 2, 3, 4]
    assert list(twin.turned([5])) == [5]
    assert (twin.only.count, twin.only) == (9, script.Only())
    assert twin.queues == {2: {"n": 1}, 3: {"n": 1}, 4: {"n": 1}}
    assert twin.queues["new"]["n"] == 0
    assert twin.act(5) == rule.act(5) == ("a", 19, 2)


def test_what_cannot_be_looked_at_costs_itself_alone(run: Any) -> None:
    script = run()
    rule = script.Rule()
    rule.pretender = script.Pretender()
    state = begun(rule=rule)
    rule.act(2)
    saved, arrays = saved_of(state)
    assert [name.partition(" ")[0] for name in state.unverified] == ["rule.pretender"]
    twin = run().Rule()
    begun(rule=twin).restore(saved, arrays, read_ahead=False)
    assert twin.log == [2]


def test_an_object_that_is_gone_leaves_what_is_there_and_is_named(run: Any) -> None:
    one, other = run().Rule(), run().Rule()
    one.chosen, one.log = np.zeros(3), np.ones(3)
    other.chosen, other.log = np.zeros(3), np.ones(3)
    state, into = begun(rule=one), begun(rule=other)
    one.chosen, one.log = one.log, one.chosen
    saved, arrays = saved_of(state)
    other.log = there = [7]
    missing = into.restore(saved, arrays, read_ahead=False)
    assert other.log is not None
    assert [name.partition(" ")[0] for name in missing] == ["rule.chosen"]
    assert there == [7]


def test_arrays_that_are_replaced_before_a_restoration_come_back(run: Any) -> None:
    one = run().Rule()
    one.last = np.arange(3.0)
    state = begun(rule=one)
    other = run().Rule()
    other.last = np.arange(3.0)
    into = begun(rule=other)
    one.act(1)
    one.last = None
    one.last = np.arange(3.0)
    saved, arrays = saved_of(state)
    other.last = np.full(3, 9.0)
    assert into.restore(saved, arrays, read_ahead=False) == []
    assert other.last.tolist() == [0, 1, 2]


def test_another_array_under_the_name_of_a_new_one_is_not_written_over(run: Any) -> None:
    one, other = run().Rule(), run().Rule()
    state, into = begun(rule=one), begun(rule=other)
    one.last = np.arange(5.0)
    other.last = np.arange(2.0)
    present = other.last
    carried(state, into)
    assert other.last.tolist() == [0, 1, 2, 3, 4]
    assert present.tolist() == [0, 1]


def test_code_in_a_collection_stays_and_is_named_where_it_is_another(run: Any) -> None:
    script = run()
    rule = script.Rule()
    state = begun(rule=rule)
    rule.table["calls"] = 5
    saved_of(state)
    assert state.unverified == []
    rule.table["act"] = script.Log
    saved_of(state)
    assert "rule.table" in state.unverified[0]


def test_a_new_collection_of_the_scripts_own_class_is_named(run: Any) -> None:
    script = run()
    rule = script.Rule()
    state = begun(rule=rule)
    rule.last = script.Log()
    saved_of(state)
    assert "rule.last" in state.unverified[0]


def _begun(words: list[str]) -> Iterator[str]:
    """A generator that has given a word, and has no variable that tells which."""

    def each() -> Iterator[str]:
        while True:
            yield from words

    generator = each()
    next(generator)
    return generator


@pytest.mark.parametrize(
    "make",
    [
        lambda: itertools.chain([1, 2], [3]),
        lambda: filter(lambda number: number > 2, range(9)),
        lambda: zip(range(9), range(9), strict=True),
        lambda: itertools.cycle(number for number in range(9)),
        lambda: iter(lambda: 3, 4),
        lambda: _begun(list("abc")),
        lambda: csv.reader(["a,b", "c,d"]),
        lambda: io.TextIOWrapper(io.BytesIO(b"a\nb\nc")),
        lambda: np.arange(9).flat,
    ],
)
def test_other_iterators_that_move_are_named(run: Any, make: Any) -> None:
    rule = run().Rule()
    rule.last = make()
    state = begun(rule=rule)
    saved_of(state)
    next(rule.last)
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


@pytest.mark.parametrize("of_whom", ["keys", "values", "members"])
def test_a_weak_collection_with_another_member_is_named(run: Any, of_whom: str) -> None:
    rule, kinds = run().Rule(), {"keys": WeakKeyDictionary, "values": WeakValueDictionary}
    rule.last = weak = kinds[of_whom]() if of_whom in kinds else WeakSet()
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    weak.add(run) if of_whom == "members" else weak.update({run: run})
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


def test_an_object_of_a_library_with_a_lambda_in_it_is_named_when_it_changes(run: Any) -> None:
    rule = run().Rule()
    rule.last = optparse.Values({"scale": lambda value: value * 2})
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    rule.last.seen = 1
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


def test_an_object_of_a_library_with_a_function_whose_memory_changes_is_named(run: Any) -> None:
    rule, seen = run().Rule(), [1]
    rule.last = optparse.Values({"scale": lambda value: value * seen[-1]})
    state = begun(rule=rule)
    seen.append(2)
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


def test_shared_memory_that_is_new_is_named(run: Any) -> None:
    rule = run().Rule()
    state = begun(rule=rule)
    rule.last = multiprocessing.RawArray("d", 3)
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


def test_a_queue_between_threads_is_left_to_them(run: Any) -> None:
    rules, over = [run().Rule(), run().Rule()], threading.Event()
    for rule in rules:
        rule.last = queue.Queue(2)
    state, into = begun(rule=rules[0]), begun(rule=rules[1])
    rules[0].last.put(3)
    carried(state, into)
    assert rules[1].last.get_nowait() == 3
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        carried(state, into)
    finally:
        over.set()
        thread.join()
    assert rules[1].last.empty()


def test_a_flag_between_threads_is_named_when_it_changes(run: Any) -> None:
    rule, over = run().Rule(), threading.Event()
    thread = threading.Thread(target=over.wait)
    thread.start()
    try:
        state = begun(rule=rule)
        saved_of(state)
        assert state.unverified == []
        rule.good.set()
        saved_of(state)
        assert any("rule.good" in name for name in state.unverified)
    finally:
        over.set()
        thread.join()


def test_a_function_with_other_arguments_is_named(run: Any) -> None:
    rule = run().Rule()
    rule.last = functools.partial(round, ndigits=2)
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    rule.last = functools.partial(round, ndigits=3)
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


@pytest.mark.parametrize(
    "make", [threading.Semaphore, multiprocessing.Semaphore, multiprocessing.BoundedSemaphore]
)
def test_a_semaphore_is_named_when_it_changes(run: Any, make: Any) -> None:
    rule = run().Rule()
    rule.last = make(3)
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    rule.last.acquire()
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


def test_a_flag_that_processes_share_is_named_when_it_changes(run: Any) -> None:
    rule = run().Rule()
    rule.last = multiprocessing.Event()
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    rule.last.set()
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


@pytest.mark.parametrize("make", [hashlib.sha256, lambda: mmap.mmap(-1, 8)])
def test_bytes_that_a_library_keeps_are_named_when_they_change(run: Any, make: Any) -> None:
    rule = run().Rule()
    rule.last = make()
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    (rule.last.update if make is hashlib.sha256 else rule.last.write)(b"more")
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


@pytest.mark.parametrize("mode", ["r", "rb"])
def test_a_file_that_is_read_comes_back_to_its_place(run: Any, tmp_path: Path, mode: str) -> None:
    path = tmp_path / "rates.txt"
    path.write_text("0.1\n0.2\n0.3\n")
    rules = [run().Rule(), run().Rule()]
    with path.open(mode) as one, path.open(mode) as other:
        rules[0].last, rules[1].last = one, other
        state, into = begun(rule=rules[0]), begun(rule=rules[1])
        one.readline()
        other.seek(8)
        carried(state, into)
        assert other.readlines() == one.readlines() != []


async def _rates() -> AsyncIterator[float]:
    for rate in (0.1, 0.2, 0.3):
        yield rate


def _draw(rates: AsyncIterator[float]) -> None:
    with suppress(StopIteration):
        rates.__anext__().__await__().send(None)


def _finish(promised: Future[float]) -> None:
    promised.set_result(0.5)


@pytest.mark.parametrize(("make", "move"), [(_rates, _draw), (Future, _finish)])
def test_what_comes_later_is_named(
    run: Any, make: Callable[[], Any], move: Callable[[Any], None]
) -> None:
    rule = run().Rule()
    rule.last = make()
    state = begun(rule=rule)
    saved_of(state)
    move(rule.last)
    saved_of(state)
    assert any("rule.last" in name for name in state.unverified)


def test_what_another_process_keeps_is_named_when_it_changes(run: Any) -> None:
    rule = run().Rule()
    with multiprocessing.get_context("spawn").Manager() as manager:
        rule.last = manager.dict(seen=0)
        state = begun(rule=rule)
        saved_of(state)
        assert state.unverified == []
        rule.last["seen"] += 1
        saved_of(state)
        assert any("rule.last" in name for name in state.unverified)


def test_a_function_that_gets_another_variant_is_named(run: Any) -> None:
    script = run()
    rule = script.Rule()
    rule.last = script.rate
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    script.rate.register(float, script.Rule.act)
    saved_of(state)
    assert any("last.registry" in name for name in state.unverified)


def test_pointers_are_never_written(run: Any) -> None:
    rule = run().Rule()
    rule.last = ctypes.py_object(rule.log)
    state = begun(rule=rule)
    rule.last.value = rule.table
    saved, _ = saved_of(state)
    assert "memory" not in json.dumps(saved)


def test_what_a_bound_method_of_a_list_or_a_weak_reference_leads_to_comes_back(run: Any) -> None:
    rules = [run().Rule(), run().Rule()]
    held = [rule.silent for rule in rules]
    for rule in rules:
        rule.last, rule.table = rule.log.append, {}
        rule.chosen = weakref.ref(rule.silent)
        del rule.silent, rule.log
    state, into = begun(rule=rules[0]), begun(rule=rules[1])
    rules[0].last(5)
    rules[0].chosen().count = 4
    carried(state, into)
    assert rules[1].last.__self__ == [5]
    assert held[1].count == 4


def test_a_generator_that_stands_still_is_not_named(run: Any) -> None:
    rule = run().Rule()
    rule.last = _begun(list("abc"))
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []


def test_what_is_behind_a_decorator_of_a_library_and_in_a_class_of_a_class_comes_back(
    run: Any,
) -> None:
    first = run()
    held = first.Held()
    state = begun(held=held)
    held.hit()
    saved, arrays = saved_of(state)
    second = run()
    into = begun(held=second.Held())
    assert (state.unverified, into.restore(saved, arrays, read_ahead=False)) == ([], [])
    assert (second.seen, second.Held.Inside.hits, second.noted.last) == (["a"], 1, 1)


def test_attributes_of_a_tuple_are_not_lost_without_a_word(run: Any) -> None:
    one = run().Rule()
    state = begun(rule=one)
    one.last = run().Marked((1, 2))
    one.last.epoch = 3
    one.last = {"mark": one.last}
    _, _ = saved_of(state)
    assert state.unverified != []


@pytest.mark.parametrize("size", [3, 4])
def test_an_array_that_cannot_be_written_gives_its_place_to_the_saved_one(
    run: Any, size: int
) -> None:
    """Such as `np.asarray` of a tensor, in the list of a metric that a first step has filled."""
    one, other = run().Rule(), run().Rule()
    state, into = begun(rule=one), begun(rule=other)
    one.table["seen"], other.table["seen"] = [np.full(3, 1.0)], [np.full(size, 2.0)]
    one.table["seen"][0].flags.writeable = other.table["seen"][0].flags.writeable = False
    carried(state, into)
    assert other.table["seen"][0].tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(("value", "lost"), [(1.0, []), (2.0, ["x (not as it was)"])])
def test_an_array_that_cannot_be_written_is_restored_where_it_is_the_same(
    value: float, lost: list[str]
) -> None:
    """Such as an `np.memmap` of a file of features."""
    state, into = ScriptState(NoLibrary()), ScriptState(NoLibrary())
    features = {state: np.full(3, 1.0), into: np.full(3, value)}
    for each, array in features.items():
        array.flags.writeable = False
        each.begin({}, {"x": array})
    encoder = Encoder("")
    saved, unverified = state.capture_input(encoder)
    arrays = {name: memoryview(each.tobytes()) for name, each in encoder.arrays.items()}
    assert (unverified, into.restore_input(saved, arrays)) == ([], lost)
