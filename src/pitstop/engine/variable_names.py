"""Names for variables whose paths may be the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable


def unique_names(paths: Iterable[str]) -> list[str]:
    """The paths in their order; the second of one path gets `.2` at its end, and so on."""
    names: list[str] = []
    taken: set[str] = set()
    counts: Counter[str] = Counter()
    for path in paths:
        counts[path] += 1
        name = path if counts[path] == 1 else f"{path}.{counts[path]}"
        while name in taken:
            counts[path] += 1
            name = f"{path}.{counts[path]}"
        taken.add(name)
        names.append(name)
    return names
