"""Ways of scripts to keep state: each comes back, or is named."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.engine.script_state.scripted import begun, process, saved_of

_RESTORED = {
    "structured array": """
        import numpy
        replay = numpy.zeros(3, [("n", "i4"), ("state", "f8", (2,))])
        def act(value):
            replay[0]["n"] += value
            replay["state"][1] += 0.5
            return int(replay[0]["n"]), replay["state"].tolist()
    """,
    "ctypes structure": """
        import ctypes
        class Place(ctypes.Structure):
            _fields_ = [("n", ctypes.c_int), ("parts", ctypes.c_double * 2)]
        place = Place()
        def act(value):
            place.n += value
            place.parts[1] += 0.5
            return place.n, place.parts[1]
    """,
    "a chain of dictionaries": """
        import collections
        options = collections.ChainMap({}, {"n": 1})
        def act(value):
            options["n"] += value
            return options["n"], dict(options.parents)
    """,
    "plain objects of the standard library that are made anew": """
        import argparse, collections, types
        kept = {"one": None, "chain": collections.ChainMap({"n": 0})}
        def act(value):
            one = types.SimpleNamespace(n=value, before=kept["one"])
            kept["one"] = argparse.Namespace(one=one, user=collections.UserDict({"n": value}))
            kept["chain"] = kept["chain"].new_child({value: kept["chain"]["n"]})
            kept["chain"]["n"] = value
            return repr(kept["one"]), dict(kept["chain"]), len(kept["chain"].maps)
    """,
    "objects of a class with abstract bases that are made anew": """
        from collections.abc import MutableMapping
        class Table(MutableMapping):
            def __init__(self): self.held = {}
            def __getitem__(self, key): return self.held[key]
            def __setitem__(self, key, value): self.held[key] = value
            def __delitem__(self, key): del self.held[key]
            def __iter__(self): return iter(self.held)
            def __len__(self): return len(self.held)
        tables = []
        def act(value):
            tables.append(Table())
            tables[-1][value] = value
            return [dict(each) for each in tables]
    """,
    "what a logging adapter adds": """
        import logging
        log = logging.LoggerAdapter(logging.getLogger("adapted"), {"n": 0})
        def act(value):
            log.extra["n"] += value
            return log.extra["n"]
    """,
    "collections that count what is done with them": """
        import collections
        class Table(dict):
            done = []
            def __iter__(self): self.done.append("iter"); return super().__iter__()
            def __getitem__(self, key): self.done.append("get"); return super().__getitem__(key)
            def values(self): self.done.append("values"); return super().values()
            def items(self): self.done.append("items"); return super().items()
        class Items(list):
            def __iter__(self): Table.done.append("iter"); return super().__iter__()
            def __getitem__(self, key): Table.done.append("get"); return super().__getitem__(key)
        class Last(collections.deque):
            def __init__(self, *items): Table.done.append("made"); super().__init__(*items)
        table, items, last = Table(a=0), Items(), Last()
        def act(value):
            dict.__setitem__(table, "a", value)
            items.append(value)
            last.append(value)
            return list(Table.done), len(items), sum(last)
    """,
    "a number that is none as a key": """
        import math
        import numpy
        counts = {}
        def act(value):
            for key in (numpy.nan, math.nan):
                counts[key] = counts.get(key, 0) + value
            return list(counts.values())
    """,
    "what a handler of a signal counts": """
        import signal
        hits = {"n": 0}
        def handle(number, frame):
            hits["n"] += 1
        signal.signal(signal.SIGUSR2, handle)
        def act(value):
            signal.raise_signal(signal.SIGUSR2)
            return signal.getsignal(signal.SIGUSR2).__globals__["hits"]["n"]
    """,
    "the order of an ordered dictionary": """
        import collections
        cache = collections.OrderedDict.fromkeys("abcd", 0)
        def act(value):
            before = list(cache.items())
            cache["a"] += value
            cache.move_to_end("a")
            cache.move_to_end("d", last=False)
            cache[value] = value
            return before, list(reversed(cache))
    """,
    "values that equal those of before": """
        class Totals:
            loss, count, low = 0, 1, 0.0
        totals, best, kept = Totals(), {"loss": 0, "seen": [0]}, []
        hits = 0
        def act(value):
            global hits
            before = repr((vars(totals), best, hits, kept))
            totals.loss, totals.count, totals.low = 0.0, True, -0.0
            best["loss"], best["seen"][0], hits = 0.0, False, 0.0
            return before
    """,
    "one value among many": """
        import numpy
        items, pairs = [0] * 10_000, {(each, "a"): 0.5 for each in range(10_000)}
        array, every_second = numpy.zeros(400_000), numpy.zeros(800_000)[::2]
        def act(value):
            items[5001] += value
            pairs[5001, "a"] += value
            array[123_457] += value
            every_second[123_457] += value
            return items[5001], pairs[5001, "a"], array[123_457], every_second[123_457]
    """,
    "a module that the script has made": """
        import types
        options = types.ModuleType("options")
        options.total = 0
        def act(value):
            options.total += value
            return options.total
    """,
    "globals()": """
        def act(value):
            globals()["total"] = globals().get("total", 0) + value
            return globals()["total"]
    """,
    "the order of a set": """
        seen = set()
        def act(value):
            seen.update((len(seen) + each) * 7919 % 10_007 * 4 for each in range(9))
            return list(seen)
    """,
    "set of frozen objects": """
        import dataclasses
        @dataclasses.dataclass(frozen=True)
        class Seen:
            value: int
        seen = set()
        def act(value):
            seen.add(Seen(value))
            return sorted(each.value for each in seen)
    """,
    "objects as keys": """
        class Key:
            def __init__(self, name):
                self.name = name
            def __hash__(self):
                return hash(self.name)
            def __eq__(self, other):
                return self.name == other.name
        seen = {}
        def act(value):
            seen[Key(value)] = value
            return sum(seen.values()), seen[Key(2)]
    """,
    "an attribute on a module of a library": """
        import sys
        import xml.dom
        xml.dom.seen = []
        def act(value):
            sys.bad = getattr(sys, "bad", 0) + value
            xml.dom.seen.append(value)
            return sys.bad, sum(xml.dom.seen)
        if hasattr(sys, "bad"):
            del sys.bad
    """,
    "random generators that are made anew": """
        import random
        import numpy
        class Rule:
            one = numpy.random.default_rng(1)
        rule = Rule()
        def act(value):
            rule.one = rule.one.spawn(1)[0]
            rule.two = [random.Random(value), numpy.random.RandomState(value)]
            rule.three = getattr(rule, "three", None) or numpy.random.Generator(
                numpy.random.Philox(7)
            )
            rule.same = rule.three
            return rule.one.random(), rule.three.random(), rule.same is rule.three
    """,
    "attributes of a random generator of the script's class": """
        import random
        import numpy
        class Counting(random.Random):
            calls = 0
            def random(self):
                self.calls += 1
                return super().random()
        class Logged(numpy.random.RandomState):
            def __init__(self, seed):
                super().__init__(seed)
                self.log = []
        one, other = Counting(1), Logged(1)
        def act(value):
            one.random()
            other.log.append(value)
            return one.calls, other.log
    """,
    "arguments of an exception": """
        class Diverged(Exception):
            pass
        last = Diverged("none")
        def act(value):
            last.args = (value, *last.args)
            last.step = value
            return last.args, last.step
    """,
    "flags that are combined": """
        import enum
        class Part(enum.IntFlag):
            HEAD = 1
            BODY = 2
            TAIL = 4
        class Kind(enum.Flag):
            FLIP = enum.auto()
            CROP = enum.auto()
            TURN = enum.auto()
        class Place:
            parts, kinds = Part.HEAD, Kind(0)
        place, seen = Place(), {Part.HEAD | Part.TAIL: 0}
        def act(value):
            place.parts ^= Part(value)
            place.kinds |= list(Kind)[value % 3]
            seen[place.parts] = value
            return place.parts, place.kinds.value, len(seen), seen[place.parts]
    """,
    "a tree whose nodes know their parents weakly": """
        import weakref
        class Node:
            def __init__(self, value, parent=None):
                self.value, self.children = value, []
                self.parent = parent and weakref.ref(parent)
            def path(self):
                return (*(self.parent().path() if self.parent else ()), self.value)
        root = Node(0)
        last, gone = [root], [weakref.ref(Node(1))]
        def act(value):
            last[0].children.append(Node(value, last[0]))
            last[0] = last[0].children[-1]
            gone.append(weakref.ref(Node(value)))
            return last[0].path(), last[0].parent().children == last, [each() for each in gone]
    """,
    "functions from a text": """
        total, seen = {"n": 0}, []
        exec("def add(value):\\n    global last\\n    total['n'] += value\\n    last = value")
        note = eval("lambda value: seen.append(value) or len(seen)")
        options = {}
        exec("n = 0\\ndef count():\\n    global n\\n    n += 1\\n    return n", options)
        def act(value):
            add(value)
            return total["n"], last, note(value), options["count"]()
    """,
    "settings in a file that is run": """
        import pathlib
        import runpy
        path = pathlib.Path(__file__).with_name("settings.py")
        path.write_text(
            "n, seen = 0, []\\n"
            "class Rule:\\n"
            "    hits = 0\\n"
            "    def act(self, value):\\n"
            "        global n\\n"
            "        n += value\\n"
            "        Rule.hits += 1\\n"
            "        seen.append(value)\\n"
            "        return n, Rule.hits, len(seen)\\n"
        )
        rule = runpy.run_path(str(path))["Rule"]()
        def act(value):
            return rule.act(value)
    """,
    "a module that is not registered": """
        import importlib.util
        import pathlib
        path = pathlib.Path(__file__).with_name("rules.py")
        path.write_text(
            "n = 0\\nclass Rule:\\n    hits = 0\\n    def act(self, value):\\n"
            "        global n\\n        n += value\\n        Rule.hits += 1\\n"
            "        return n, Rule.hits\\n"
        )
        spec = importlib.util.spec_from_file_location("rules", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        rules = [module.Rule()]
        def act(value):
            return rules[0].act(value)
    """,
    "a handler and a filter of a logger": """
        import logging
        class Seen(logging.Handler):
            def __init__(self):
                super().__init__()
                self.seen = []
            def emit(self, record):
                self.seen.append(record.getMessage())
        class Few(logging.Filter):
            count = 0
            def filter(self, record):
                self.count += 1
                return self.count % 2 == 1
        log = logging.getLogger("script.seen")
        log.handlers[:], log.filters[:] = [Seen()], [Few()]
        def act(value):
            logging.getLogger("script.seen").warning("%d", value)
            return log.handlers[0].seen, log.filters[0].count
    """,
}
_NAMED = {
    "a weak set, whose objects a checkpoint would keep": """
        import weakref
        class Weights: pass
        kept, known = [], weakref.WeakSet()
        def act(value):
            kept.append(Weights())
            known.add(kept[-1])
            del kept[:-2]
            return len(known)
    """,
    "a list with slots": """
        class Items(list):
            __slots__ = ("total",)
        items = Items()
        items.total = 0
        def act(value):
            items.append(value)
            items.total += value
            return items.total
    """,
    "a dictionary of a library that is made anew": """
        import http.cookies
        jar = {}
        def act(value):
            jar[value] = http.cookies.Morsel()
            return [each.OutputString() for each in jar.values()]
    """,
    "a new list with what cannot be saved": """
        class Place:
            best = [0, ...]
        place = Place()
        def act(value):
            place.best = [place.best[0] + value, ...]
            return place.best
    """,
    "what is to be called at the end": """
        import atexit
        def leave(value): pass
        def act(value):
            atexit.register(leave, value)
            atexit.unregister(leave) if value == 5 else None
    """,
    "what is to be called when an object goes": """
        import weakref
        class Weights: pass
        kept, gone = [], []
        def act(value):
            kept.append(Weights())
            weakref.finalize(kept[-1], gone.append, value).atexit = False
            del kept[:-2]
            return gone
    """,
    "a class from a text that is in no module": """
        options = {}
        exec("n = 0\\nclass Rule:\\n    def act(self):\\n        return n", options)
        rule = options["Rule"]()
        def act(value):
            options["n"] += value
            return rule.act()
    """,
    "a class without functions from a text that is in no module": """
        options = {}
        exec("class Rule:\\n    n = 0\\ndef act():\\n    Rule.n += 1\\n    return Rule.n", options)
        def act(value):
            return options["act"]()
    """,
    "a method of a class that is replaced": """
        class Rule:
            def rate(self):
                return 1
        def slow(self):
            return 2
        rule = Rule()
        def act(value):
            Rule.rate = slow
            return rule.rate()
    """,
    "a property and a static method that are replaced": """
        class Rule:
            rate = property(lambda self: 1)
            @staticmethod
            def scale():
                return 1
        def slow(*_):
            return 2
        def act(value):
            Rule.rate, Rule.scale = property(slow), staticmethod(slow)
            return Rule().rate, Rule.scale()
    """,
    "a coroutine": """
        import types
        @types.coroutine
        def pause():
            return (yield)
        async def run():
            count = 0
            while True:
                count += await pause()
        going = run()
        going.send(None)
        def act(value):
            going.send(value)
            return going.cr_frame.f_locals["count"]
    """,
    "a mask": """
        import numpy
        masked = numpy.ma.masked_array(numpy.arange(9.0), mask=False)
        def act(value):
            masked[value] = numpy.ma.masked
            return float(masked.sum())
    """,
    "a signal handler": """
        import signal
        def one(number, frame):
            pass
        def other(number, frame):
            pass
        signal.signal(signal.SIGUSR2, one)
        def act(value):
            signal.signal(signal.SIGUSR2, other)
            return signal.getsignal(signal.SIGUSR2).__name__
    """,
    "a context in which code runs": """
        import contextvars
        scale = contextvars.ContextVar("scale", default=1)
        context = contextvars.copy_context()
        def shrink(value):
            scale.set(scale.get() * value)
            return scale.get()
        def act(value):
            return context.run(shrink, value)
    """,
    "a compressor": """
        import zlib
        packer = zlib.compressobj()
        def act(value):
            return packer.compress(bytes([value])) + packer.flush(zlib.Z_SYNC_FLUSH)
    """,
    "a database in memory": """
        import sqlite3
        base = sqlite3.connect(":memory:")
        base.execute("create table seen (value int)")
        def act(value):
            base.execute("insert into seen values (?)", (value,))
            return base.execute("select sum(value) from seen").fetchone()
    """,
    "addresses of objects in a tuple": """
        class Layer:
            pass
        layer = Layer()
        last = [()]
        def act(value):
            is_same = last[0] == (id(layer), 1)
            last[0] = (id(layer), 1)
            return is_same
    """,
    "hashes of objects": """
        class Layer:
            pass
        layer = Layer()
        norms = {}
        def act(value):
            norms[hash(layer)] = norms.get(hash(layer), 0) + value
            return norms[hash(layer)]
    """,
    "addresses of objects as keys": """
        class Layer:
            pass
        layer = Layer()
        norms = {}
        def act(value):
            norms[id(layer)] = norms.get(id(layer), 0) + value
            return norms[id(layer)]
    """,
    "views": """
        import numpy
        place = {}
        def act(value):
            if not place:
                place["all"] = numpy.zeros(4)
                place["part"] = place["all"][1:]
            place["part"][0] += value
            return place["all"].tolist()
    """,
    "another class": """
        class Warm:
            rate = 1
        class Cold(Warm):
            rate = 2
        now = Warm()
        def act(value):
            now.__class__ = Cold
            return now.rate
    """,
    "code that a function gets from another": """
        def slow(value):
            return value
        def fast(value):
            return 2 * value
        def act(value):
            slow.__code__ = fast.__code__
            return slow(value)
    """,
    "defaults of a function": """
        def scaled(value, factor=1, *, offset=0):
            return value * factor + offset
        def act(value):
            scaled.__defaults__ = (value,)
            scaled.__kwdefaults__["offset"] += 1
            return scaled(value)
    """,
    "a value that a library has itself": """
        import math
        first = math.tau
        def act(value):
            math.tau = math.tau + value
            return math.tau - first
    """,
    "a function that a library has itself": """
        import colorsys
        first = colorsys.rgb_to_yiq
        def act(value):
            colorsys.rgb_to_yiq = lambda *parts: value
            return colorsys.rgb_to_yiq(value, 1, 1)
    """,
    "a queue of C": """
        import queue
        waiting = queue.SimpleQueue()
        def act(value):
            waiting.put(value)
            return waiting.qsize()
    """,
    "an object of a library with a lock": """
        import sched
        plan = sched.scheduler()
        def act(value):
            plan.enter(value, 1, print)
            return len(plan.queue)
    """,
    "objects in a long list": """
        class Item:
            hits = 0
        items = [Item() for _ in range(5000)]
        def act(value):
            items[-1].hits += value
            return items[-1].hits
    """,
}


@pytest.fixture(autouse=True)
def handler_put_back() -> Iterator[None]:
    before = signal.getsignal(signal.SIGUSR2)
    yield
    signal.signal(signal.SIGUSR2, before)


def _script(source: str) -> str:
    return "\n".join(line.removeprefix(" " * 8) for line in source.splitlines())


@pytest.mark.parametrize("idiom", _RESTORED)
def test_it_comes_back(idiom: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected, found, told = _run(_RESTORED[idiom], monkeypatch, tmp_path)
    assert (found, told) == (expected, [])


@pytest.mark.parametrize("idiom", _NAMED)
def test_it_is_named(idiom: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert _run(_NAMED[idiom], monkeypatch, tmp_path)[2]


def _run(
    source: str, monkeypatch: pytest.MonkeyPatch, folder: Path
) -> tuple[list[Any], list[Any], list[str]]:
    """What the last steps give without and with an interruption, and what was told."""
    again = process(_script(source), monkeypatch, folder)
    script = again()
    expected = [script.act(value) for value in (2, 3, 4, 5)][2:]
    script = again()
    state = begun(act=script.act)
    for value in (2, 3):
        script.act(value)
    saved, arrays = saved_of(state)
    script = again()
    lost = begun(act=script.act).restore(saved, arrays, read_ahead=False)
    return expected, [script.act(value) for value in (4, 5)], state.unverified + lost


_STAYS = {
    "what nobody has fed": """
        import sqlite3
        import zlib
        packer, base = zlib.compressobj(), sqlite3.connect(":memory:")
        def act(value):
            return packer is None, base is None
    """,
    "what a library changes in a module of its own": """
        import sys
        def act(value):
            sys.path.append("somewhere")
            return sys.path.pop()
    """,
    "an attribute of a library, set to what it was": """
        import math
        def act(value):
            math.tau = 6.0
            return math.tau
        math.tau = 6.0
    """,
    "numbers of other things as keys": """
        counts = {}
        def act(value):
            counts[value << 33] = id(counts) > 0
            return len(counts)
    """,
}


@pytest.mark.parametrize("idiom", _STAYS)
def test_it_is_not_named(idiom: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected, found, told = _run(_STAYS[idiom], monkeypatch, tmp_path)
    assert (found, told) == (expected, [])
