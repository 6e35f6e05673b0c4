"""A consistent cut of the training state at a step boundary."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Self

from pitstop.record import Frozen
from pitstop.snapshot.arena import DeviceBytes
from pitstop.store.image import TensorSpec


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
