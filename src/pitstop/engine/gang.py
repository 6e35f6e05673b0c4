"""Whether this process is one of several that train together, as TF_CONFIG tells."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from pitstop.engine.exactness import Exactness

_TRAINING = ("chief", "master", "worker")
_MOST_CHARACTERS = 64

VARIABLE = "TF_CONFIG"


def shape(config: str) -> str:
    """What of a TF_CONFIG can change bits: how many there are of each kind, and which this is.

    Hosts and ports are others in each attempt.
    """
    try:
        known = json.loads(config)
        counts = {kind: len(each) for kind, each in known["cluster"].items()}
        return json.dumps({"cluster": counts, "task": known.get("task")}, sort_keys=True)
    except (ValueError, KeyError, TypeError, AttributeError):
        # TensorFlow says what is wrong with it, if the script uses it.
        return config


def task(environment: Mapping[str, str]) -> str:
    """Which task of the cluster this process is ("worker 1"), or empty."""
    try:
        own = json.loads(environment.get(VARIABLE, ""))["task"]
        return f"{own['type']} {int(own['index'])}"[:_MOST_CHARACTERS]
    except (ValueError, KeyError, TypeError):
        return ""


def members(environment: Mapping[str, str]) -> int:
    """How many processes train together; 1 where nothing tells of others."""
    try:
        cluster = json.loads(shape(environment.get(VARIABLE, "")))["cluster"]
        return max(1, sum(int(cluster.get(kind, 0)) for kind in _TRAINING))
    except (ValueError, KeyError, TypeError, AttributeError):
        return 1


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
