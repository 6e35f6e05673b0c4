"""What makes a script repeat itself that seeds nothing: variables for its processes.  Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

from pitstop.events import JsonValue
from pitstop.link.settings import ENV_ENTROPY

HASH_SEED = "PYTHONHASHSEED"
_LARGEST_HASH_SEED = 2**32 - 1


def of_new_runs(environment: Mapping[str, str]) -> str:
    """What a run begins with that is made now: what it is told, as by a drill; else nothing."""
    told = environment.get(ENV_ENTROPY, "")
    # Inside of a run, its own stands there, and who has taken it.
    return told if told.isalnum() else ""


def hash_seed(
    run_entropy: str, environment: Mapping[str, str], before: Mapping[str, JsonValue]
) -> dict[str, str]:
    """Python's hash seed: the user's, that of the attempt before, or one from the entropy."""
    known = before.get("env")
    earlier = known.get(HASH_SEED) if isinstance(known, dict) else None
    return {HASH_SEED: environment.get(HASH_SEED) or earlier or _derived(run_entropy)}


def _derived(run_entropy: str) -> str:
    digest = hashlib.sha256(f"{run_entropy}/hash".encode()).digest()
    # 0 would turn it off.
    return str(int.from_bytes(digest[:8], "big") % _LARGEST_HASH_SEED + 1)
