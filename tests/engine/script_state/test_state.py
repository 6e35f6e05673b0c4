"""What a script's objects hold is saved where it changed, and comes back in place."""

from __future__ import annotations

import builtins
import copy
import dataclasses
import decimal
import io
import os
import random
import sys
import types
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pitstop.engine.script_state.state import ScriptState
from pitstop.engine.values import set_order
from pitstop.engine.values.python_state import Encoder
from tests.engine.script_state.scripted import NoLibrary, begun, carried, process, saved_of

_SOURCE = """
import collections
import dataclasses
import queue
import numpy as np

import contextvars
import functools
import threading

COUNT = 0
CALLS = contextvars.ContextVar("calls")
PLACE = threading.local()

@functools.lru_cache
def cached(value):
    return Rule.seen.append(value)

def note(value):
    CALLS.set((CALLS.get(()), value))
    PLACE.calls = getattr(PLACE, "calls", 0) + 1

def mark(value):
    global LATE
    LATE = [value]
    Rule.late = LATE
    mark.calls = getattr(mark, "calls", 0) + 1

TABLE = {"bad": 0}
KINDS = collections.defaultdict(list)

@dataclasses.dataclass
class Entry:
    epoch: int
    losses: list

class Rule:
    seen = []

    def __init__(self):
        self.best = None
        self.entries = []
        self.weights = np.zeros(4)
        self.limit = 7

    def act(self, value):
        global COUNT
        COUNT += 1
        TABLE["bad"] += 1
        KINDS[value].append(COUNT)
        self.seen.append(value)
        self.best = Entry(COUNT, self.seen)
        self.entries.append(self.best)
        self.weights += value

def counter():
    count = 0
    def act(value):
        nonlocal count
        count += value
        return count
    return act
"""

_GENERATOR = """
class Config:
    noise = 1.0
config = Config()
def batches():
    while True:
        yield config.noise
def soften():
    config.noise /= 2
"""


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], Any]:
    """Runs the script, as another process would; its module."""
    return process(_SOURCE, monkeypatch, tmp_path)


def test_globals_class_attributes_and_objects_come_back(run: Any) -> None:
    script = run()
    rule = script.Rule()
    state = begun(rule=rule)
    rule.act(2)
    rule.act(3)
    other = run()
    twin = other.Rule()
    kept = (twin.entries, twin.weights, other.TABLE, other.KINDS, other.Rule.seen)
    carried(state, begun(rule=twin))
    assert (other.COUNT, other.TABLE, other.KINDS) == (2, {"bad": 2}, {2: [1], 3: [2]})
    assert twin.weights.tolist() == [5.0] * 4
    assert [dataclasses.astuple(each) for each in twin.entries] == [(1, [2, 3]), (2, [2, 3])]
    assert all(type(each) is other.Entry for each in twin.entries)
    now = (twin.entries, twin.weights, other.TABLE, other.KINDS, other.Rule.seen)
    assert all(map(lambda one, two: one is two, kept, now))
    assert twin.best is twin.entries[-1]
    assert twin.best.losses is other.Rule.seen


def test_what_a_function_closes_over_comes_back(run: Any) -> None:
    act = run().counter()
    state = begun(act=act)
    act(5)
    twin = run().counter()
    carried(state, begun(act=twin))
    assert twin(1) == 6


def test_names_that_training_has_made_come_back(run: Any) -> None:
    """A global, an attribute of a class and one of a function: none was there at the begin."""
    script = run()
    state = begun(act=script.mark)
    script.mark(4)
    saved, arrays = saved_of(state)
    other = run()
    assert begun(act=other.mark).restore(saved, arrays, read_ahead=False) == []
    assert other.LATE == [4]
    assert other.Rule.late is other.LATE
    assert other.mark.calls == 1


