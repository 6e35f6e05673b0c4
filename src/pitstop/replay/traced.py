"""What the graphs of functions tell: which ones train, and which ones cannot be repeated."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from pitstop.engine.frames import place_on_stack
from pitstop.replay.calls import Call, FunctionCall, MethodCall
from pitstop.replay.live_loop import LiveLoop
from pitstop.tensorflow import devices, graph_digest, private, randomness
from pitstop.tensorflow.pipelines import drawn_inputs
from pitstop.tensorflow.traced_ops import OpKind

_DRAWS_RANDOM = (
    "{} uses a hidden random stream ({} {}); use a Keras layer, keras.random with a "
    f"SeedGenerator, or tf.random.Generator (with Keras 2, {randomness.WITH_KERAS_2})"
)
_CHANGES_STATE = (
    "{} changes state that is not a variable ({} {}) and is not restored; do that outside the "
    "function"
)
_DRAWS_INPUT = "{} reads its own input ({})"
_UNCERTAIN = "from several iterators, or a varying number of elements"
_NOT_COUNTED = "in a loop, a branch, an inner function, or not from an argument"
_BEFORE = "in a graph that was traced before the call"
_EAGER = "{} runs eagerly: changes to Python state are not seen; compile without run_eagerly"


class _Running(threading.local):
    call: Call | None = None


@dataclass
class _Known:
    """What is known of a function, by call and number of traces: graphs are dear to look at."""

    doubt: str = ""
    unrepeatable: str = ""
    called: set[str] = field(default_factory=set)
    trains: dict[tuple[str, int], bool] = field(default_factory=dict)
    looked_at: set[tuple[str, int]] = field(default_factory=set)
    drawn: dict[int, int | None] = field(default_factory=dict)


class TracedFunctions:
    """The functions of this process, as far as they have been traced."""

    def __init__(self) -> None:
        self._running = _Running()
        self._latest: Call | None = None
        self._known: WeakKeyDictionary[Any, _Known] = WeakKeyDictionary()
        self._drawn: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()
        self._disorder = ""  # of the inputs that the script itself draws from

    def _of(self, call: Call) -> _Known:
        known = self._known.get(call.owner)
        if known is None:
            known = self._known[call.owner] = _Known()
        return known

    @contextmanager
    def running(self, call: Call) -> Iterator[None]:
        self._running.call = self._latest = call
        try:
            yield
        finally:
            self._running.call = self._latest = None

    def called(self, call: Call) -> set[str]:
        return self._of(call).called

    def _traced_for(self) -> Call | None:
        """The call that something is traced for, also in a strategy's own threads."""
        return self._running.call or self._latest

    def random_op(self, op_type: str) -> None:
        self._doubt(_DRAWS_RANDOM, op_type)

    def state_op(self, op_type: str) -> None:
        """An op is traced that changes state outside of variables: in Python, or in a table."""
        self._doubt(_CHANGES_STATE, op_type)

    def _doubt(self, message: str, op_type: str) -> None:
        call = self._traced_for()
        if call is not None and not self._of(call).doubt:
            self._of(call).doubt = message.format(call.name, op_type, f"at {place_on_stack()}")

    def input_op(self, op_type: str) -> None:
        call = self._traced_for()
        if call is not None and not call.feeds_itself and not self._of(call).unrepeatable:
            self._of(call).unrepeatable = _DRAWS_INPUT.format(call.name, op_type)

    def reads(self, iterator: Any) -> None:
        """The script draws from it outside of any function, for the first time."""
        self._disorder = self._disorder or drawn_inputs.disorder_of(iterator)

    def draws(self, iterator: Any) -> None:
        call = self._traced_for()
        if call is None or call.feeds_itself or isinstance(call, MethodCall):
            return  # what a method draws from by itself, it has made by itself
        graph = drawn_inputs.drawing_graph(iterator)
        if graph is None:
            self.input_op(_NOT_COUNTED)
            return
        # By what tells iterators apart: a tensor would keep its graph.
        self._drawn.setdefault(graph, []).append(id(drawn_inputs.parts_of(iterator)[0]))

    def drawn_by(self, call: Call) -> int | None:
        """How many elements a call draws from its only iterator; None where that is not certain."""
        if not self._drawn or call.feeds_itself or not isinstance(call, FunctionCall):
            return 0
        known, traces = self._of(call).drawn, call.traces()
        if traces not in known:
            known[traces] = self._count(call.owner)
        elements = known[traces]
        return elements if not elements or len(call.iterators()) == 1 else None

    def _count(self, function: Any) -> int | None:
        drawn = [self._drawn.get(graph, []) for graph in private.graphs(function)]
        counts = {len(each) if len(set(each)) < 2 else None for each in drawn}
        return counts.pop() if len(counts) == 1 else None

    def trains(self, call: Call) -> bool:
        known, key = self._of(call).trains, (call.name, call.traces())
        if key not in known:
            known[key] = call.trains()
        return known[key]

    def _look(self, call: Call) -> None:
        """Finds what was not traced for a call: by `get_concrete_function`, or in another file."""
        known, key = self._of(call), (call.name, call.traces())
        if key in known.looked_at:
            return
        known.looked_at.add(key)
        for function in call.functions():
            kinds = graph_digest.kinds_of(function)
            known.doubt = known.doubt or devices.doubt_of(kinds).format(call.name)
            for kind, message in ((OpKind.RANDOM, _DRAWS_RANDOM), (OpKind.STATE, _CHANGES_STATE)):
                if kind in kinds and not known.doubt:
                    known.doubt = message.format(call.name, kinds[kind], _BEFORE)
            drawn = any(graph in self._drawn for graph in private.graphs(function))
            fed = call.feeds_itself or isinstance(call, MethodCall) or drawn
            if OpKind.INPUT in kinds and not fed:
                known.unrepeatable = known.unrepeatable or _DRAWS_INPUT.format(call.name, _BEFORE)

    def judge(self, loop: LiveLoop, call: Call) -> None:
        self._look(call)
        loop.doubt(self._disorder)
        known, drawn = self._of(call), self.drawn_by(call)
        if known.unrepeatable:
            loop.give_up(known.unrepeatable)
        elif drawn is None:
            loop.give_up(_DRAWS_INPUT.format(call.name, _UNCERTAIN))
        elif drawn and (doubt := drawn_inputs.doubt_of(call.iterators()[0], call.name)):
            loop.doubt(doubt)
        elif known.doubt:
            loop.doubt(known.doubt)
        elif call.is_eager():
            loop.doubt(_EAGER.format(call.name))
