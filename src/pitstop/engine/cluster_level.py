"""The level of a process that trains together with others."""

from __future__ import annotations

import os
from collections.abc import Mapping

from pitstop.cluster.spec import members
from pitstop.engine.exactness import Exactness


def level_of_members(environment: Mapping[str, str] = os.environ) -> Exactness | None:
    """The level of one member alone; None where it trains by itself."""
    count = members(environment)
    if count == 1:
        return None
    return Exactness(
        "not_exact",
        f"TF_CONFIG names {count} processes that train together, and each is saved by itself: they "
        "may stop, and go on, at different steps",
    )
