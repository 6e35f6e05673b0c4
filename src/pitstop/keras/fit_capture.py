"""A cut of everything that a running `fit` is made of."""

from __future__ import annotations

import time
from typing import Any

from pitstop.engine.python_state import Encoder
from pitstop.engine.state_capture import HeldTensor, StateCapture
from pitstop.keras import fit_state


def capture(run: Any, stage: str, milestone: str) -> StateCapture:
    """Everything that a `FitRun` is made of, here and now."""
    encoder = Encoder("python/")
    held = run.registry.hold(run.path_of)
    input_json, input_tensors = run.input.capture(encoder)
    validation_json, validation_tensors = run.validation.capture(encoder)
    described, objects = run.objects.capture(
        encoder, run.callbacks.callbacks, read_ahead=run.input.by_replay
    )
    unverified = held.refused + run.structure.unverified + run.objects.unverified
    run.parts.unverified = unverified + run.others.changed()
    run.parts.report(run.session, run.level)
    position = run.position.place(stage, milestone)
    state = {
        "position": dict(vars(position)),
        "level": {
            **vars(run.level),
            "unverified": run.parts.unverified,
            "deviation": run.parts.deviation,
        },
        "versions": run.versions,
        "time_seconds": time.time(),
        "identity": run.identity.to_json() if run.identity else {},
        **held.state,
        "random": encoder.encode(run.streams.capture()),
        "fit_random": encoder.encode(run.random_before),
        "fit": {
            **fit_state.describe(run, encoder),
            "callbacks": described,
            "objects": objects,
            "structure": run.structure.capture(),
            "input": input_json,
            "validation": validation_json,
        },
    }
    arrays = [HeldTensor.of_array(name, array) for name, array in encoder.arrays.items()]
    tensors = (*held.tensors, *input_tensors, *validation_tensors, *arrays)
    return StateCapture(position, tensors, state)
