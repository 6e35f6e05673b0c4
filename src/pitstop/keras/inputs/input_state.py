"""The position in the training input: the state of an iterator, or a count of drawn batches."""

import collections
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Self

import numpy as np
import tensorflow as tf

from pitstop.engine.exactness import EXACT, Exactness, not_exact
from pitstop.engine.randomness import script_random
from pitstop.engine.snapshots.state_capture import HeldTensor
from pitstop.engine.values import reachable
from pitstop.engine.values.python_state import Arrays, Encoder, decode
from pitstop.keras.common_private import without_vocabularies
from pitstop.keras.inputs import input_level
from pitstop.keras.packages import kinds
from pitstop.record import Frozen
from pitstop.tensorflow import private
from pitstop.tensorflow.pipelines import buffers, pipeline, stage_functions
from pitstop.tensorflow.randomness import RandomStreams, is_part_of_an_input
from pitstop.tensorflow.schedule import ASYNCHRONOUS
from pitstop.tensorflow.variables.naming import value_of
from pitstop.tensorflow.variables.variables import is_seed

STATES_SHARE = 0.0025
"""States are taken at most for this share of the time: a quarter of the usual budget."""
_SNAPSHOT_EVERY_SECONDS = 60.0
_SNAPSHOTS_SHARE = 0.5
_LARGE_SHARE = 0.25


class IteratorCheckpoint(Frozen):
    """The state of an iterator, which several snapshots use.

    TensorFlow needs about 4 us per element of a shuffle buffer to serialize an iterator, and
    training waits meanwhile: 1.5 s and 123 MB for 100,000 records of 1 KB. So a later snapshot
    refers to this state, and a resume draws the batches since then again.

    `created`: the number of the iterator, from 1. `drawn`: batches drawn from it before.
    `taken_seconds` is monotonic time.
    """

    data: bytes
    created: int
    drawn: int
    taken_seconds: float
    cost_seconds: float

    def serves(self, created: int, now_seconds: float) -> bool:
        """Whether a snapshot may refer to it, or needs a newer state."""
        age_seconds = now_seconds - self.taken_seconds
        return created == self.created and age_seconds * STATES_SHARE < self.cost_seconds

    def costs_too_much(self, snapshot_seconds: float, overhead: float) -> bool:
        """Whether `overhead` would allow no more than one snapshot per minute with it."""
        affordable_seconds = _SNAPSHOT_EVERY_SECONDS * overhead * _SNAPSHOTS_SHARE
        return self.cost_seconds > max(_LARGE_SHARE * snapshot_seconds, affordable_seconds)

    @property
    def cost_words(self) -> str:
        return (
            f"the input's buffers are too large to save ({self.cost_seconds:.1f} s and "
            f"{len(self.data) / 1e6:.0f} MB each time)"
        )


ITERATOR_TENSOR = "input/iterator"
_NATIVE = ("arrays", "dataset")
_KINDS = dict(zip(("ArrayDataAdapter", "TFDatasetAdapter"), _NATIVE, strict=True))


class InputMode(StrEnum):
    """How the user wants the place in an input to be saved."""

    AUTO = "auto"
    NATIVE = "native"
    REPLAY = "replay"


def name_of(adapter: Any) -> str:
    return str(getattr(adapter, "name", "") or type(adapter).__name__)


def kind_of(adapter: Any) -> str:
    return str(getattr(adapter, "kind", "") or _KINDS.get(type(adapter).__name__, "python"))


def large_buffers(adapter: Any, dataset: Any) -> list[str]:
    sequence = getattr(adapter, "py_dataset", None)
    if sequence is not None and getattr(adapter, "enqueuer", None) is not None:
        return [f"workers={sequence.workers}, max_queue_size={sequence.max_queue_size}"]
    return list(buffers.large_buffers(dataset)) if kind_of(adapter) == "dataset" else []


def skips_rows(adapter: Any) -> bool:
    """Whether a new iterator can start after the rows read so far; not if epochs share one."""
    return bool(getattr(adapter, "skips_rows", False))


def goes_on_behind_an_error(dataset: Any) -> bool:
    """Whether an iterator can continue after an element that failed; a generator cannot."""
    return isinstance(dataset, tf.data.Dataset) and all(
        stage.name != stage_functions.FROM_GENERATOR
        for stage in stage_functions.stateful_stages(dataset)
    )


