"""The prefix that a service adds to every line after the time: host, level, place, id."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

_LEVEL = r"(?:TRACE|DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL)\b"
_COUNTS = r"(?!(?i:\S*(?:epoch|step|loss|iter|batch|acc)))"
_HEAD = re.compile(
    rf"[ \t]*(?P<head>{_LEVEL}:?|[-|:]+|\[[\w.:/=-]+\]|\{{[\w.:/-]+\}}"
    # a name that contains a digit or a mark, or a word before a mark
    rf"|{_COUNTS}(?=\S*[A-Za-z])(?=\S*[\d._/-])[\w./@-]+(?::[\w<>]+)*|{_COUNTS}\w+(?= +[-|] )"
    r")(?=[ \t]|$)"
)
_NAME = re.compile(rf"[ \t]*(?P<head>{_COUNTS}[A-Za-z]\w*:?)(?=[ \t]|$)")
"""The name of a logger, which may be any word. Accepted only after a level."""
_REST = re.compile(r" |\t*")
_FEWEST_LINES = 3
_MOSTLY = 0.9


def ends_of(texts: Sequence[str]) -> list[int]:
    """The position in each text where its message begins, after the shared prefix."""
    ends = [0] * len(texts)
    told = list(range(len(texts)))
    needed = max(_FEWEST_LINES, _MOSTLY * len(texts))
    last = ""
    while len(told) >= needed:
        found = {i: head for i in told if (head := _head(texts[i], ends[i], last))}
        kinds = {i: _kind(head["head"]) for i, head in found.items()}
        last, count = Counter(kinds.values()).most_common(1)[0] if kinds else ("", 0)
        if count < needed:
            break
        told = [i for i in told if kinds.get(i) == last]
        ends = [found[i].end() if kinds.get(i) == last else end for i, end in enumerate(ends)]
    # Indentation counts, so at most one space is removed.
    return [
        rest.end() if end and (rest := _REST.match(text, end)) else end
        for text, end in zip(texts, ends, strict=True)
    ]


def _head(text: str, start: int, last: str) -> re.Match[str] | None:
    found = _HEAD.match(text, start)
    return found or (_NAME.match(text, start) if last == "LEVEL" else None)


def _kind(head: str) -> str:
    return re.sub(r"\d+", "0", re.sub(_LEVEL, "LEVEL", head))
