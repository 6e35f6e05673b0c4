"""A share of the time that passes, to be spent now and then.  Pure: times come from outside."""

from __future__ import annotations

_MOST_EARNING_NS = 60_000_000_000


class Allowance:
    """Earns a share of the time, a minute's share at most, and knows what the next thing costs."""

    def __init__(self, share: float, now_ns: int, age_ns: int) -> None:
        """Has earned its share of the process' age."""
        self._share = share
        self._most_ns = share * _MOST_EARNING_NS
        self._at_ns = now_ns - age_ns
        self._left_ns = self._cost_ns = 0.0

    def covers(self, now_ns: int) -> bool:
        """Whether what was bought last can be had once more."""
        self._earn(now_ns)
        return self._left_ns >= min(self._cost_ns, self._most_ns)

    def spend(self, began_ns: int, now_ns: int) -> None:
        """It has been had, and took this long."""
        self._earn(now_ns)
        self._cost_ns = now_ns - began_ns
        self._left_ns -= self._cost_ns

    def _earn(self, now_ns: int) -> None:
        earned_ns = self._left_ns + self._share * (now_ns - self._at_ns)
        self._left_ns = min(earned_ns, self._most_ns)
        self._at_ns = now_ns
