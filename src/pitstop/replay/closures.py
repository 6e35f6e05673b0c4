"""The steps that a coordinator sends to the workers of a cluster, and what they return."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

import tensorflow as tf

from pitstop.link.beacon import Beacon
from pitstop.replay import values
from pitstop.replay.calls import FunctionCall
from pitstop.replay.record import RecordEntry, RecordKind
from pitstop.replay.values import Form, NotRecordable
from pitstop.tensorflow.schedule import Schedule

_RESULT = "result"
_Result = tuple[Form, memoryview]
_Lacking = Callable[[int], BaseException]


class AnsweredValue(tf.distribute.coordinator.RemoteValue):
    """The result of a closure that an earlier attempt has computed."""

    def __init__(self, number: int, result: _Result | None, lacking: _Lacking) -> None:
        self._number = number
        self._result = result
        self._lacking = lacking

    def get(self) -> Any:
        if self._result is None:
            raise self._lacking(self._number)
        return values.build(*self._result)

    def fetch(self) -> Any:
        return tf.nest.map_structure(
            lambda each: each.numpy() if hasattr(each, "numpy") else each, self.get()
        )


class Closures:
    """The closures of a loop, numbered in the order in which they were scheduled."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self._count = 0
        self._numbers: WeakKeyDictionary[Any, int] = WeakKeyDictionary()
        self._unrecorded: WeakValueDictionary[int, Any] = WeakValueDictionary()
        self._results: dict[int, _Result] = {}
        self._lacking: _Lacking = KeyError

    def begin(self, beacon: Beacon) -> None:
        self.schedule.begin(beacon)
        self._count = 0
        self._numbers.clear()
        self._unrecorded.clear()

    def scheduled(self, remote: Any) -> None:
        self._numbers[remote] = self._count
        self._unrecorded[self._count] = remote
        self._count += 1

    def result(self, remote: Any, value: Any) -> RecordEntry | None:
        """What is to be recorded now that the script looks at a result; None for nothing."""
        number = self._numbers.get(remote, -1)
        if self._unrecorded.pop(number, None) is None:
            return None
        with suppress(NotRecordable):
            form, data = values.flatten(value)
            return RecordEntry(RecordKind.RESULT, _RESULT, form, memoryview(data), given=number)
        return None

    def unrecorded(self) -> Iterable[RecordEntry]:
        """The results, all there, that the script may still look at; each is given once."""
        for remote in list(self._unrecorded.values()):
            entry = self.result(remote, remote.get())
            if entry is not None:
                yield entry

    # -- an earlier attempt's ----------------------------------------------------------

    def remember(self, results: Iterable[RecordEntry], lacking: _Lacking) -> None:
        """What closures have returned in an earlier attempt; `lacking` is raised for others."""
        self._results = {each.given: (each.form, each.data) for each in results}
        self._lacking = lacking

    def answer(self) -> AnsweredValue:
        number, self._count = self._count, self._count + 1
        return AnsweredValue(number, self._results.get(number), self._lacking)


@dataclass(frozen=True, kw_only=True)
class ClosureCall(FunctionCall):
    """A call of `schedule`: a coordinator has a worker run a `tf.function`."""

    closures: Closures

    @property
    def name(self) -> str:
        return f"schedule {super().name}"

    @property
    def feeds_itself(self) -> bool:
        return True

    def advances_input(self) -> bool:
        return False

    def variables(self) -> list[Any]:
        """None whose value is certain: workers change them at the same time."""
        return []

    def flatten(self, result: Any) -> tuple[Form, bytes]:
        self.closures.scheduled(result)
        return ("none",), b""

    def build(self, form: Form, data: memoryview) -> Any:
        return self.closures.answer()
