"""Files of `cache(FILE)` and `snapshot`: what fills them is read once, perhaps long before.

A shuffle before such a file takes a seed where the file is filled. If the script reads that
shuffle elsewhere, too, its next order depends on who has filled the file, and when: the threads of
TensorFlow complete a file while the next iterator begins, which then takes a seed or does not.
"""

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.session.step_recorder import started_seconds
from pitstop.engine.trainings.present_identity import names_on_stack
from pitstop.engine.values import reachable
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.pipelines.pipeline import KeptStage
from pitstop.tensorflow.pipelines.stages import every_stage
from pitstop.tensorflow.randomness import is_part_of_an_input

_COMPLETED = (
    "an earlier attempt has completed {}, and what comes before that file in the pipeline is not "
    "read again: no saved state has how far it was"
)
_SHARED = (
    "the script can also read a shuffle before {}, whose next order depends on when that file was "
    "completed: not repeatable even without an interruption; give each its own shuffle"
)


class KeptFiles:
    def __init__(self) -> None:
        self._known: set[str] = set()  # complete ones, of trainings of this process

    def of_fit(self, attempt_dir: Path, arguments: Mapping[str, Any], *, is_anew: bool) -> str:
        """Why what follows a `fit` may be another, which goes on or `is_anew`; else empty."""
        told = ""
        for name in ("x", "validation_data"):
            kept = [*pipeline.kept_stages(pipeline.of_one_device(arguments.get(name)))]
            for stage in kept:
                is_left = self._is_left(stage, attempt_dir)
                is_filled = is_left or not stage.complete
                if is_filled and _is_shared(stage, arguments):
                    told = told or _SHARED.format(stage.name)
                # What functions change comes back with a training that goes on.
                if is_left and is_anew and any(map(pipeline.has_state, stage.inputs)):
                    told = told or _COMPLETED.format(stage.complete)
            self._known |= {each.complete for each in kept}
        return told

    def of_reading(self, attempt_dir: Path, dataset: Any) -> str:
        """The same for what the script itself reads."""
        for stage in pipeline.kept_stages(dataset):
            if self._is_left(stage, attempt_dir) and _is_shared(stage, {}):
                return _COMPLETED.format(stage.complete)
        return ""

    def _is_left(self, stage: KeptStage, attempt_dir: Path) -> bool:
        is_new = bool(stage.complete) and stage.complete not in self._known
        return is_new and EARLIER.is_left(stage.complete, started_seconds(attempt_dir))


def _is_shared(stage: KeptStage, arguments: Mapping[str, Any]) -> bool:
    """Whether the script can read what draws before a stage, other than from its files."""
    inputs = chain.from_iterable(map(every_stage, stage.inputs))
    drawn = {id(each) for each in inputs if pipeline.is_drawn(each)}
    return bool(drawn) and any(id(each) in drawn for each in _read(arguments, stage.name))


def _read(arguments: Mapping[str, Any], file: str) -> Iterator[Any]:
    """The stages that readings of the script's datasets reach, other than through a file."""
    roots = {**arguments, **names_on_stack()}
    named = reachable.find(roots, (tf.data.Dataset,), is_part_of_an_input).values()
    return chain.from_iterable(pipeline.read_beside(each, file) for each in named)


KEPT_FILES = KeptFiles()  # of this process
