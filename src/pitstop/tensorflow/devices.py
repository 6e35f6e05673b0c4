"""The accelerators that a process computes on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import tensorflow as tf

from pitstop.engine.cluster_level import level_of_members
from pitstop.engine.exactness import Exactness
from pitstop.engine.session import Session
from pitstop.tensorflow import private
from pitstop.tensorflow.frameworks import versions

_CPU = "CPU"


def accelerators() -> dict[str, str]:
    """By kind of device ("GPU"), the models that this process may use, and how many of each.

    Asked before the first op, this makes TensorFlow look for devices, and no more.
    """
    models = Counter(
        (device.device_type, _model(device))
        for device in tf.config.get_visible_devices()
        if device.device_type != _CPU
    )
    by_kind: dict[str, list[str]] = {}
    for (kind, model), count in sorted(models.items()):
        by_kind.setdefault(kind, []).append(f"{count} x {model}")
    return {kind: ", ".join(found) for kind, found in by_kind.items()}


def computed_with() -> dict[str, str]:
    """What the bits of a training depend on: versions of the frameworks, and the devices."""
    found = "; ".join(accelerators().values())
    if found and tf.config.experimental.tensor_float_32_execution_enabled():
        found += ", TensorFloat-32"
    return {**versions(), "device": found or _CPU}


def level_of_process(session: Session | None = None) -> Exactness | None:
    """What keeps any training of this process from being exact; None where nothing does."""
    return level_of_members(session) or level_on([*accelerators()], private.deterministic_ops())


def level_on(kinds: Sequence[str], deterministic: bool) -> Exactness | None:
    """The level of a training on accelerators; None for a CPU.

    Args:
        kinds: of the accelerators.
        deterministic: only ops that give the same bits each time are used.
    """
    if not kinds:
        return None
    device = " and ".join(kinds)
    if deterministic:
        reason = f"restored exactly; whether a {device} repeats it was never measured"
    else:
        reason = (
            f"restored exactly; not repeatable on this device ({device}), where the order of sums "
            "is open: `pitstop run --deterministic`, or "
            "tf.config.experimental.enable_op_determinism()"
        )
    return Exactness("not_exact", reason)


def _model(device: tf.config.PhysicalDevice) -> str:
    details = tf.config.experimental.get_device_details(device)
    return str(details.get("device_name", device.device_type))
