"""How many threads an op of TensorFlow is split over: a resume keeps their number.

Sums are formed in other groups when the number changes, and the last bits with
them.  TensorFlow takes as many as there are CPUs, or as
`TF_NUM_INTRAOP_THREADS` says (tensorflow/core/common_runtime/process_util.cc).
Pure.
"""

from __future__ import annotations

from collections.abc import Mapping

from pitstop.events import JsonValue, Notice
from pitstop.record import record

VARIABLE = "TF_NUM_INTRAOP_THREADS"


@record
class Threads:
    """How many threads an op is split over, and how many CPUs there are.

    `kept`: the number is that of the attempts before, against TensorFlow's choice.
    """

    count: int
    cpus: int
    kept: bool = False

    @property
    def variables(self) -> dict[str, str]:
        return {VARIABLE: str(self.count)} if self.kept else {}

    @property
    def notice(self) -> Notice:
        return Notice(
            "threads_kept",
            f"TensorFlow computes with {self.count} threads as before, "
            f"not with one for each of {self.cpus} CPUs, so that the bits stay the same.",
            f"Set {VARIABLE} for another number; the last bits may differ then.",
        )


def choose(cpus: int, environment: Mapping[str, str], before: Mapping[str, JsonValue]) -> Threads:
    """The user's number if there is one, then that of the attempt before, then the CPUs.

    `before` is the fingerprint of the last attempt, empty for the first.
    """
    wanted = environment.get(VARIABLE, "")
    if wanted.isdecimal() and int(wanted):
        return Threads(int(wanted), cpus)
    count = before.get("intra_op_threads", before.get("cpus"))
    if not isinstance(count, int) or count == cpus:
        return Threads(cpus, cpus)
    return Threads(count, cpus, kept=True)
