"""The training input of one `fit`: its iterators, and how they are brought back."""

import atexit
import threading
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from pitstop.engine.exactness import EXACT, Exactness, not_exact
from pitstop.engine.fence import fenced, observing
from pitstop.engine.script_state.fingerprint import of_saved
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.state_capture import HeldTensor
from pitstop.engine.values.python_state import Encoder, decode
from pitstop.keras.inputs import input_state
from pitstop.keras.inputs.bad_records import BadRecords
from pitstop.keras.inputs.first_reading import READ_ON, FirstReading
from pitstop.keras.inputs.fit_objects import FitObjects
from pitstop.keras.inputs.input_level import NOT_REPEATABLE, LaterEpochs, RepeatedShuffles
from pitstop.keras.inputs.input_state import ITERATOR_TENSOR, FreshIterator, InputMode, InputState
from pitstop.link.settings import Settings
from pitstop.tensorflow import private, randomness
from pitstop.tensorflow.pipelines import drawn_inputs, pipeline
from pitstop.tensorflow.randomness import RandomStreams

_MANY = 1 << 40
_SPLIT_SEQUENCE = not_exact(
    "steps_per_epoch ends an epoch within the PyDataset, whose readers restart each time; omit "
    "it, or set it to the length of the PyDataset"
)
_SHARED_SHUFFLE = not_exact(
    "a callback, or a validation of validation_steps, reads from the shuffle() of the training: "
    "batches that are drawn again do not tell its next order; give shuffle() "
    "reshuffle_each_iteration=False"
)
_COMPLETED = not_exact(
    "an earlier attempt has completed the files in which the pipeline keeps its elements: code "
    "that has state and comes before them does not run again"
)


