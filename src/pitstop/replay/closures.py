"""The steps that a coordinator sends to the workers of a cluster, and what they return."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeVar
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import tensorflow as tf

from pitstop.engine.exactness import Exactness
from pitstop.link.beacon import Beacon, Phase
from pitstop.replay import values
from pitstop.replay.backlog import Backlog
from pitstop.replay.calls import Call, FunctionCall
from pitstop.replay.record import RecordEntry, RecordKind
from pitstop.replay.values import Form, NotRecordable

ASYNCHRONOUS = Exactness(
    "not_exact",
    "asynchronous: workers take steps in another order, and begin their input anew; consistent: "
    "no completed closure is lost, one may be repeated if a worker dies",
)
_PATIENCE_NS = 60_000_000_000
"""Without a join of the script for so long, a snapshot waits for the closures by itself."""
_RESULT = "result"
_Result = tuple[Form, memoryview]
_Lacking = Callable[[int], BaseException]
_T = TypeVar("_T")


class Closures:
    """Those of one process, numbered as they were scheduled since the loop's first.

    What the workers compute is not in order, so that nothing can be saved between two closures
    before all that were scheduled have ended.

    Args:
        join: the original `ClusterCoordinator.join`.
        fetched: told of a remote value and what it holds, when anybody looks at it.
    """

    def __init__(self, join: Callable[[Any], None], fetched: Callable[[Any, Any], None]) -> None:
        self._beacon: Beacon | None = None
        self._thread = 0
        self._join = join
        self._fetched = fetched
        self._coordinators: WeakSet[Any] = WeakSet()
        self._count = 0
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._unrecorded: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._results: dict[int, _Result] = {}
        self._lacking: _Lacking = KeyError
        self._kinds: set[type] = set()
        self._settled, self._settled_ns = True, time.monotonic_ns()
        self._failure: Exception | None = None
        self._backlog = Backlog()

    def add(self, coordinator: Any) -> None:
        """One more coordinator, whose closures are waited for."""
        self._thread = threading.get_ident()
        self._coordinators.add(coordinator)
        self._backlog.begin(_workers_of(coordinator))

    def begin(self, beacon: Beacon) -> None:
        """A loop begins: its closures are counted from 0."""
        self._beacon, self._count = beacon, 0
        self._numbers.clear()
        self._unrecorded.clear()

    # -- what the script does ------------------------------------------------------

    def wait(self, run: Callable[[], _T]) -> _T:
        """Runs what may wait for the workers, and says so in the meantime.

        A stop that is asked for meanwhile has its time until it is obeyed.
        """
        beacon = self._beacon
        if beacon is None or not self._is_own_thread() or beacon.phase() is not Phase.TRAIN:
            return run()
        beacon.write_phase(Phase.WAITING)
        try:
            return run()
        finally:
            if beacon.stop() == 0:
                beacon.write_phase(Phase.TRAIN)

    def admit(self, is_done: Callable[[], bool]) -> None:
        """Waits until one more may be scheduled, see `Backlog.wait`."""
        beacon = self._beacon
        if beacon is not None:
            self._backlog.wait(is_done, lambda: beacon.stop() != 0)

    def scheduled(self, remote: Any) -> None:
        """The next closure, and where its result will be."""
        self._numbers[remote] = self._count
        self._unrecorded[self._count] = remote
        self._count += 1
        self._settled = False
        self._watch(type(remote))
        self._backlog.scheduled(remote)

    def result(self, remote: Any, value: Any) -> RecordEntry | None:
        """What is to be recorded now that the script looks at a result; None for nothing."""
        number = self._numbers.get(remote, -1)
        if self._unrecorded.pop(number, None) is None:
            return None
        with suppress(NotRecordable):
            return _entry(number, value)
        return None

    def _watch(self, kind: type) -> None:
        if kind in self._kinds:
            return
        self._kinds.add(kind)
        owner: Any = kind
        original = owner.get

        @functools.wraps(original)
        def get(remote: Any) -> Any:
            if not self._is_own_thread():
                # Of the coordinator, which copies each result when its closure has ended.
                value = original(remote)
                self._backlog.ended(remote)
                return value
            value = self.wait(functools.partial(original, remote))
            self._fetched(remote, value)
            return value

        owner.get = get

    # -- a consistent point ----------------------------------------------------------

    def is_consistent(self, now_ns: int) -> bool:
        """Whether a snapshot may be taken here without much of a wait."""
        return self._settled or now_ns - self._settled_ns >= _PATIENCE_NS

    def settle(self) -> None:
        """Waits until all that was scheduled has ended.

        Raises:
            Exception: what a closure of the script has raised.
        """
        self.wait(self._join_all)
        self.joined()

    def joined(self) -> None:
        """All that was scheduled has ended."""
        self._settled, self._settled_ns = True, time.monotonic_ns()
        self._backlog.clear()

    def settles(self) -> bool:
        """The same, before a cut; what a closure has raised is kept for `raise_failure`."""
        try:
            self.settle()
        except Exception as failure:  # noqa: BLE001 - the script's own
            self._failure = failure
        return self._failure is None

    def raise_failure(self, give_up: Callable[..., None]) -> None:
        """Gives the script what its closure has raised, as TensorFlow would have in its place.

        Args:
            give_up: told why nothing is saved from now on: what else was scheduled is cancelled.

        Raises:
            Exception: that.
        """
        failure, self._failure = self._failure, None
        if failure is not None:
            self._backlog.clear()
            give_up(f"a closure raised {type(failure).__name__}", raised=True)
            raise failure

    def unrecorded(self) -> Iterable[RecordEntry]:
        """The results, all there, that the script may still look at; each is given once."""
        for remote in list(self._unrecorded.values()):
            entry = self.result(remote, remote.get())
            if entry is not None:
                yield entry

    def _is_own_thread(self) -> bool:
        return threading.get_ident() == self._thread

    def _join_all(self) -> None:
        for coordinator in list(self._coordinators):
            self._join(coordinator)

    # -- an earlier attempt's ----------------------------------------------------------

    def remember(self, results: Iterable[RecordEntry], lacking: _Lacking) -> None:
        """What closures have returned in an earlier attempt.

        Args:
            results: as they were recorded.
            lacking: what is raised for a closure without a result.
        """
        self._results = {each.given: (each.form, each.data) for each in results}
        self._lacking = lacking

    def answer(self) -> AnsweredValue:
        """The next closure, which an earlier attempt has computed."""
        number, self._count = self._count, self._count + 1
        return AnsweredValue(number, self._results.get(number), self._lacking)


class AnsweredValue(tf.distribute.coordinator.RemoteValue):
    """The result of a closure that an earlier attempt has computed."""

    def __init__(self, number: int, result: _Result | None, lacking: _Lacking) -> None:
        self._number = number
        self._result = result
        self._lacking = lacking

    def get(self) -> Any:
        """The result, as tensors."""
        if self._result is None:
            raise self._lacking(self._number)
        return values.build(*self._result)

    def fetch(self) -> Any:
        """The result, as arrays."""
        return tf.nest.map_structure(
            lambda each: each.numpy() if hasattr(each, "numpy") else each, self.get()
        )


@dataclass(frozen=True)
class ClosureCall(FunctionCall):
    """Of `schedule`: a `tf.function` that a coordinator has a worker run."""

    closures: Closures

    @property
    def name(self) -> str:
        """That of the Python function, as it is scheduled."""
        return f"schedule {super().name}"

    @property
    def feeds_itself(self) -> bool:
        return True

    def advances_input(self) -> bool:
        """Workers begin their input anew."""
        return False

    def variables(self) -> list[Any]:
        """None whose value is certain: workers change them at the same time."""
        return []

    def flatten(self, result: Any) -> tuple[Form, bytes]:
        """Its result comes later."""
        self.closures.scheduled(result)
        return ("none",), b""

    def build(self, form: Form, data: memoryview) -> Any:
        """What stands for its result."""
        return self.closures.answer()


@dataclass(frozen=True)
class CoordinatorCall(Call):
    """Of `join`, which waits for all closures, or of `done`, which asks for them."""

    method: str
    closures: Closures

    @property
    def name(self) -> str:
        return self.method

    def flatten(self, result: Any) -> tuple[Form, bytes]:
        """Nothing, or the answer."""
        if result is not False:
            self.closures.joined()
        return super().flatten(result)


def _workers_of(coordinator: Any) -> int:
    try:
        return int(coordinator.strategy.cluster_resolver.cluster_spec().num_tasks("worker"))
    except Exception:  # noqa: BLE001 - a resolver of the script's own
        return 1


def is_of_another_task(error: Exception) -> bool:
    """Whether an operation failed on the task that it was to run on; the script will hear of it."""
    return isinstance(error, tf.errors.OpError)


def _entry(number: int, value: Any) -> RecordEntry:
    form, data = values.flatten(value)
    return RecordEntry(RecordKind.RESULT, _RESULT, form, memoryview(data), given=number)