_SHUFFLED_BATCHES = Exactness(
    "exact_by_replay", "shuffle='batch' uses a random op whose state cannot be restored"
)
_OPEN_ORDER = not_exact(
    "a parallel stage of the pipeline may change the order of its elements; remove "
    "deterministic=False"
)
KEPT_ORDER = not_exact(
    "a cache() keeps the order of the shuffle before it, which cannot be read after the end of "
    "an epoch; shuffle after the cache"
)


class FreshIterator(Frozen):
    """A new iterator and its first state, which is empty if it cannot be serialized."""

    iterator: Any
    state: bytes

    @classmethod
    def of(cls, iterator: Any) -> Self:
        if not private.is_serializable(iterator):
            return cls(iterator, b"")
        try:
            return cls(iterator, private.serialize_iterator(iterator))
        except (tf.errors.FailedPreconditionError, tf.errors.UnimplementedError):
            return cls(iterator, b"")


@dataclass
class InputState:
    native: bool  # its iterators can be serialized
    of_arrays: bool = False  # the input consists of arrays, not of a pipeline of the script
    skips: bool = False  # a resume starts after the rows read so far, see `skips_rows`
    anew: bool = False  # a resume starts at the first row: workers of a cluster read the input
    drawn: int = 0  # batches drawn from the present iterator
    created: int = 0  # iterators created so far; each advances the shuffle's seed stream
    readings: int = 0  # how many of them, the present one aside, a batch was drawn from
    unread: int = 0  # how many were created before the first that a batch was drawn from
    # random streams when the present iterator was created
    random: dict[str, Any] = field(default_factory=dict)
    dataset: Any = None  # the `tf.data` pipeline; None for other adapters
    # stages that keep their elements in files, which the present iterator completes
    fills: list[str] = field(default_factory=list)
    data: Any = None  # what the script gave, whose Python code may draw from variables
    # values of the variables in its functions and in that code, at that time
    variables: list[Any] = field(default_factory=list)
    level: Exactness = EXACT  # exactness of the way this input is saved
    by_replay: bool = False
    mode: InputMode = InputMode.AUTO  # how the user wants it to be saved
    anchor: IteratorCheckpoint | None = None  # the iterator's last state, None before the first
    repeats: bool = False  # in a reading, one of its shuffles begins an unknown number of times

    @classmethod
    def of(cls, adapter: Any, mode: InputMode = InputMode.AUTO, dataset: Any = None) -> Self:
        """The state of an input that nobody has read yet; `dataset`: its pipeline, if any."""
        if kind_of(adapter) == "workers":
            return cls(native=False, anew=True, level=ASYNCHRONOUS, mode=mode)
        if kind_of(adapter) not in _NATIVE:
            return cls(native=False, by_replay=True, level=_replay_of(adapter), mode=mode)
        if skips_rows(adapter):
            return cls(native=True, of_arrays=True, skips=True, dataset=dataset, mode=mode)
        if getattr(adapter, "shuffles_batches", False):
            return cls(native=True, by_replay=True, level=_SHUFFLED_BATCHES, mode=mode)
        if file := pipeline.file_cache_of(dataset):
            # A restored iterator looks for the files as they were; TensorFlow
            # 2.21 fails or crashes where they are gone or have another name.
            level = Exactness("exact_by_replay", f"the pipeline keeps its elements in {file}")
            return cls(native=True, dataset=dataset, by_replay=True, level=level, mode=mode)
        of_arrays = kind_of(adapter) == "arrays"
        refused = None if of_arrays else stage_functions.refused_op(dataset)
        level = _level_of(dataset, refused)
        state = cls(native=True, of_arrays=of_arrays, dataset=dataset, level=level, mode=mode)
        state.by_replay = refused is not None
        state.repeats = pipeline.repeats_a_shuffle(dataset)
        if source := stage_functions.source_not_restored(dataset):
            state.replay_from_now_on(f"TensorFlow does not restore the position in {source}")
        if not of_arrays and buffers.is_reduced(dataset):
            # A saved iterator has what the larger buffers held.
            state.replay_from_now_on("its buffers were reduced because memory ran out")
        return state

    def creating(self, random: dict[str, Any]) -> None:
        self.random = random
        kept = pipeline.kept_stages(self.dataset)
        self.fills = sorted({each.name for each in kept if not each.is_hidden})
        self.variables = [each.numpy() for each in _variables_of(self.dataset, self.data)]

    def created_one(self) -> None:
        self.readings += self.drawn > 0
        if not self.readings:
            self.unread = self.created
        self.created += 1
        self.drawn = 0

    def capture(self, iterator: Any, encoder: Encoder) -> tuple[dict[str, Any], list[HeldTensor]]:
        """The JSON form of the position, and the iterator's bytes if there are any."""
        is_counted = self.by_replay or self.skips or self.anew
        anchor = None if is_counted else self._anchored(iterator)
        if anchor and self.mode is InputMode.REPLAY:
            # Its state could be taken, so a replay gives the same batches.
            self.replay_from_now_on("as --input requests")
            anchor = None
        state = {
            "replay": self.by_replay,
            "skips": self.skips,
            "drawn": self.drawn,
            "redrawn": self.drawn - anchor.drawn if anchor else 0,
            "created": self.created,
            "readings": self.readings,
            "unread": self.unread,
            "fills": self.fills,
            "random": encoder.encode(self.random),
            "variables": encoder.encode(self.variables),
            "level": [self.level.level, self.level.reason],
        }
        return state, [HeldTensor.of_bytes(ITERATOR_TENSOR, anchor.data)] if anchor else []

    def replay_from_now_on(self, reason: str) -> None:
        self.by_replay, self.anchor = True, None
        if self.level.level == "exact":
            self.level = Exactness("exact_by_replay", reason)

    def _anchored(self, iterator: Any) -> IteratorCheckpoint | None:
        """The state that a snapshot refers to, the last or a new one; None if it is replayed."""
        if not private.is_serializable(iterator):
            # Of a strategy, which gives no state, and does not tell what it reads.
            stages = stage_functions.stateful_stages(self.dataset)
            if stages and self.level.level == "exact":
                known = private.deterministic_ops()
                self.level = input_level.level_of(stages, "", deterministic_ops=known)
            self.replay_from_now_on("the input is distributed over several devices")
            return None
        now, anchor = time.monotonic(), self.anchor
        if anchor and anchor.serves(self.created, now) and self._repeats_from(anchor):
            return anchor
        try:
            data = private.serialize_iterator(iterator)
        except (tf.errors.FailedPreconditionError, tf.errors.UnimplementedError) as error:
            self.by_replay = True
            if self.level.level == "exact":
                self.level = _level_of(self.dataset, stage_functions.op_of_refusal(error))
            return None
        if self.repeats and not private.seed_counts(data):
            # All have ended.
            self.level = not_exact(input_level.REPEATED)
        self.anchor = IteratorCheckpoint(
            data, self.created, self.drawn, now, time.monotonic() - now
        )
        return self.anchor

    def _repeats_from(self, anchor: IteratorCheckpoint) -> bool:
        if self.of_arrays:
            # Keras draws the order of the rows with the first batch, from a kernel's own stream.
            return anchor.drawn > 0
        return self.dataset is not None and pipeline.is_deterministic(self.dataset)

    def adopt(self, saved: dict[str, Any], arrays: Arrays) -> None:
        if not (self.native and self.mode is InputMode.NATIVE):
            self.by_replay = saved["replay"]
            self.level = Exactness(*saved["level"])
        self.drawn = saved["drawn"]
        self.created = saved["created"]
        self.readings = saved["readings"]
        self.unread = saved["unread"]
        self.fills = saved["fills"] or []
        self.random = decode(saved["random"], arrays)
        self.variables = decode(saved["variables"], arrays)

    def replay_instead(self, saved: dict[str, Any]) -> None:
        if self.by_replay and not saved["replay"]:
            saved |= {"replay": True, "level": [self.level.level, self.level.reason]}

    def moved_variables(self) -> list[Any]:
        pairs = zip(_variables_of(self.dataset, self.data), self.variables, strict=False)
        return [variable for variable, was in pairs if not np.array_equal(variable.numpy(), was)]


