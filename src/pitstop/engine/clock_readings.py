"""What a clock puts into the lines of a log: it differs each time that the line is written."""

import re

_MONTH = rb"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\.?"
_NUMBER = rb"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_READING = re.compile(
    rb"[ \t]*(?:"
    rb"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?(?=[ \t]+(?:\d|[A-Z][a-z]{2}))"
    rb"|(?<!\d)\d{4}[-/.]\d\d[-/.]\d\d"
    rb"|(?<!\d)\d\d[-/.]\d\d[-/.]\d{4}"
    rb"|(?<!\d)20\d{6}[-_T]?\d{4,6}(?!\d)"
    rb"|\b" + _MONTH + rb"[ \t]+\d{1,2}\b(?:,?[ \t]+\d{4})?"
    rb"|\b\d{1,2}[ \t-]+" + _MONTH + rb"(?:[ \t-]+\d{4})?"
    rb"|(?<!\d)\d{1,3}:\d\d(?::\d\d)?(?:[.,]\d+)?(?:[ \t]?[AP]M\b|Z\b|[-+]\d\d:?\d\d)?"
    rb"|(?<!\d)1\d{9}\.\d+"
    rb"|" + _NUMBER + rb"[ \t]?(?:[num\xc2\xb5]{0,2}s|secs?|seconds?|mins?|minutes?|h|hours?"
    rb"|m(?=[ \t]?\d)|[a-z]+/(?:s|sec|second))\b"
    rb")"
)
_NAMED = re.compile(
    rb"((?<![a-z])(?:time(?!_?step)|timestamp|elapsed|duration|took|eta|seconds|secs|pid)"
    rb"[a-z_]*(?:[ \t]?\([a-z]+\))?[\"']?[ \t]?[:=]?)[ \t]*" + _NUMBER,
    re.IGNORECASE,
)


def without_readings(line: bytes) -> bytes:
    """The line with one mark for each date, time of day, duration, rate and process id."""
    return _NAMED.sub(rb"\1\0", _READING.sub(b"\0", line))


def repeated(earlier: bytes, again: bytes) -> tuple[int, int]:
    """How many bytes of each are lines that differ by a clock only; 0 where another line comes.

    A line that one of them does not have, or not to its end, is not counted.
    """
    counts = [0, 0]
    lines = (each.splitlines(keepends=True) for each in (earlier, again))
    for pair in zip(*lines, strict=False):
        if not all(line.endswith((b"\n", b"\r")) for line in pair):
            break
        if without_readings(pair[0]) != without_readings(pair[1]):
            return 0, 0
        counts = [count + len(line) for count, line in zip(counts, pair, strict=True)]
    return counts[0], counts[1]
