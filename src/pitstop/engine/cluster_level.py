"""The level of a process that trains together with others."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pitstop.cluster.spec import members
from pitstop.engine.exactness import Exactness
from pitstop.engine.session import Session


def level_of_members(
    session: Session | None = None, environment: Mapping[str, str] = os.environ
) -> Exactness | None:
    """The level of one member alone; None where it trains by itself, or in a gang."""
    count = members(environment)
    if session is not None and session.lockstep.agreed:
        return _doubted(session.lockstep.doubt)
    if count == 1:
        return None
    return Exactness(
        "not_exact",
        f"TF_CONFIG names {count} processes that train together, and each is saved by itself: they "
        "may stop, and go on, at different steps",
    )


def _doubted(reason: str) -> Exactness | None:
    return Exactness("not_exact", reason) if reason else None
