"""Which ends of trainings are saved.  Pure: times come from outside."""

from __future__ import annotations

_FIRST = 20
_COST_SECONDS = 0.05
# Of the budget; as much as for snapshots.
_SHARE = 0.5


class Milestones:
    """The first twenty, and those of trainings that took long enough to be worth it.

    A script may call `fit` for every batch.  To save each end would take longer than the
    training, and fill the disk; a resume trains the others again.
    """

    def __init__(self, overhead: float) -> None:
        self.left_out = 0
        self._share = overhead * _SHARE
        self._cost_seconds = _COST_SECONDS
        self._begun_ns = self._repeats_until_ns = 0

    @property
    def short_ns(self) -> int:
        """A training that takes no longer is not worth it."""
        return int(self._cost_seconds / self._share * 1e9)

    def begin(self, now_ns: int, *, repeats: bool) -> None:
        """A training begins; one that `repeats` is trained again, as its end was not saved."""
        self._begun_ns = now_ns
        self._repeats_until_ns = now_ns + self.short_ns if repeats else 0

    def repeats(self, now_ns: int) -> bool:
        """Whether an earlier attempt was beyond what is trained: its state is newer."""
        return now_ns < self._repeats_until_ns

    def wanted(self, begun: int, now_ns: int) -> bool:
        """Whether to save the end of a training, with which `begun` trainings have begun."""
        wanted = begun <= _FIRST or now_ns - self._begun_ns > self.short_ns
        self.left_out += not wanted
        return wanted

    def saved(self, seconds: float) -> None:
        """One was saved, and the script waited this long."""
        self._cost_seconds = seconds