class TrainingInput:
    def __init__(
        self,
        source: Any,
        streams: RandomStreams,
        objects: FitObjects,
        settings: Settings,
        *,
        data: Any = None,
        readers: Sequence[Any] = (),
        read_in_parts: Sequence[Any] = (),
        training: int | None = None,
    ) -> None:
        """What a `fit` reads.

        `readers`: what callbacks may read; `read_in_parts`: what validations read in parts;
        `training`: see `FirstReading`.
        """
        mode = InputMode(settings.input_mode)
        self._overhead = settings.overhead
        self._objects = objects
        self.iterator: Any = None  # the present iterator, None before the first
        # those that the pipeline itself has brought to where they belong
        self.own_variables: list[Any] = []
        self._source = source
        self._streams = streams
        # the `tf.data` pipeline, or what is in its place
        self.dataset = pipeline.of_one_device(source._distributed_dataset)
        is_dealt_out = self.dataset is not source._distributed_dataset
        self._shares_shuffle = pipeline.draws(self.dataset) and any(
            pipeline.share_a_shuffle(each, self.dataset) for each in (*readers, *read_in_parts)
        )
        is_alone = not is_dealt_out and not readers
        self._fills = (
            mode is not InputMode.NATIVE and is_alone and pipeline.fills_alike(self.dataset)
        )
        self._later = LaterEpochs(self.dataset, fills=self._fills)
        self.state = InputState.of(source.data_adapter, mode, self.dataset)
        self.state.data = data
        if self._fills:
            self.state.level = EXACT
            self.state.replay_from_now_on("a cache() keeps the order of the first epoch")
        # what leaves out batches that cannot be read
        self.bad_records = BadRecords(self.dataset, may_skip=settings.skips_bad_records)
        self._shuffles = RepeatedShuffles(self.dataset, in_parts=bool(source.steps_per_epoch))
        self._first: FreshIterator | None = None
        self._reading = FirstReading(data, training)
        self._before_replay: dict[str, Any] | None = None
        self._is_unseen = False  # see `before_unread`

    @property
    def level(self) -> Exactness:
        if self._splits_sequence():
            return _SPLIT_SEQUENCE
        if self._shares_shuffle and self.state.by_replay:
            return _SHARED_SHUFFLE
        if self.state.by_replay and self.state.created > 1 and self._later.doubt:
            return not_exact(self._later.doubt)
        is_raced = self._shuffles.are_raced(self.state.created)
        return NOT_REPEATABLE if is_raced else self.state.level

    @property
    def large_buffers(self) -> list[str]:
        return input_state.large_buffers(self._source.data_adapter, self.dataset)

    def _splits_sequence(self) -> bool:
        adapter, steps = self._source.data_adapter, self._source.steps_per_epoch
        sequence = getattr(adapter, "py_dataset", None) or getattr(adapter, "sequence", None)
        return sequence is not None and bool(steps) and steps != adapter.num_batches

    # -- while it is read --------------------------------------------------------

    def before_unread(self) -> None:
        """An iterator is about to be created that is read only after `before_iterator`.

        Where iterators have a state of their own, that is soon enough to look at the objects.
        """
        has_state = self.state.anchor is not None and not self.state.by_replay
        self._is_unseen = has_state and not self._later.caches_python
        if not self._is_unseen:
            self.before_iterator()

    @observing(spoils=True)
    def before_iterator(self) -> None:
        self._is_unseen = False
        random = self._streams.capture()
        self.state.creating(random)
        if not self.state.of_arrays:
            self._objects.capture_input()
        if self._later.caches_python:
            encoder = Encoder("")
            streams = of_saved(encoder.encode(random), encoder.arrays)
            self._later.creating(streams + self._objects.input_digest)

    def stays(self, saved: SavedState) -> str:
        """Which objects that the input uses are not restored; see `FitObjects.restore`."""
        if not saved.state["fit"]["input"]["replay"]:
            return "none"
        return "all" if self._repeats_end_of_epoch(saved) else "moved"

    def create_iterator(self) -> Any:
        if self.iterator is None:
            with fenced(spoils=True):
                self._shuffles.begin()
        self.iterator = iter(self._source._get_iterator())
        if self.state.created == 0 and self._reading.is_watched:
            with fenced(spoils=True):
                self._reading.begin(FreshIterator.of(self.iterator).state)
        self.state.created_one()
        return self.iterator

    def settle(self) -> None:
        if self.state.drawn == 0:
            self.before_iterator()
        elif not self._source.steps_per_epoch:
            # It was read to its end: nothing is ahead of the steps.
            self._objects.capture_input()

    def capture(self, encoder: Encoder) -> tuple[dict[str, Any], list[HeldTensor]]:
        found = self.state.capture(self.iterator, encoder)
        if self.state.by_replay and self._is_unseen:
            self.before_iterator()
            found = self.state.capture(self.iterator, encoder)
        return found

    def reconsider(self, snapshot_seconds: float) -> None:
        state, anchor = self.state, self.state.anchor
        if state.mode is not InputMode.AUTO or state.by_replay or anchor is None:
            return
        if anchor.costs_too_much(snapshot_seconds, self._overhead) and self._is_replayed_soon():
            state.replay_from_now_on(anchor.cost_words)

    def _is_replayed_soon(self) -> bool:
        source = self._source
        return (
            bool(source._num_batches)
            and not source.steps_per_epoch
            and input_state.kind_of(source.data_adapter) == "dataset"
            and pipeline.is_deterministic(source._get_iterator())
            and not self._later.doubt
            and not self._shares_shuffle
        )

    # -- bringing it back --------------------------------------------------------

    @property
    def _spec(self) -> Any:
        shapes = getattr(self._source.data_adapter, "shapes", ())
        return _with_shapes(drawn_inputs.spec_of_one_replica(self._source._get_iterator()), shapes)

    def made_up(self, rows: int) -> Any:
        """A batch of zeros; see `_made_up`."""
        return _made_up(self._spec, rows)

    def throwaway(self, saved: SavedState, rows: int) -> Any:
        """An iterator for a step whose result is not used; `rows`: batch size where it is open.

        It is the iterator that is restored afterwards, or one over a made-up batch: an input that
        is replayed must not be read, and one that reads ahead, or begins a shuffle after another,
        would take seeds.
        """
        self._reading.resume()
        if self.state.anew:
            return iter(self._source._get_iterator())
        described = saved.state["fit"]["input"]
        is_own = described["replay"] or described["skips"]
        if not (is_own or self._shuffles.found or any(pipeline.late_shuffles(self.dataset))):
            return self._first_iterator().iterator
        read, spec = self._source._get_iterator(), self._spec
        # A call may run several steps. TensorFlow makes other steps for an input without end.
        is_endless = int(self.dataset.cardinality()) == tf.data.INFINITE_CARDINALITY
        made_up = tf.data.Dataset.from_tensors(_made_up(spec, rows))
        made_up = made_up.repeat(None if is_endless else _MANY)
        # Sizes that are open stay open: layers keep the shape that they are built with.
        variant = tf.data.experimental.to_variant(made_up)
        batches = tf.data.experimental.from_variant(variant, spec)
        if self.dataset is read:
            return iter(batches)
        return iter(read._strategy.distribute_datasets_from_function(lambda _: batches))

    def prepare(self, saved: SavedState) -> None:
        self._reading.resume()
        described = saved.state["fit"]["input"]
        if self._reading.cannot_repeat(by_replay=described["replay"]):
            described["level"] = READ_ON.level, READ_ON.reason
        if described["replay"]:
            kept = pipeline.kept_stages(self.dataset)
            filled = [each for each in kept if each.is_hidden and each.name in described["fills"]]
            unread = [one for each in filled for one in each.inputs]
            if any(map(pipeline.has_state, unread)) and not saved.position.milestone:
                described["level"] = _COMPLETED.level, _COMPLETED.reason
            if self._fills and (described["created"] > 1 or saved.position.milestone):
                input_state.fill_caches(self.dataset, described["unread"])
            input_state.prepare_replay(
                described,
                saved.tensors,
                self._source.data_adapter,
                self._source._get_iterator(),
                self._streams,
                self.state.data,
            )
            self._objects.restore_input(saved.state["fit"]["objects"], saved.tensors)

    def restore(self, saved: SavedState, tell: Callable[[int], None]) -> Any:
        """An iterator at the saved position; calls `tell` for each batch that is drawn again."""
        described = saved.state["fit"]["input"]
        if described["replay"]:
            before = self._streams.capture()
            iterator = self.create_iterator()
            # A reader may have drawn already; TensorFlow draws where it is created.
            self._before_replay = before | randomness.of_tensorflow(self._streams.capture())
            self.bad_records.skip(iterator, described["drawn"], tell)
        elif self.state.anew:
            iterator = self.iterator
        elif described["skips"]:
            iterator = self.create_iterator()
        else:
            iterator = self._native_iterator(described, bytes(saved.tensors[ITERATOR_TENSOR]))
            self.bad_records.skip(iterator, described["redrawn"], tell)
        self.iterator = iterator
        self.state.adopt(described, saved.tensors)
        if described["replay"]:
            # Its reader is ahead of the cut, and goes on from there.
            self.own_variables = self.state.moved_variables()
        return iterator

    def _native_iterator(self, described: dict[str, Any], data: bytes) -> Any:
        """An iterator where the one was whose state is `data`."""
        fresh = self._first_iterator()
        is_begun = described["drawn"] > described["redrawn"]
        input_state.begin_late_shuffles(
            self.dataset,
            described["readings"],
            is_begun=is_begun,
            is_past_first_part=is_begun and not private.is_in_first_part(data),
        )
        return input_state.restore_iterator(
            fresh,
            data,
            described["created"],
            self.create_iterator,
            keeps_order=pipeline.keeps_an_order(self.dataset),
        )

    def restore_streams(self, saved: SavedState) -> None:
        if self._repeats_end_of_epoch(saved):
            # At the cut, the next epoch had drawn from them already, such as a new order. They
            # stay as they were before that.
            return
        cut = decode(saved.state["random"], saved.tensors)
        if self._before_replay is None or saved.position.milestone:
            self._streams.restore(cut)
        else:
            # A reader draws from its streams ahead of the cut, and the replay repeats that: these
            # streams have the right state already.
            self._streams.restore_unmoved(cut, self._before_replay)

    def _repeats_end_of_epoch(self, saved: SavedState) -> bool:
        described = saved.state["fit"]["input"]
        at_end = saved.position.stage == "epoch_end" and not saved.position.milestone
        return bool(at_end and described["replay"] and described["drawn"] == 0)

    def finish(self, saved: SavedState) -> None:
        if saved.state["fit"]["input"]["replay"]:
            self.create_iterator()
        else:
            self.restore(saved, lambda _: None)

    def restart_epoch(self) -> None:
        self._source._steps_seen = 0
        self._source._num_batches = self._source.data_adapter.num_batches

    def _first_iterator(self) -> FreshIterator:
        if self._first is None:
            fresh = FreshIterator.of(self.create_iterator())
            state = self._reading.set_back(fresh.iterator, fresh.state)
            self._first = FreshIterator(fresh.iterator, state)
        return self._first


