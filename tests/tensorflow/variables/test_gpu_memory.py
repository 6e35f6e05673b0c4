"""What may be held in a GPU beside a step."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.client import device_lib

from pitstop.tensorflow.variables import step_memory

GB = 1 << 30
NAMES = ("/device:GPU:0", "/device:GPU:1")


@pytest.fixture
def gpus(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, int]]:
    """The most that was used of each; TensorFlow has taken 80 GB of each."""
    peaks: dict[str, int] = {}
    devices = [
        SimpleNamespace(name=each, device_type="GPU", memory_limit=80 * GB) for each in NAMES
    ]
    monkeypatch.delenv("TF_FORCE_GPU_ALLOW_GROWTH", raising=False)
    monkeypatch.delenv("TF_GPU_ALLOCATOR", raising=False)
    monkeypatch.setattr(
        tf.config, "list_logical_devices", lambda _kind: [SimpleNamespace(name=n) for n in peaks]
    )
    monkeypatch.setattr(
        tf.config.experimental,
        "get_memory_info",
        lambda name: {"current": 0, "peak": peaks[f"/device:{name}"]},
    )
    monkeypatch.setattr(device_lib, "list_local_devices", lambda _config: devices)
    step_memory._limits.cache_clear()
    step_memory._PEAKS.clear()
    yield peaks
    step_memory._limits.cache_clear()
    step_memory._PEAKS.clear()


def test_without_a_gpu_nothing_limits() -> None:
    assert step_memory.room_bytes(GB) is None


@pytest.mark.parametrize(
    ("peaks", "room"), [((20,), 30 * GB), ((20, 70), 5 * GB), ((70, 20), 5 * GB), ((81,), 0)]
)
def test_half_of_what_was_free_on_the_fullest(
    gpus: dict[str, int], peaks: tuple[int, ...], room: int
) -> None:
    gpus.update({name: peak * GB for name, peak in zip(NAMES, peaks, strict=False)})
    assert step_memory.room_bytes(GB) == room


@pytest.mark.parametrize(
    ("name", "value", "room"),
    [
        ("TF_FORCE_GPU_ALLOW_GROWTH", "true", 0),
        ("TF_FORCE_GPU_ALLOW_GROWTH", "false", 30 * GB),
        ("TF_GPU_ALLOCATOR", "cuda_malloc_async", 0),
    ],
)
def test_memory_that_others_may_take_is_not_counted(
    gpus: dict[str, int], monkeypatch: pytest.MonkeyPatch, name: str, value: str, room: int
) -> None:
    gpus[NAMES[0]] = 20 * GB
    monkeypatch.setenv(name, value)
    assert step_memory.room_bytes(GB) == room


def test_devices_that_cannot_be_listed_have_no_room(
    gpus: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_config: Any) -> Any:
        raise tf.errors.InternalError(None, None, "no device")

    gpus[NAMES[0]] = 20 * GB
    monkeypatch.setattr(device_lib, "list_local_devices", fail)
    assert step_memory.room_bytes(GB) == 0


def test_what_was_held_does_not_count_as_used(gpus: dict[str, int]) -> None:
    for peak in (20, 25, 30, 29):  # a state of 10 was held; peaks do not fall, but may be reset
        gpus[NAMES[0]] = peak * GB
        assert step_memory.room_bytes(10 * GB) == 30 * GB


def test_what_cannot_have_been_held_counts(gpus: dict[str, int]) -> None:
    rooms = []
    for peak in (20, 40, 50, 50):
        gpus[NAMES[0]] = peak * GB
        rooms.append(step_memory.room_bytes(10 * GB))
    assert rooms == [30 * GB, 25 * GB, 20 * GB, 20 * GB]
