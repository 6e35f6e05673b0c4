"""Who is missing where members that train together wait for each other."""

import time
from collections.abc import Iterator, Sequence

from pitstop.cluster.cluster_link import ClusterLink
from pitstop.events import Notice

_TOLD_SECONDS = 15.0
"""A member may import its libraries for so long before it joins."""
_MOST_NAMED = 5


class AssemblyWait:
    """The wait of one attempt inside of TensorFlow, for the trainers of all members."""

    def __init__(self, cluster: ClusterLink) -> None:
        self._cluster = cluster
        self._others: Sequence[str] = ()
        self._since: float | None = None  # until it is told who is missing

    def begin(self, others: Sequence[str]) -> None:
        self._others, self._since = others, time.monotonic()

    def look(self) -> Iterator[Notice]:
        """Reports once who is missing, as far as is known: TensorFlow waits without a message."""
        if self._since is None or time.monotonic() - self._since < _TOLD_SECONDS:
            return
        self._since, leads = None, self._cluster.leads
        if self._cluster.follows:
            return  # The leader knows, and tells.
        missing = [f"{self._cluster.awaited_leader} (the leader)"]
        if leads:
            there = {str(each.task) for each in leads.members if each.is_live}
            missing = [each for each in self._others if each not in there]
        if missing:
            yield Notice(
                "gang_incomplete",
                f"Waiting for {_names(missing)}, not seen in {_TOLD_SECONDS:.0f} s: no worker "
                "begins before all are there, and TensorFlow waits without end.",
                "Look at the output of the missing ones, and start them with `pitstop run`.",
            )


def waiting_for(others: Sequence[str], most_seconds: float) -> Notice:
    return Notice(
        "gang_waiting",
        f"Waiting up to {most_seconds:.0f} s for {_names(others)}: workers that train together "
        "continue from a common state.",
        "Each of them needs `pitstop run`, or `pitstop.start` in its script.",
    )


def _names(tasks: Sequence[str]) -> str:
    shown = list(tasks[:_MOST_NAMED])
    if more := len(tasks) - len(shown):
        shown.append(f"{more} more")
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1])))