def _level_of(dataset: Any, refused_op: str | None) -> Exactness:
    """Of a pipeline for which TensorFlow refuses to save an iterator, or does not (None)."""
    if pipeline.keeps_an_order(dataset) or pipeline.captures_an_order(dataset):
        return KEPT_ORDER
    if pipeline.leaves_order_open(dataset):
        return _OPEN_ORDER
    stages = stage_functions.stateful_stages(dataset)
    if refused_op is not None:
        known = private.deterministic_ops()
        return input_level.level_of(stages, refused_op, deterministic_ops=known)
    # Random ops that TensorFlow takes for stateless.
    drawing = [each for each in stages if each.random_ops - each.ops]
    return input_level.level_of(drawing, "") if drawing else EXACT


def begin_late_shuffles(
    dataset: Any, readings: int, *, is_begun: bool = False, is_past_first_part: bool = False
) -> None:
    """Has shuffles count `readings` that do not begin with an iterator over the whole pipeline.

    `is_begun`: the saved run has drawn the first element of one reading more;
    `is_past_first_part`: it was in the last part of a concatenation there, or after it.
    """
    for stage, is_later in pipeline.late_shuffles(dataset):
        for _ in range(readings + (is_past_first_part if is_later else is_begun)):
            iter(stage)


def _variables_of(dataset: Any, data: Any) -> list[Any]:
    """Variables of a pipeline's functions, and the seeds that other code of an input leads to."""
    owners = (tf.Variable, tf.random.Generator, *kinds("layers.Layer", "random.SeedGenerator"))
    found = [*stage_functions.variables_of(dataset)]
    for owner in reachable.find_used(data, owners, is_part_of_an_input):
        if isinstance(owner, tf.Variable):
            held = [owner]
        elif hasattr(owner, "variables"):
            held = without_vocabularies(owner.variables)
        else:
            held = [owner.state]
        found += [each for each in map(value_of, held) if is_seed(each)]
    return list({id(variable): variable for variable in found}.values())


