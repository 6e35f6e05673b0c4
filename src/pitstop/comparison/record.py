"""What one run left behind, as far as a comparison needs it; saved state as named digests."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from pitstop import journal, steps
from pitstop.engine.snapshots.state_capture import Position
from pitstop.errors import CheckpointCorrupt, UserError
from pitstop.events import EnvironmentChanged, JsonValue, Restored
from pitstop.record import Frozen
from pitstop.steps import StepRecord
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.manifest import Manifest, TensorEntry
from pitstop.store.reader import read_state
from pitstop.store.run_folder import RunFolder, open_existing
from pitstop.supervisor.records.history import History
from pitstop.supervisor.status import is_completed

ITERATOR = "the saved input iterator"
ITERATOR_TENSOR = "input/iterator"
RANDOM = (
    "Python's random stream",
    "NumPy's random stream",
    "TensorFlow's seed",
    "TensorFlow's random stream",
)
POSITION = ("batches drawn from the input", "passes over the input")

_PATHS: Mapping[str, tuple[str, ...]] = {
    RANDOM[0]: ("random", "python"),
    RANDOM[1]: ("random", "numpy"),
    RANDOM[2]: ("random", "tensorflow_seed"),
    RANDOM[3]: ("random", "tensorflow_eager"),
    POSITION[0]: ("fit", "input", "drawn"),
    POSITION[1]: ("fit", "input", "created"),
    "the description of the input": ("fit", "data"),
    "the random streams when fit began": ("fit_random",),
    "the logs of the last step": ("fit", "logs"),
    "stop_training": ("fit", "stop_training"),
}
_ARRAYS = ("$array", "$floats")
_NOTHING = "nothing"


def read_facts(state: JsonValue, digests: Mapping[str, str]) -> dict[str, str]:
    found = {name: _digest(_at(state, path), digests, {}) for name, path in _PATHS.items()}
    found[ITERATOR] = digests.get(ITERATOR_TENSOR, _NOTHING)
    return found | dict(_callbacks(state, digests))


def differing(one: Mapping[str, str], other: Mapping[str, str]) -> tuple[str, ...]:
    names = [*one, *(name for name in other if name not in one)]
    return tuple(name for name in names if one.get(name) != other.get(name))


def is_decisive(name: str, *, read_ahead: bool) -> bool:
    """Whether runs that differ in this will differ in what they train.

    With `read_ahead` random streams depend on timing, and buffers inside of a saved iterator always
    do.
    """
    return name in POSITION or (name in RANDOM and not read_ahead)


def _callbacks(state: JsonValue, digests: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    nodes = _at(state, ("fit", "objects", "cut")) or {}
    for index, callback in enumerate(_at(state, ("fit", "callbacks")) or ()):
        label = f"callback {index + 1} ({callback.get('class', '')})"
        for name, value in callback.get("attributes", {}).items():
            yield f"{label}: {name}", _digest(value, digests, nodes)


def _at(value: JsonValue, path: Sequence[str]) -> JsonValue:
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _digest(value: JsonValue, digests: Mapping[str, str], nodes: Mapping[str, JsonValue]) -> str:
    text = json.dumps(_resolved(value, digests, nodes), sort_keys=True)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _resolved(
    value: JsonValue, digests: Mapping[str, str], nodes: Mapping[str, JsonValue]
) -> JsonValue:
    """The value with the content of the nodes that it names, and the digests of its arrays."""
    if isinstance(value, list):
        return [_resolved(item, digests, nodes) for item in value]
    if not isinstance(value, dict):
        return value
    name = value.get("$ref")
    if isinstance(name, str) and name in nodes:
        others = {other: node for other, node in nodes.items() if other != name}
        return _resolved(nodes[name], digests, others)
    return {
        key: _array(item, digests) if key in _ARRAYS else _resolved(item, digests, nodes)
        for key, item in value.items()
    }


def _array(item: JsonValue, digests: Mapping[str, str]) -> list[JsonValue]:
    name, *form = item if isinstance(item, list) else [item]
    return [digests.get(name, name), *form]


_VARIABLES = "variables/"


class Disagreement(Frozen):
    """A step that was computed twice with different results."""

    step: int
    first: StepRecord
    again: StepRecord


class Trace(Frozen):
    """What a run computed at each step, `recomputed_steps` again; the last computation counts."""

    records: Mapping[int, StepRecord]
    recomputed_steps: int = 0
    disagreements: tuple[Disagreement, ...] = ()

    @property
    def last_step(self) -> int:
        return max(self.records, default=0)

    def epoch_ends(self) -> tuple[int, ...]:
        last = {(each.fit, each.epoch): each.step for each in self.records.values()}
        return tuple(last.values())


def merge(attempts: Iterable[Iterable[StepRecord]]) -> Trace:
    records: dict[int, StepRecord] = {}
    disagreements = []
    computed = 0
    for record in (record for attempt in attempts for record in attempt):
        computed += 1
        before = records.get(record.step, record)
        if not before.same_bits(record):
            disagreements.append(Disagreement(record.step, before, record))
        records[record.step] = record
    ordered = dict(sorted(records.items()))
    return Trace(ordered, computed - len(records), tuple(disagreements))


class Saved(Frozen):
    """A checkpoint."""

    place: Position
    path: Path
    manifest: Manifest
    tensors: Mapping[str, TensorEntry]  # the variables
    facts: Mapping[str, str]  # digests of the rest of the state, by name
    read_ahead: bool  # Python code feeds the training: it may draw random numbers ahead of the step


class Resume(Frozen):
    step: int
    lost_steps: int
    level: str
    reason: str


class RunRecord(Frozen):
    name: str
    completed: bool
    trace: Trace
    saved: Mapping[Position, Saved] = field(default_factory=dict)  # one place holds one state
    resumes: tuple[Resume, ...] = ()
    environment: Mapping[str, JsonValue] = field(default_factory=dict)  # of its last attempt
    environment_changes: tuple[EnvironmentChanged, ...] = ()  # what changed between its attempts
    unreadable: tuple[str, ...] = ()  # checkpoints that were left out, and why


def load_run(path: Path) -> RunRecord:
    """What the run left behind; raises `RunNotFound`, `FormatTooNew` or a `UserError`."""
    folder = open_existing(path)
    entries = journal.read(folder.journal).entries
    files = (folder.attempt_dir(attempt) / steps.FILE_NAME for attempt in folder.attempts())
    trace = merge(map(steps.read, files))
    if not trace.records:
        raise UserError(
            f"{path} contains no record of training steps.",
            "Steps are recorded when Keras trains under `pitstop run`.",
        )
    history = History.from_entries(entries)
    saved, unreadable = _load_checkpoints(folder)
    return RunRecord(
        name=str(path),
        completed=is_completed(entries),
        trace=trace,
        saved=saved,
        resumes=tuple(
            Resume(event.step, event.lost_steps, event.level, event.reason)
            for event in journal.events_of(entries, Restored)
        ),
        environment={**history.environment, **history.versions},
        environment_changes=tuple(journal.events_of(entries, EnvironmentChanged)),
        unreadable=unreadable,
    )


def _load_checkpoints(folder: RunFolder) -> tuple[dict[Position, Saved], tuple[str, ...]]:
    saved: dict[Position, Saved] = {}
    unreadable = []
    # The newest of two checkpoints of one place is the one that counts.
    for entry in reversed(Catalog(folder.checkpoints).entries()):
        try:
            found = _load_checkpoint(entry)
        except CheckpointCorrupt as damage:
            unreadable.append(f"{entry.path}: {damage.reason}")
        else:
            saved[found.place] = found
    return saved, tuple(unreadable)


def _load_checkpoint(entry: CheckpointEntry) -> Saved:
    manifest = entry.readable()
    state = json.loads(read_state(entry.path, manifest))
    tensors, info = manifest.tensors, manifest.info
    digests = {name: tensor.xxh3_64 for name, tensor in tensors.items()}
    stage = state.get("position", {}).get("stage", "")
    return Saved(
        place=Position(info.step, info.fit, info.epoch, info.step_in_epoch, stage, info.milestone),
        path=entry.path,
        manifest=manifest,
        tensors={name: each for name, each in tensors.items() if name.startswith(_VARIABLES)},
        facts=read_facts(state, digests),
        read_ahead=bool(state.get("fit", {}).get("input", {}).get("replay")),
    )
