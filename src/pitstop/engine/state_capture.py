"""A consistent cut of the training state at a step boundary, and how exactly it is resumed."""

import os
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Self

from pitstop.cluster.spec import members
from pitstop.engine.lockstep import Lockstep
from pitstop.record import Frozen
from pitstop.snapshot.arena import DeviceBytes
from pitstop.store.image import TensorSpec


class Exactness(Frozen):
    """How exact a resume is: "exact", "exact_by_replay" or "not_exact"; and why not more."""

    level: str
    reason: str = ""


EXACT = Exactness("exact")


def not_exact(reason: str) -> Exactness:
    return Exactness("not_exact", reason)


def level_of_members(
    lockstep: Lockstep | None = None, environment: Mapping[str, str] = os.environ
) -> Exactness | None:
    """What keeps one member alone from being exact; None where nothing does."""
    if lockstep is not None and (lockstep.agreed or lockstep.doubt):
        return not_exact(lockstep.doubt) if lockstep.doubt else None
    count = members(environment)
    if count == 1:
        return None
    return not_exact(
        f"TF_CONFIG names {count} processes that train together, but each is saved separately: "
        "they may stop and resume at different steps"
    )


class Position(Frozen):
    step: int  # training steps completed over the whole run
    fit: int  # the `fit` call, counted from 0
    epoch: int  # the epoch, counted as Keras does
    step_in_epoch: int
    # "steps" inside an epoch; "epoch_end" when its steps are done and validation is next
    stage: str = "steps"
    milestone: str = ""  # "fit_end" when the fit has returned, else empty


class HeldTensor(Frozen):
    """A value that cannot change any more; its bytes are read later, maybe from another thread.

    `on_device`: the same bytes, to be copied without reading them first; None where they are here.
    """

    spec: TensorSpec
    read: Callable[[], memoryview]
    on_device: DeviceBytes | None = None

    @classmethod
    def of_array(cls, name: str, array: Any) -> Self:
        return cls.of_bytes(name, array.reshape(-1).data.cast("B") if array.size else b"")

    @classmethod
    def of_bytes(cls, name: str, data: bytes | memoryview) -> Self:
        view = memoryview(data)
        return cls(TensorSpec(name, "U8", (view.nbytes,)), lambda: view)

    def read_now(self) -> Self:
        data = self.read()
        return replace(self, read=lambda: data, on_device=None)


class StateCapture(Frozen):
    """Everything that a resume needs, held but not copied yet.

    `state` is a JSON object; it repeats the position, so that a snapshot
    explains itself.  `room_bytes`: the most that may be held beside a step where values are on
    a GPU; None where none is.
    """

    position: Position
    tensors: tuple[HeldTensor, ...]
    state: dict[str, Any]
    room_bytes: int | None = None

    def read_now(self) -> Self:
        """The same, with values that have come from where they are; a later read finds others."""
        return replace(self, tensors=tuple(each.read_now() for each in self.tensors))

    @property
    def size_bytes(self) -> int:
        return sum(tensor.spec.size_bytes for tensor in self.tensors)

    def told(self, **members: Any) -> Self:
        """With more members in its state."""
        return replace(self, state=self.state | members)
