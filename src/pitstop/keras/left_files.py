"""Files of pipelines that earlier attempts have completed: what fills them is not read again."""

from collections.abc import Iterator
from itertools import chain
from typing import Any

import tensorflow as tf

from pitstop.engine import reachable
from pitstop.engine.earlier_files import EARLIER
from pitstop.engine.present_identity import names_on_stack
from pitstop.engine.step_recorder import began_seconds, started_seconds
from pitstop.keras.continuation import Continuation
from pitstop.keras.fit_run import FitRun
from pitstop.tensorflow import pipeline
from pitstop.tensorflow.randomness import is_part_of_an_input
from pitstop.tensorflow.stages import every_stage

_COMPLETED = (
    "an earlier attempt has completed {}, and what comes before that file in the pipeline is not "
    "read again: no saved state has how far it was"
)


class LeftFiles:
    """Looks at the data of one `fit` after the other."""

    def __init__(self) -> None:
        self._known: set[str] = set()  # complete ones, of pipelines of this process

    def look(self, run: FitRun, continuation: Continuation | None) -> str:
        """Why such a file makes what follows another; else empty."""
        told = ""
        for name in ("x", "validation_data"):
            data = pipeline.of_one_device(run.arguments.get(name))
            kept = [*pipeline.kept_stages(data)]
            told = told or next(self._moved(run, name, kept, continuation), "")
            self._known |= {each.complete for each in kept}
        return told

    def _moved(
        self, run: FitRun, name: str, kept: list[Any], continuation: Continuation | None
    ) -> Iterator[str]:
        attempt_dir = run.session.attempt_dir
        counted = continuation.filled if continuation is not None and name == "x" else ()
        for stage in kept:
            is_new = bool(stage.complete) and stage.complete not in self._known
            if not is_new or stage.name in counted:
                continue
            # The iterators of a validation are counted by themselves.
            is_of_fit = continuation is not None and name != "x"
            until = began_seconds(attempt_dir) if is_of_fit else None
            if EARLIER.is_left(stage.complete, started_seconds(attempt_dir), until):
                inputs = list(chain.from_iterable(map(every_stage, stage.inputs)))
                is_drawn = any(map(pipeline.is_drawn, inputs)) and _is_read(run, inputs)
                # What functions change comes back with a training that goes on.
                has_state = continuation is None and any(map(pipeline.has_state, stage.inputs))
                if is_drawn or has_state:
                    yield _COMPLETED.format(stage.complete)


def _is_read(run: FitRun, stages: list[Any]) -> bool:
    """Whether the script can read one of these stages that draws anew, other than from files."""
    drawn = {id(each) for each in stages if pipeline.is_drawn(each)}
    roots = {**run.arguments, **names_on_stack()}
    named = reachable.find(roots, (tf.data.Dataset,), is_part_of_an_input).values()
    read = chain.from_iterable(map(pipeline.read_by, named))
    return any(id(each) in drawn for each in read)
