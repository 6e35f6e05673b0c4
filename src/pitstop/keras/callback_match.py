"""Which callback of now is which of a saved run: by kind and configuration, not by place.  Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

_PLAIN = (str, int, float, bool)


def named(callbacks: Iterable[Any]) -> dict[str, Any]:
    """Callbacks by their class, and their number among those of the same class."""
    counts: Counter[str] = Counter()
    found = {}
    for callback in callbacks:
        kind = type(callback).__name__
        found[f"{kind}[{counts[kind]}]"] = callback
        counts[kind] += 1
    return found


def matched(
    saved: Sequence[Mapping[str, Any]], callbacks: Sequence[Any]
) -> list[tuple[Mapping[str, Any], Any]]:
    """Each saved callback ("class" and "attributes") with the one of now that it is, or None."""
    left = list(callbacks)
    found: dict[int, Any] = {}
    pairs = ((_likeness(each, other), at, other) for at, each in enumerate(saved) for other in left)
    # The most alike first; among equals, in their order.
    for likeness, at, other in sorted(pairs, key=lambda pair: -pair[0]):
        if likeness >= 0 and at not in found and any(other is each for each in left):
            found[at] = other
            left = [each for each in left if each is not other]
    return [(each, found.get(at)) for at, each in enumerate(saved)]


def _likeness(saved: Mapping[str, Any], callback: Any) -> int:
    """How many plain attributes are the same; negative where the class is another."""
    if type(callback).__name__ != saved["class"]:
        return -1
    now = vars(callback)
    attributes = saved["attributes"].items()
    return sum(isinstance(value, _PLAIN) and now.get(key) == value for key, value in attributes)
