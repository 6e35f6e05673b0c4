"""What a recorded loop saves: its record, the variables, the random streams."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pitstop.engine.exactness import Exactness
from pitstop.engine.python_state import Encoder
from pitstop.engine.state_capture import HeldTensor, Position, StateCapture
from pitstop.replay.loop_identity import LoopIdentity
from pitstop.replay.record import LoopRecord
from pitstop.tensorflow import randomness
from pitstop.tensorflow.devices import computed_with
from pitstop.tensorflow.variables import HeldVariables


def make_cut(
    position: Position,
    level: Exactness,
    held: HeldVariables,
    record: LoopRecord,
    first_random: dict[str, Any],
    identity: LoopIdentity,
) -> StateCapture:
    """A consistent cut, here and now."""
    encoder = Encoder("python/")
    entries, described = record.hold()
    state = {
        "position": dict(vars(position)),
        "level": {**vars(level), "unverified": held.refused},
        "versions": computed_with(),
        **held.state,
        "random": encoder.encode(randomness.capture()),
        "replay": {
            **described,
            "random": encoder.encode(first_random),
            "identity": identity.to_json(encoder),
        },
    }
    arrays = [HeldTensor.of_array(name, array) for name, array in encoder.arrays.items()]
    return StateCapture(position, (*held.tensors, entries, *arrays), state)


def read_now(held: HeldVariables) -> HeldVariables:
    """The same, with values that have come from where they are: a later read may find others."""
    return replace(held, tensors=[_read(each) for each in held.tensors])


def _read(tensor: HeldTensor) -> HeldTensor:
    data = tensor.read()
    return HeldTensor(tensor.spec, lambda: data)