def _with_shapes(element_spec: Any, shapes: Sequence[tuple[int, ...]]) -> Any:
    flat = tf.nest.flatten(element_spec)
    # Weights by class come last, one for each row.
    known = [*shapes, *(shapes[-1][:1] for _ in flat[len(shapes) :])] if shapes else []
    sized = [tf.TensorSpec(shape, each.dtype) for shape, each in zip(known, flat, strict=False)]
    return tf.nest.pack_sequence_as(element_spec, sized) if sized else element_spec


def _made_up(element_spec: Any, rows: int) -> Any:
    """A batch of zeros of this form; unknown sizes are 1, texts the word "0"."""

    def zeros(spec: Any) -> Any:
        sizes = [size or 1 for size in spec.shape]
        if sizes and spec.shape[0] is None:
            sizes[0] = rows
        dense = tf.fill(sizes, "0" if spec.dtype == tf.string else tf.zeros([], spec.dtype))
        if isinstance(spec, tf.RaggedTensorSpec):
            return tf.RaggedTensor.from_tensor(
                dense, ragged_rank=spec.ragged_rank, row_splits_dtype=spec.row_splits_dtype
            )
        return tf.sparse.from_dense(dense) if isinstance(spec, tf.SparseTensorSpec) else dense

    return tf.nest.map_structure(zeros, element_spec)


