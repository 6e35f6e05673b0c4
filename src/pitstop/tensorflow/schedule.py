"""The closures that coordinators of this process have sent to workers, until they have ended."""

import functools
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakSet

import tensorflow as tf

from pitstop.engine.exactness import not_exact
from pitstop.engine.hooking import hook
from pitstop.link.beacon import Beacon, Phase
from pitstop.tensorflow import private

_SECONDS = 2.0
_LEAST = 2  # for each worker: the closure that it runs, and its next
_SMOOTHING = 0.1
_LONGEST_PAUSE_SECONDS = 10.0
_LOOK_SECONDS = 0.05


class Backlog:
    """Delays `schedule` while the workers have closures for more than two seconds.

    TensorFlow queues up to 262,144 closures. These may take hours, and a stop has to wait for all
    of them. Each worker still has its next closure in the queue.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._open: set[Any] = set()
        self._early: WeakSet[Any] = WeakSet()
        self._least = _LEAST
        self._interval_seconds = 0.0
        self._ended_seconds = 0.0

    def begin(self, workers: int) -> None:
        self._least = max(self._least, _LEAST * workers)

    def scheduled(self, remote: Any) -> None:
        with self._changed:
            if remote in self._early:
                self._early.remove(remote)
            else:
                self._open.add(remote)

    def ended(self, remote: Any) -> None:
        with self._changed:
            if remote in self._open:
                self._open.remove(remote)
                self._changed.notify()
            else:
                # `schedule` has not returned yet.
                self._early.add(remote)
            self._measure(time.monotonic())

    def clear(self) -> None:
        with self._changed:
            self._open.clear()
            self._ended_seconds = 0.0

    def wait(self, is_done: Callable[[], bool], is_stopping: Callable[[], bool]) -> None:
        """Waits until another may be scheduled, or until all have ended (`is_done` may raise)."""
        while not is_stopping():
            with self._changed:
                if self._changed.wait_for(lambda: len(self._open) < self._most, _LOOK_SECONDS):
                    return
            # Closures that have failed, or ended before we listened, are not reported to `ended`.
            if is_done():
                self.clear()

    @property
    def _most(self) -> int:
        if not self._interval_seconds:
            return self._least
        return max(self._least, int(_SECONDS / self._interval_seconds))

    def _measure(self, now_seconds: float) -> None:
        before, self._ended_seconds = self._ended_seconds, now_seconds
        if before:
            seconds = min(now_seconds - before, _LONGEST_PAUSE_SECONDS)
            first = not self._interval_seconds
            share = 1.0 if first else _SMOOTHING
            self._interval_seconds += share * (seconds - self._interval_seconds)


ASYNCHRONOUS = not_exact(
    "asynchronous: workers take steps in another order and restart their input; consistent: no "
    "completed step is lost, but one may be repeated if a worker dies"
)
_PATIENCE_NS = 60_000_000_000
"""If the script has not joined for so long, a snapshot waits for the closures itself."""
_T = TypeVar("_T")


class Schedule:
    """The closures of one process.

    Workers compute them in any order. So the state can be saved only when all have ended.
    """

    def __init__(self) -> None:
        self._beacon: Beacon | None = None
        self._thread = 0
        self._join: Callable[[Any], None] = lambda _: None
        self._looked_at: Callable[[Any, Any], None] = lambda *_: None
        self._coordinators: WeakSet[Any] = WeakSet()
        self._kinds: set[type] = set()
        self._settled, self._settled_ns = True, time.monotonic_ns()
        self._failure: Exception | None = None
        self._backlog = Backlog()

    def watch(self, join: Callable[[Any], None], looked_at: Callable[[Any, Any], None]) -> None:
        """Sets what waits for closures, and what is called when the script reads a result."""
        self._join, self._looked_at = join, looked_at

    def add(self, coordinator: Any) -> None:
        self._thread = threading.get_ident()
        self._coordinators.add(coordinator)
        self._backlog.begin(_workers_of(coordinator))

    def begin(self, beacon: Beacon) -> None:
        self._beacon, self._failure = beacon, None

    # -- what the script does ------------------------------------------------------

    def wait(self, run: Callable[[], _T]) -> _T:
        """Runs a function that may wait for the workers, in the phase `WAITING`."""
        beacon = self._beacon
        if beacon is None or not self._is_own_thread() or beacon.phase() is not Phase.TRAIN:
            return run()
        beacon.write_phase(Phase.WAITING)
        try:
            return run()
        finally:
            if beacon.stop() == 0:
                beacon.write_phase(Phase.TRAIN)

    def send(self, schedule: Callable[[], Any], is_done: Callable[[], bool]) -> Any:
        beacon = self._beacon
        if beacon is not None:
            self._backlog.wait(is_done, lambda: beacon.stop() != 0)
        remote = schedule()
        self._settled = False
        if type(remote) not in self._kinds:
            self._kinds.add(type(remote))
            hook(type(remote), "get", self._get)
        self._backlog.scheduled(remote)
        return remote

    def ask(self, original: Callable[[], Any]) -> Any:
        answer = self.wait(original)
        if answer is not False:
            self._joined()
        return answer

    def _get(self, original: Callable[[Any], Any], remote: Any) -> Any:
        if not self._is_own_thread():
            # Of the coordinator, which copies each result when its closure has ended.
            value = original(remote)
            self._backlog.ended(remote)
            return value
        value = self.wait(functools.partial(original, remote))
        self._looked_at(remote, value)
        return value

    # -- a consistent point ----------------------------------------------------------

    def is_consistent(self, now_ns: int) -> bool:
        return self._settled or now_ns - self._settled_ns >= _PATIENCE_NS

    def settle(self) -> None:
        """Waits until all scheduled closures have ended; raises the exception of a closure."""

        def join_all() -> None:
            for coordinator in list(self._coordinators):
                self._join(coordinator)

        self.wait(join_all)
        self._joined()

    def settles(self) -> bool:
        """The same before a cut, but an exception is kept for `raise_failure`; whether none is."""
        try:
            self.settle()
        except Exception as failure:  # noqa: BLE001 - the script's own
            self._failure = failure
        return self._failure is None

    def raise_failure(self, give_up: Callable[[Exception], None]) -> None:
        """Raises the exception of a closure in the script, as TensorFlow would have."""
        failure, self._failure = self._failure, None
        if failure is not None:
            self._backlog.clear()
            give_up(failure)
            raise failure

    def _joined(self) -> None:
        self._settled, self._settled_ns = True, time.monotonic_ns()
        self._backlog.clear()

    def _is_own_thread(self) -> bool:
        return threading.get_ident() == self._thread


SCHEDULE = Schedule()  # that of this process


def is_of_another_task(error: Exception) -> bool:
    """Whether an operation failed on another task; TensorFlow reports it to the script later."""
    return isinstance(error, tf.errors.OpError)


def _workers_of(coordinator: Any) -> int:
    try:
        return int(private.resolver_of(coordinator.strategy).cluster_spec().num_tasks("worker"))
    except Exception:  # noqa: BLE001 - a resolver of the script's own
        return 1
