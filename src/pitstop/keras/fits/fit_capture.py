"""Where a running `fit` stands, and a cut of everything that it is made of."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.rewritten_files import REWRITTEN
from pitstop.engine.snapshots.state_capture import HeldTensor, Position, StateCapture
from pitstop.engine.values.python_state import Encoder
from pitstop.keras.fits import fit_outputs, fit_state
from pitstop.tensorflow.variables.step_memory import with_room
from pitstop.tensorflow.variables.variables import REGISTRY


@dataclass
class FitPosition:
    fit: int  # which one of the process, counted from 0
    step: int  # training steps completed over the whole run
    epoch: int = 0
    step_in_epoch: int = 0
    steps_this_attempt: int = 0  # steps that this `fit` has completed since it began or went on
    # the train function has; the callbacks after the step are still running
    has_returned: bool = False

    def count(self, steps: int) -> None:
        self.step += steps
        self.step_in_epoch += steps
        self.steps_this_attempt += steps
        self.has_returned = False

    def next_steps(self, stride: int) -> range:
        return range(self.step + 1, self.step + stride + 1)

    def in_epoch(self, step: int) -> int:
        return step - self.step + self.step_in_epoch

    def place(self, stage: str, milestone: str) -> Position:
        return Position(self.step, self.fit, self.epoch, self.step_in_epoch, stage, milestone)


def _not_restored(run: Any) -> list[str]:
    moved = run.streams.script.lacks(run.objects.moved_generators())
    generators = [f"{name} (random)" for name in moved if run.objects.holds(name)]
    return [*run.structure.unverified, *run.objects.unverified, *generators, *run.others.changed()]


def _changed_behind(run: Any, cut: Mapping[str, Any]) -> list[str]:
    return list(run.objects.changed_behind(cut, run.validation.copied(run.arguments)))


def capture(run: Any, stage: str, milestone: str) -> StateCapture:
    run.doubt(APPENDED.settle())
    encoder = Encoder("python/")
    run.path_of.free_unheld()
    held = REGISTRY.hold(run.path_of)
    input_json, input_tensors = run.input.capture(encoder)
    validation_json, validation_tensors = run.validation.capture(encoder)
    described, objects = run.objects.capture(
        encoder, run.callbacks.callbacks, read_ahead=run.input.state.by_replay
    )
    unverified = held.refused + _not_restored(run)
    unverified += [] if milestone else _changed_behind(run, objects["cut"])
    run.note_level(unverified)
    position = run.position.place(stage, milestone)
    state = {
        "position": dict(vars(position)),
        "level": {**vars(run.level), "unverified": unverified, "deviation": run.parts.deviation},
        "versions": run.versions,
        "time_seconds": time.time(),
        "identity": vars(run.identity) if run.identity else {},
        **held.state,
        "appended": APPENDED.capture(),
        "rewritten": encoder.encode(REWRITTEN.capture()),
        "outputs": encoder.encode(fit_outputs.capture(run) if milestone else {}),
        "random": encoder.encode(run.streams.capture()),
        "fit_random": encoder.encode(run.random_before),
        "fit": {
            **fit_state.describe(run, encoder),
            "callbacks": described,
            "objects": objects,
            "structure": run.structure.capture(),
            "traced": run.traced.capture(),
            "draws": run.traced.draws_so_far(),
            "inputs": run.traced.inputs(),
            "input": input_json,
            "validation": validation_json,
        },
    }
    arrays = [HeldTensor.of_array(name, array) for name, array in encoder.arrays.items()]
    tensors = (*held.tensors, *input_tensors, *validation_tensors, *arrays)
    return with_room(StateCapture(position, tensors, state))
