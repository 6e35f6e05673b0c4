"""The validation data of a `fit`: read from the start each time, but shuffled anew.

The order of the rows decides the last bits of the metrics. It depends on how far the seeds of the
dataset's shuffles have gone.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.exactness import EXACT, Exactness, not_exact
from pitstop.engine.randomness.script_random import KINDS, level_of_workers, same
from pitstop.engine.snapshots.state_capture import HeldTensor
from pitstop.engine.values import reachable
from pitstop.engine.values.python_state import Arrays, Encoder
from pitstop.keras.inputs import input_state
from pitstop.keras.inputs.bad_records import BadRecords
from pitstop.keras.inputs.input_level import NOT_REPEATABLE, PYTHON_OPS, RepeatedShuffles
from pitstop.keras.inputs.input_state import KEPT_ORDER, FreshIterator
from pitstop.keras.packages import SEQUENCES, kinds
from pitstop.tensorflow import randomness
from pitstop.tensorflow.pipelines import buffers, pipeline
from pitstop.tensorflow.pipelines.stage_functions import stateful_stages

_READ_AHEAD = not_exact(
    "validation_data is a Python generator, which each validation reads further than it uses: "
    "not repeatable even without an interruption; give arrays, a PyDataset or a dataset"
)
_DRAWN_AHEAD = not_exact(
    "the Python code of validation_data draws random numbers, and threads read it further than the "
    "validation uses: not repeatable even without an interruption; put take() before prefetch() "
    "and before parallel stages, or give the code a random generator with a seed for each element"
)
_SEQUENCE_READ_AHEAD = not_exact(
    "validation_steps ends each validation within validation_data, whose Python code holds a "
    "random generator and is read further than the validation uses: not repeatable even without "
    "an interruption; omit validation_steps, or set it to the length of the data"
)
_STREAMS = frozenset({"python", "numpy"})
_SPLIT = ("x", "y", "sample_weight")
VALIDATION_TENSOR = "validation/iterator"


class ValidationInput:
    """`data`: what each validation of one `fit` reads from; of a tuple the inputs alone."""

    def __init__(
        self,
        data: Any,
        planned: int = 1,
        *,
        is_shared: bool = False,
        is_partly_read: bool = False,
        skips_bad_records: bool = False,
    ) -> None:
        """`planned` readings are to come; `is_shared`: others may read from it."""
        self._planned = planned
        self.data = data[0] if isinstance(data, tuple | list) and data else data
        self.bad_records = BadRecords(self.data, may_skip=skips_bad_records, in_validation=True)
        self._created = 0
        self._unread = 0  # iterators before the first reading
        self._left: Any = None
        self._saved_state = b""
        self._shuffles = RepeatedShuffles(self.data, in_parts=True)
        self._fills = not is_shared and pipeline.fills_alike(self.data)
        further = pipeline.read_further(self.data, is_partly_read=is_partly_read)
        self._reads_code_further = any(
            stage.ops & PYTHON_OPS for part in further for stage in stateful_stages(part)
        )
        self._streams: dict[str, Any] = {}
        self._is_drawn_ahead = False
        self._is_split = (
            is_partly_read
            and self._is_read_for_its_form
            and bool(reachable.find_used(self.data, KINDS, randomness.is_part_of_an_input))
        )

    @property
    def level(self) -> Exactness:
        if hasattr(self.data, "__next__") and not self._is_read_for_its_form:
            return _READ_AHEAD
        kept = pipeline.keeps_an_order(self.data) and not self._fills
        if kept or pipeline.captures_an_order(self.data):
            return KEPT_ORDER
        if self._is_split:
            return _SEQUENCE_READ_AHEAD
        if self._is_drawn_ahead:
            return _DRAWN_AHEAD
        # The order of its shuffles may not even be repeatable without an interruption.
        raced = self._shuffles.are_raced(max(self._created, self._planned))
        return NOT_REPEATABLE if raced else level_of_workers(self.data) or EXACT

    @property
    def large_buffers(self) -> list[str]:
        return [f"{each} of the validation" for each in buffers.large_buffers(self.data)]

    def begin(self) -> None:
        self._streams = randomness.capture() if self._reads_code_further else {}

    def ended(self, left: Any, created: int, unread: int = 0) -> None:
        """A validation; it has created `unread` iterators before the one that it read."""
        before = self._streams
        now = randomness.capture() if before else {}
        names = now.keys() & _STREAMS
        self._is_drawn_ahead |= any(not same(before[name], now[name]) for name in names)
        self._left = left
        self._saved_state = b""
        if not self._created:
            self._unread = unread
        self._created += created

    def copied(self, arguments: Mapping[str, Any]) -> list[Any]:
        """Arrays of the call that Keras has copied: later validations see no change of them."""
        names = _SPLIT if self.data is None else ("validation_data",)
        given = tf.nest.flatten([arguments.get(name) for name in names if self._created])
        return [each for each in given if isinstance(each, np.ndarray)]

    @property
    def begins_by_reading(self) -> bool:
        """Whether the first validation, which is over, has read the data for its form alone."""
        return bool(self._created) and self._is_read_for_its_form

    @property
    def _is_read_for_its_form(self) -> bool:
        return isinstance(self.data, kinds(*SEQUENCES))

    def capture(self, encoder: Encoder) -> tuple[dict[str, Any], list[HeldTensor]]:
        described = {"created": self._created, "unread": self._unread}
        # Not kept from cut to cut: the seeds in it belong to the dataset, and
        # go on when a callback evaluates the same data.
        is_dataset = isinstance(self.data, tf.data.Dataset) and not self._fills
        reads_tensors = self._left is not None and is_dataset
        state = FreshIterator.of(self._left).state if reads_tensors else self._saved_state
        return described, [HeldTensor.of_bytes(VALIDATION_TENSOR, state)] if state else []

    def restore(self, saved: dict[str, Any], tensors: Arrays, training: Any = None) -> None:
        """Brings the shuffles to where they were; `training` is the dataset that is trained on."""
        self._created, self._unread = saved["created"], saved["unread"]
        self._saved_state = bytes(tensors.get(VALIDATION_TENSOR, b""))
        if not isinstance(self.data, tf.data.Dataset):
            return
        if self._fills:
            if self._created:
                # The first validation has left its order in the cache.
                input_state.fill_caches(self.data, self._unread)
            return
        # With smaller buffers, only the number of readings counts.  Where the training draws from
        # the same shuffle, a state has its seeds counted, too, and those are drawn again.
        is_counted = buffers.is_reduced(self.data) or pipeline.share_a_shuffle(self.data, training)
        if self._saved_state and not is_counted:
            fresh = FreshIterator.of(iter(self.data))
            input_state.begin_late_shuffles(
                self.data, self._created - 1, is_begun=True, is_past_first_part=True
            )
            input_state.restore_iterator(
                fresh, self._saved_state, self._created, lambda: iter(self.data)
            )
        else:
            for _ in range(self._created):
                iter(self.data)
            input_state.begin_late_shuffles(self.data, self._created)
