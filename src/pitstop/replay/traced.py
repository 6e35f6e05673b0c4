"""What the graphs of a script's functions tell: who trains, and who cannot be answered."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary

from pitstop.engine.witness import place_on_stack
from pitstop.replay.callee import Call, Callee, FunctionCallee, MethodCallee
from pitstop.replay.live_loop import LiveLoop
from pitstop.tensorflow import drawn_inputs, private

_UNCERTAIN = "from several iterators, or another number of elements each time it is traced"


class _Running(threading.local):
    callee: Callee | None = None


class TracedFunctions:
    """The functions of this process, as far as they have been traced."""

    def __init__(self) -> None:
        self._running = _Running()
        self._latest: Callee | None = None
        self._training: WeakKeyDictionary[Any, dict[str, tuple[int, bool]]] = WeakKeyDictionary()
        self._doubtful: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._unrepeatable: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
        self._drawn: WeakKeyDictionary[Any, list[int]] = WeakKeyDictionary()
        self._counts: WeakKeyDictionary[Any, tuple[int, int | None]] = WeakKeyDictionary()

    @contextmanager
    def running(self, callee: Callee) -> Iterator[None]:
        """What is traced in here is traced for this callee."""
        self._running.callee = self._latest = callee
        try:
            yield
        finally:
            self._running.callee = self._latest = None

    def _traced_for(self) -> Callee | None:
        """The callee that something is traced for.

        A strategy traces what its replicas do in threads of its own, which the script's waits for.
        """
        return self._running.callee or self._latest

    def random_op(self, op_type: str) -> None:
        """An op with a hidden counter is traced."""
        callee = self._traced_for()
        if callee is not None:
            self._doubtful.setdefault(
                callee.owner,
                f"{callee.name} draws from a hidden random stream ({op_type} at "
                f"{place_on_stack()}); use a Keras layer, keras.random with a SeedGenerator, or "
                "tf.random.Generator",
            )

    def state_op(self, op_type: str) -> None:
        """An op is traced that changes state outside of variables: in Python, or in a table."""
        callee = self._traced_for()
        if callee is not None:
            self._doubtful.setdefault(
                callee.owner,
                f"{callee.name} changes what is no variable ({op_type} at {place_on_stack()}), "
                "which is not restored; do that outside of the function",
            )

    def input_op(self, op_type: str) -> None:
        """An op that draws input is traced."""
        callee = self._traced_for()
        if callee is not None and not callee.feeds_itself:
            self._unrepeatable.setdefault(
                callee.owner, f"{callee.name} draws its input by itself ({op_type})"
            )

    def draws(self, iterator: Any) -> None:
        """A draw of an element is traced."""
        callee = self._traced_for()
        if callee is None or callee.feeds_itself or isinstance(callee, MethodCallee):
            return  # what a method draws from by itself, it has made by itself
        graph = drawn_inputs.drawing_graph(iterator)
        if graph is None:
            self.input_op("in a loop, a branch, an inner function, or not from an argument")
            return
        # By what tells iterators apart: a tensor would keep its graph.
        self._drawn.setdefault(graph, []).append(id(drawn_inputs.first_part(iterator)))

    def drawn_by(self, call: Call) -> int | None:
        """How many elements a call draws from its only iterator; None where that is not certain."""
        callee = call.callee
        if not self._drawn or callee.feeds_itself or not isinstance(callee, FunctionCallee):
            return 0
        traces = callee.traces()
        known = self._counts.get(callee.owner)
        if known is None or known[0] != traces:
            known = self._counts[callee.owner] = (traces, self._count(callee.owner))
        is_certain = not known[1] or len(call.iterators()) == 1
        return known[1] if is_certain else None

    def _count(self, function: Any) -> int | None:
        drawn = [self._drawn.get(graph, []) for graph in private.graphs(function)]
        counts = {len(each) if len(set(each)) < 2 else None for each in drawn}
        return counts.pop() if len(counts) == 1 else None

    def trains(self, callee: Callee) -> bool:
        """Whether calls of it change what is trained."""
        # Looking at graphs is dear; they are other ones only after a trace.
        traces = callee.traces()
        known = self._training.setdefault(callee.owner, {}).get(callee.name)
        if known is None or known[0] != traces:
            known = self._training[callee.owner][callee.name] = (traces, callee.trains())
        return known[1]

    def judge(self, loop: LiveLoop, call: Call) -> None:
        """Tells a loop what is wrong with one of its functions, if anything is."""
        callee, drawn = call.callee, self.drawn_by(call)
        if callee.owner in self._unrepeatable:
            loop.give_up(self._unrepeatable[callee.owner])
        elif drawn is None:
            loop.give_up(f"{callee.name} draws its input by itself, {_UNCERTAIN}")
        elif drawn and (doubt := drawn_inputs.doubt_of(call.iterators()[0], callee.name)):
            loop.doubt(doubt)
        elif callee.owner in self._doubtful:
            loop.doubt(self._doubtful[callee.owner])
        elif callee.is_eager():
            loop.doubt(
                f"{callee.name} runs eagerly: the Python state that it changes is not seen; "
                "compile without run_eagerly"
            )
