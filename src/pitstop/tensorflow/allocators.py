"""What TensorFlow's own allocators have taken of each GPU."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


def allocators() -> list[dict[str, Any]]:
    """For each GPU of this process: device, and bytes in use now and at the most."""
    return [_read(device.name) for device in tf.config.list_logical_devices("GPU")]


def _read(name: str) -> dict[str, Any]:
    short = name.removeprefix("/device:")
    sizes = tf.config.experimental.get_memory_info(short)
    return {"device": short, "current_bytes": sizes["current"], "peak_bytes": sizes["peak"]}
