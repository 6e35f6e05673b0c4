"""What training steps take of the memory of the host and of the devices."""

import os

import tensorflow as tf

from pitstop.engine.export_order import ExportEnded
from pitstop.engine.leaving import end_process
from pitstop.engine.session import Session
from pitstop.events import StepMemory
from pitstop.flight import processes
from pitstop.machine import memory
from pitstop.tensorflow.devices import allocators
from pitstop.tensorflow.variables import REGISTRY

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
