"""A `fit` whose steps are closures, which this process sends to the workers of a cluster."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from pitstop.engine.session import Session
from pitstop.events import LevelKnown
from pitstop.link.beacon import Phase

_NOT_SAVED = (
    "fit with ParameterServerStrategy is not saved: its steps are on their way to the workers "
    "while it runs; a loop with ClusterCoordinator is saved"
)


def is_sent_to_workers(model: Any) -> bool:
    """Whether the steps of this model's `fit` are."""
    strategy = getattr(model, "distribute_strategy", None)
    return isinstance(strategy, tf.distribute.ParameterServerStrategy)


def run(session: Session, original: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Runs such a `fit`: nothing of it is saved, and a stop is obeyed between two steps."""
    session.report(LevelKnown("not_exact", _NOT_SAVED, []))
    session.beacon.write_phase(Phase.WAITING)
    history = original(*args, **kwargs)
    session.beacon.write_phase(Phase.BETWEEN_FITS)
    return history