def fixed_batch_size(model: Any) -> int:
    shapes = [tensor.shape for tensor in getattr(model, "inputs", None) or ()]
    return next((int(shape[0]) for shape in shapes if shape and shape[0]), 1)


LONGEST_SECONDS = 0.3


class InputEnd:
    """Destroys an iterator in a thread, so that the script need not wait for it.

    The destructor waits for threads that read ahead. These may run Python code of the script, which
    may never end; but they must not run Python code while the interpreter exits.
    """

    def __init__(self, iterator: object) -> None:
        """Keeps the iterator until `let_go`, so that nothing else destroys it."""
        self._held = [iterator]
        self._go = threading.Event()
        self._thread = threading.Thread(target=self._destroy, name="pitstop-input", daemon=True)
        self._thread.start()

    def let_go(self, longest_seconds: float = LONGEST_SECONDS) -> bool:
        """Destroys the iterator unless others use it; whether it took at most so many seconds."""
        self._go.set()
        self._thread.join(longest_seconds)
        return not self._thread.is_alive()

    def _destroy(self) -> None:
        self._go.wait()
        self._held.clear()


def end_at_exit(iterator: object) -> None:
    """Keeps an iterator until the interpreter exits, and limits how long the exit waits."""
    atexit.register(InputEnd(iterator).let_go)