def fill_caches(dataset: Any, unread: int) -> None:
    """Reads a pipeline as its first reading did, after `unread` iterators that took seeds only."""
    for _ in range(unread):
        iter(dataset)
    collections.deque(dataset, maxlen=0)


def prepare_replay(
    saved: dict[str, Any],
    arrays: Arrays,
    adapter: Any,
    dataset: Any,
    streams: RandomStreams,
    data: Any = None,
) -> None:
    if kind_of(adapter) in _NATIVE:
        for _ in range(saved["created"] - 1):
            iter(dataset)
        begin_late_shuffles(pipeline.of_one_device(dataset), saved["readings"])
    streams.restore(decode(saved["random"], arrays))
    values = decode(saved["variables"], arrays)
    variables = _variables_of(pipeline.of_one_device(dataset), data)
    for variable, value in zip(variables, values, strict=False):
        variable.assign(value)


def restore_iterator(
    fresh: FreshIterator,
    data: bytes,
    created: int,
    create: Callable[[], Any],
    *,
    keeps_order: bool = False,
) -> Any:
    """A native iterator at its saved position; its shuffles continue with the saved seeds.

    A shuffle takes a new seed for each iterator of a dataset. The saved state contains the number
    of these seeds, but not after the last element of the shuffle. In that case this function
    creates as many iterators as the saved run had: `created`, the `fresh` one included. With
    `keeps_order` it does not, because another iterator would empty the cache.
    """
    iterator = fresh.iterator
    if keeps_order or private.sets_all_seeds(data, fresh.state):
        private.restore_iterator(iterator, data)
        return iterator
    for _ in range(created - 1):
        iterator = create()
    seeds = fresh.state if created == 1 else private.serialize_iterator(iterator)
    private.restore_iterator(iterator, data)
    # To restore is to create once more, unseen; this sets the count right.
    private.restore_iterator(create(), seeds)
    return iterator


def _replay_of(adapter: Any) -> Exactness:
    reason = f"the input is Python code ({name_of(adapter)})"
    if doubt := getattr(adapter, "doubt", ""):
        return not_exact(doubt)
    dataset = getattr(adapter, "py_dataset", None)
    if raced := script_random.level_of_workers(dataset):
        return raced
    workers = getattr(dataset, "workers", 1)
    if workers > 1:
        reason += f", read by {workers} workers: its items must not draw random numbers"
    return Exactness("exact_by_replay", reason)
