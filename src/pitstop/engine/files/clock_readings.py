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
_NAMES = rb"(?:time(?!_?step)|timestamp|elapsed|duration|took|eta|seconds|secs|pid|runtime)[a-z_]*"
_NAMED = re.compile(
    rb"((?<![a-z])" + _NAMES + rb"(?:[ \t]?\([a-z]+\))?[\"']?[ \t]?[:=]?)[ \t]*" + _NUMBER,
    re.IGNORECASE,
)
_COLUMN = re.compile(
    rb"[\"']?(?:[a-z_ ]*[_ ])?(?:" + _NAMES + rb"|date|started|finished|s|ms)"
    rb"(?:[ _]?[(\[]?[a-z]+[)\]])?[\"']?",
    re.IGNORECASE,
)
_SEPARATOR = re.compile(rb"[,;\t]")


def without_readings(line: bytes, columns: frozenset[int] = frozenset()) -> bytes:
    """The line with one mark for each date, time of day, duration, rate and process id.

    `columns`: those of a table that hold such.
    """
    if columns:
        fields = _SEPARATOR.split(line)
        line = b",".join(b"" if i in columns else field for i, field in enumerate(fields))
    return _NAMED.sub(rb"\1\0", _READING.sub(b"\0", line))


def columns_of(header: bytes) -> frozenset[int]:
    """The columns of a table whose names say that they hold a time."""
    names = _SEPARATOR.split(header.rstrip())
    return frozenset(i for i, name in enumerate(names) if _COLUMN.fullmatch(name.strip()))


def repeated(earlier: bytes, again: bytes, header: bytes = b"") -> tuple[int, int]:
    """How many bytes of each are lines that differ by a clock only; 0 where another line comes.

    A line that one of them does not have, or not to its end, is not counted. `header` is the first
    line of the file.
    """
    counts = [0, 0]
    columns = columns_of(header)
    lines = (each.splitlines(keepends=True) for each in (earlier, again))
    for pair in zip(*lines, strict=False):
        if not all(line.endswith((b"\n", b"\r")) for line in pair):
            break
        if without_readings(pair[0], columns) != without_readings(pair[1], columns):
            return 0, 0
        counts = [count + len(line) for count, line in zip(counts, pair, strict=True)]
    return counts[0], counts[1]
