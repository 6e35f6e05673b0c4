"""How much of a step's time goes into waiting for its input.

`tf.data` notes, for its own tuning, the time between the end of one request for an
element and the begin of the next (`gap_times` in core/framework/model.proto): what a step
takes apart from that, it has waited.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from pitstop.tensorflow import private


def gaps_seconds(iterator: Any) -> list[float]:
    """The last gaps between two requests of an iterator, the newest last; empty where none are.

    Up to a hundred of them.  An iterator of several devices, or one whose tuning is off, has none.
    """
    if not private.is_serializable(iterator):
        return []
    try:
        model = tf.data.experimental.get_model_proto(iterator)
    except (tf.errors.NotFoundError, tf.errors.UnavailableError):
        return []
    return [gap / 1e6 for gap in model.gap_times]


def waiting_share(gaps: list[float], elements: int, seconds: float) -> float | None:
    """Share of the time in which elements were waited for; None where it cannot be known.

    Args:
        gaps: see `gaps_seconds`.
        elements: how many were drawn in the time.
        seconds: the time, of whole steps.
    """
    recent = gaps[-elements:] if elements else []
    if not recent or seconds <= 0.0:
        return None
    busy = sum(recent) / len(recent) * elements
    return min(1.0, max(0.0, 1.0 - busy / seconds))
