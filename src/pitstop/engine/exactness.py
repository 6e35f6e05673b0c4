"""How exact a resume is."""

import os
from collections.abc import Mapping

from pitstop.cluster.spec import members
from pitstop.engine.lockstep import Lockstep
from pitstop.record import Frozen

_NAMED = 3


class Exactness(Frozen):
    """How exact a resume is: "exact", "exact_by_replay" or "not_exact"; and why not more."""

    level: str
    reason: str = ""


EXACT = Exactness("exact")


def not_exact(reason: str) -> Exactness:
    return Exactness("not_exact", reason)


def level_of_members(
    lockstep: Lockstep | None = None, environment: Mapping[str, str] = os.environ
) -> Exactness | None:
    """What keeps one member alone from being exact; None where nothing does."""
    if lockstep is not None and (lockstep.agreed or lockstep.doubt):
        return not_exact(lockstep.doubt) if lockstep.doubt else None
    count = members(environment)
    if count == 1:
        return None
    return not_exact(
        f"TF_CONFIG names {count} processes that train together, but each is saved separately: "
        "they may stop and resume at different steps"
    )


def missing(names: list[str]) -> str:
    shown = ", ".join(names[:_NAMED])
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return f"state that is not restored: {shown}{more}"