def test_no_method_is_replaced_by_a_saved_value(run: Any) -> None:
    script = run()
    state = begun(act=script.mark)
    content = {"act": 1, "__init__": 2, "new": 3}
    saved = {"script:Rule": {"kind": "class", "form": "builtins:type", "content": content}}
    assert state.restore(saved, {}, read_ahead=False) == ["script:Rule.act", "script:Rule.__init__"]
    assert callable(script.Rule.act)
    assert script.Rule.new == 3


def test_an_attribute_that_cannot_be_saved_costs_itself_alone(
    run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """But an object that the training has made is not made again without one of them."""
    monkeypatch.setattr(set_order, "is_frozen_again", lambda _: False)
    script = run()
    rule = script.Rule()
    state = begun(rule=rule)
    rule.limit, rule.best = 9, frozenset({1, 2})
    rule.entries.append(script.Entry(1, frozenset({1, 2})))
    saved, arrays = saved_of(state)
    named = " ".join(state.unverified)
    assert "rule.best (frozenset" in named
    assert "rule.entries[0].losses (frozenset" in named
    twin = run().Rule()
    assert begun(rule=twin).restore(saved, arrays, read_ahead=False)
    assert (twin.limit, twin.best, twin.entries) == (9, None, [])


def test_no_new_object_comes_back_without_one_of_its_attributes(run: Any) -> None:
    """The script would fail where it uses it."""
    script = run()
    rule = script.Rule()
    state = begun(rule=rule)
    rule.entries.append(script.Entry(1, [2]))
    rule.entries[0].scale = lambda value: value
    saved, arrays = saved_of(state)
    twin = run().Rule()
    assert begun(rule=twin).restore(saved, arrays, read_ahead=False)
    assert twin.entries == []


def test_what_training_deletes_is_named(run: Any) -> None:
    rule = run().Rule()
    state = begun(rule=rule)
    del rule.limit
    saved_of(state)
    assert state.unverified == ["rule.limit (deleted)"]


def test_values_of_contexts_and_threads_come_back(run: Any) -> None:
    script = run()
    state = begun(act=script.note)
    script.note(1)
    script.note(2)
    other = run()
    carried(state, begun(act=other.note))
    assert other.CALLS.get() == (((), 1), 2)
    assert other.PLACE.calls == 2


def test_what_a_cache_remembers_is_named(run: Any) -> None:
    script = run()
    rule = script.Rule()
    rule.draw = script.cached
    state = begun(rule=rule)
    rule.draw(1)
    saved, _ = saved_of(state)
    assert "rule.draw" in state.unverified[0]
    assert saved["Rule.seen"]


@pytest.mark.parametrize(
    ("present", "saved"),
    [
        ([], [1, [2], {"a": (3, 4.5)}]),
        ({}, {1: "a", (2, 3): [4]}),
        (set(), {1, 2}),
        (deque(maxlen=2), deque([1, 2], maxlen=2)),
        (bytearray(), bytearray(b"ab")),
        (Counter(), Counter("aab")),
        (OrderedDict(), OrderedDict(b=1, a=2)),
        (defaultdict(int), defaultdict(int, a=1)),
        ([], [0.5] * 5000),
    ],
)
def test_collections_are_refilled_in_place(present: Any, saved: Any) -> None:
    one, other = copy.copy(present), present
    state = begun(place=one)
    into = begun(place=other)
    one.extend(saved) if hasattr(one, "extend") else one.update(saved)
    carried(state, into)
    assert other == saved
    assert list(other) == list(saved)


def test_a_new_array_does_not_overwrite_the_old_one(run: Any) -> None:
    first, second = np.arange(3.0), np.arange(3.0)
    one, other = run().Rule(), run().Rule()
    one.weights, other.weights = first, second
    state, into = begun(rule=one, data=first), begun(rule=other, data=second)
    one.weights = one.weights[::-1].copy()
    carried(state, into)
    assert other.weights.tolist() == [2, 1, 0]
    assert second.tolist() == [0, 1, 2]


def test_what_has_not_changed_is_the_scripts(run: Any) -> None:
    one, other = run().Rule(), run().Rule()
    other.limit = 9
    state = begun(rule=one)
    one.act(1)
    carried(state, begun(rule=other))
    assert other.limit == 9


def test_what_was_changed_since_the_begin_becomes_as_it_was(run: Any) -> None:
    other = run().Rule()
    into = begun(rule=other)
    state = begun(rule=run().Rule())
    other.act(1)
    carried(state, into)
    assert (other.entries, other.best) == ([], None)


def test_a_second_cut_behind_a_resume_holds_the_same(run: Any) -> None:
    one, other = run().Rule(), run().Rule()
    state, into = begun(rule=one), begun(rule=other)
    one.act(1)
    carried(state, into)
    other.act(2)
    third = run().Rule()
    carried(into, begun(rule=third))
    assert [each.epoch for each in third.entries] == [1, 2]
    assert type(third).seen == [1, 2]


def test_what_cannot_be_carried_is_named_when_it_changes(run: Any) -> None:
    rule = run().Rule()
    rule.hidden = io.BytesIO()
    state = begun(rule=rule)
    saved_of(state)
    assert state.unverified == []
    rule.hidden.write(b"more")
    saved_of(state)
    assert len(state.unverified) == 1
    assert "rule.hidden" in state.unverified[0]


@pytest.mark.parametrize(
    ("change", "name"),
    [
        (os.chdir, "working directory"),
        (lambda _: np.seterr(over="raise"), "numpy.geterr"),
        (lambda _: setattr(decimal.getcontext(), "prec", 6), "decimal.getcontext"),
        (lambda _: setattr(builtins, "TOTAL", 1.5), "builtins.TOTAL"),
    ],
)
def test_a_setting_of_the_process_is_named_when_it_changes(
    run: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Any, name: str
) -> None:
    monkeypatch.chdir(tmp_path.parent)
    monkeypatch.setattr(builtins, "TOTAL", 0.5, raising=False)
    with np.errstate(), decimal.localcontext():
        state = begun(script=run())
        decimal.Decimal(1) / decimal.Decimal(3)
        saved_of(state)
        assert state.unverified == []
        change(tmp_path)
        saved_of(state)
    assert [name in each for each in state.unverified] == [True]


def test_a_log_that_the_script_has_opened_again_stays_open(run: Any, tmp_path: Path) -> None:
    """The one of the training before is closed, or none where that was not run again."""
    one, other = run().Rule(), run().Rule()
    one.hidden, other.hidden = (tmp_path / "log").open("w"), None
    one.hidden.close()
    state, into = begun(rule=one), begun(rule=other)
    for rule, known in ((one, state), (other, into)):
        rule.hidden = (tmp_path / "log").open("a")
        known.keep_whole({"rule": rule})
    saved, arrays = saved_of(state)
    assert into.restore(saved, arrays, read_ahead=False) == []
    assert not other.hidden.closed
    one.hidden.close()
    other.hidden.close()


def test_a_generator_that_moves_is_named(run: Any) -> None:
    rule = run().Rule()
    rule.source = (number for number in range(9))
    state = begun(rule=rule)
    next(rule.source)
    saved_of(state)
    assert "rule.source" in state.unverified[0]


def test_what_the_code_of_a_generator_reads_ahead_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = process(_GENERATOR, monkeypatch, tmp_path)()
    state = ScriptState(NoLibrary())
    state.begin({"soften": script.soften}, {"input": script.batches()})
    script.soften()
    state.capture(Encoder(""), read_ahead=True)
    assert state.unverified == ["script:config.noise (the input reads it ahead)"]


def test_saved_arrays_are_found_by_a_view_of_them(run: Any) -> None:
    rule = run().Rule()
    rule.weights, rule.order = np.zeros(9), np.arange(9)
    state = begun(rule=rule)
    rule.weights[:] = 1
    saved, _ = saved_of(state)
    assert state.sharing(saved, [rule.order[3:]]) == []
    assert state.sharing(saved, [rule.weights[3:]]) == ["rule.weights"]


@pytest.mark.parametrize(("holds", "named"), [(False, False), (True, True)])
def test_views_are_named_where_something_holds_them(run: Any, *, holds: bool, named: bool) -> None:
    rule = run().Rule()

    def batches() -> Iterator[Any]:
        order = np.arange(12)
        while True:
            part = order[3:6]
            if holds:
                rule.weights, rule.limit = order, part
            yield part

    source = batches()
    state = ScriptState(NoLibrary())
    state.begin({}, {"input": source})
    next(source)
    _, unverified = state.capture_input(Encoder(""))
    assert any("a view of another array" in each for each in unverified) == named


@pytest.mark.parametrize(
    "content",
    [{"act": 1}, {"__class__": 1}, {"limit.real": 1}],
)
def test_a_hostile_state_changes_no_code(run: Any, content: dict[str, Any]) -> None:
    script = run()
    rule = script.Rule()
    into = begun(rule=rule, kind=script.Rule)
    saved = {"Rule": {"kind": "class", "form": "", "content": content}}
    into.restore(saved, {}, read_ahead=False)
    assert callable(script.Rule.act)
    assert type(rule) is script.Rule


@pytest.mark.parametrize("form", ["os:system", "subprocess:Popen", "script:counter", "script:gone"])
def test_objects_are_made_of_the_scripts_classes_alone(run: Any, form: str) -> None:
    run()
    into = begun(place=[])
    saved = {"new": {"kind": "object", "form": form, "content": {"x": 1}}}
    assert into.restore(saved, {}, read_ahead=False) == ["new"]


def test_generators_that_draw_are_known_by_their_names(run: Any) -> None:
    rule = run().Rule()
    rule.limit = [random.Random(1), random.Random(2), random.SystemRandom()]
    state = begun(rule=rule)
    assert not state.moved_generators()
    rule.limit[1].random()
    rule.limit[2].random()
    assert list(state.moved_generators().values()) == rule.limit[1:2]


def test_a_generator_that_another_has_replaced_is_held_no_more(run: Any) -> None:
    rule = run().Rule()
    rule.limit = random.Random(1)
    state = begun(rule=rule)
    rule.limit.random()
    (name,) = state.moved_generators()
    for is_held in (True, False):
        state.capture(Encoder(""), read_ahead=False)
        assert state.is_held(name) is is_held
        rule.limit = random.Random(2)


def test_a_bit_generator_that_the_training_has_made_is_named(run: Any) -> None:
    rule = run().Rule()
    rule.limit = np.random.PCG64(1)
    state = begun(rule=rule)
    rule.limit = np.random.PCG64(2)
    state.capture(Encoder(""), read_ahead=False)
    assert [each.endswith("(random)") for each in state.unverified] == [True]


def test_a_module_that_training_imports_is_named_where_it_holds_what_may_change(
    run: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = run()
    source = "def act():\n    import counted, helped"
    exec(compile(source, script.__file__, "exec"), vars(script))
    state = begun(act=script.act)
    assert saved_of(state)
    for name, content in (("counted", "hits = 0"), ("helped", "RATE = 0.5\ndef help(): pass")):
        module = types.ModuleType(name)
        module.__file__ = str(tmp_path / f"{name}.py")
        exec(content, vars(module))
        monkeypatch.setitem(sys.modules, name, module)
    saved_of(state)
    assert state.unverified == ["counted (imported during the training)"]


def test_numbers_in_a_long_list_are_not_looked_at_one_by_one(run: Any) -> None:
    script = run()
    rule = script.Rule()
    state = begun(rule=rule)

    def calls(length: int) -> int:
        script.Rule.seen[:] = [float(each) for each in range(length)]
        found = Counter[str]()
        state.capture(Encoder(""), read_ahead=False)  # what is met first
        sys.setprofile(lambda _, event, __: found.update([event]))
        try:
            state.capture(Encoder(""), read_ahead=False)
        finally:
            sys.setprofile(None)
        return found["call"]

    assert calls(2000) == calls(1000)
