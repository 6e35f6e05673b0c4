"""What training steps take of the memory of host and devices; what a cut may take beside them."""

import functools
import os
from dataclasses import replace

import tensorflow as tf
from tensorflow.python.client import device_lib
from tensorflow.python.eager import context

from pitstop.engine.leaving import end_process
from pitstop.engine.session.export_order import ExportEnded
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.events import StepMemory
from pitstop.flight import processes
from pitstop.machine import memory
from pitstop.tensorflow.devices import allocators
from pitstop.tensorflow.variables.variables import REGISTRY

_ALLOCATOR = "TF_GPU_ALLOCATOR"
_GROWTH = "TF_FORCE_GPU_ALLOW_GROWTH"

_PEAKS: dict[str, int] = {}
"""The most that was used of each GPU, without what was held beside steps."""


def with_room(cut: StateCapture) -> StateCapture:
    return replace(cut, room_bytes=room_bytes(cut.size_bytes))


def room_bytes(state_bytes: int) -> int | None:
    """What values of a state may take that are held beside a step; None without a GPU.

    Half of what was free on the fullest GPU when it was fullest: a part of the training that has
    not run yet may need more than those before.  Nothing where TensorFlow takes memory only as it
    needs it: the rest is for others.
    """
    gpus = [each.name for each in tf.config.list_logical_devices("GPU")]
    return max(0, min(_free_bytes(each, state_bytes) for each in gpus) // 2) if gpus else None


def _free_bytes(gpu: str, state_bytes: int) -> int:
    peak = int(tf.config.experimental.get_memory_info(gpu.removeprefix("/device:"))["peak"])
    # A peak that rose by one state may have risen by a hold.  If it was the training, both fit:
    # the other half is as large.
    _PEAKS[gpu] = max(_PEAKS.setdefault(gpu, peak), peak - state_bytes)
    return _limits().get(gpu, 0) - _PEAKS[gpu]


@functools.cache
def _limits() -> dict[str, int]:
    """Bytes that TensorFlow has taken of each GPU; none where others may take them first.

    A second look at the devices finds their allocators as they are, see
    `BaseGPUDeviceFactory::CreateGPUDevice` of gpu_device.cc.
    """
    config = context.context().config
    grows = config.gpu_options.allow_growth
    if (forced := os.environ.get(_GROWTH)) is not None:
        grows = forced == "true"
    if grows or os.environ.get(_ALLOCATOR):
        return {}
    try:
        devices = device_lib.list_local_devices(config)
    except (RuntimeError, tf.errors.OpError):
        return {}
    return {each.name: int(each.memory_limit) for each in devices if each.device_type == "GPU"}


STEPS = 10  # enough: by then, arenas of the allocator and threads are there


def forget_peaks() -> None:
    """The peaks of this process count from now on."""
    memory.forget_peak()
    for device in tf.config.list_logical_devices("GPU"):
        tf.config.experimental.reset_memory_stats(device.name.removeprefix("/device:"))


def now(share: float, records: int = 0, error: str = "") -> StepMemory:
    """The peaks until now, of steps with this share of the script's batch; 0 for none yet."""
    # On a device steps are only scheduled.
    tf.test.experimental.sync_devices()
    children = processes.descendants([os.getpid()])
    samples = (processes.read(pid, "") for pid in children)
    return StepMemory(
        share,
        records,
        memory.peak_bytes(),
        memory.mapped_files_bytes(),
        sum(each.private_bytes or 0 for each in samples if each is not None),
        sum(each.spec.size_bytes for each in REGISTRY.hold().tensors) if share else 0,
        {each.device: each.peak_bytes for each in allocators()},
        error,
    )


def tell_loop(session: Session, done: int) -> None:
    """Ends the process after enough steps of a custom loop, if it is to measure."""
    if session.settings.measure_from and done >= STEPS:
        session.report(now(1.0))
        end_process(ExportEnded(0))
