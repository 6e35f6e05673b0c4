"""Lines of a log, without what a logger, a launcher or a container puts before them."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pitstop.diagnosis import output

_ENTITY = re.compile(r"&(?:lt|gt|quot|amp|nbsp|apos|#x?[0-9a-fA-F]{2,4});")
_TAG = re.compile(r"</?(?:pre|code|span|div|samp|tt|td|li|br|p|b|i)\b[^<>]*>", re.IGNORECASE)
_MARKS = " \t#>/*;|%"
_FEWEST_LINES = 3
_NOTEBOOK_LINE = re.compile(r'^\s*(?P<text>".*\\n"),?\s*$')
"""An output line in the file of a notebook."""

_LONE_MARKS = re.compile(r"^[\s#>/*;%|`'\"!$-]{1,16}(?:\d{1,2}[.)] )?(?=[A-Za-z_])")
_BOLD = re.compile(r"^\*\*([A-Za-z_][^*]*)\*{2,}")
_LAST_MARKS = re.compile(r"[\s`*]+$")
_CLOCK = r"(?>\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?)"
_ZONE = r"(?:Z|[+-]\d\d:?\d\d| UTC)?"
_DATE = r"\d{4}[-/]\d\d[-/]\d\d"
_SYSLOG = (
    rf"(?:[A-Z][a-z]{{2}} +\d{{1,2}} {_CLOCK} \S+ )?[\w./-]+\[\d+\]:(?! segfault at| general prot)"
)
# What stands before a message; each ends with at most one space, as indentation counts.
# TensorFlow's own "2024-01-01 00:00:00.0: E core/..." stays whole.
_DECORATION = re.compile(
    rf"(?P<time>\[?\(?{_DATE}[T ,]+{_CLOCK}{_ZONE}\]?\)?(?!: [IWEF] )(?: ?[-:|,](?= ))?)"
    r"|(?P<kaggle>^\d+\.\ds\t\d+(?:\t|$))"
    r"|(?P<jax>(?:[\w.]+\.)?UnfilteredStackTrace: (?=[\w.]+: ))"
    r"|(?P<cri>(?:stdout|stderr)(?: [FP](?= )|:(?= )))"
    r"|(?P<rank>\[(?:(?:rank|Rank|worker|process|default)[ :_-]?\d+|\d+,\d+)\]"
    r"(?:<std(?:err|out)>)?:?)"
    r"|(?P<index>\[\d+\]:?(?= ))"
    r"|(?P<named_rank>\((?:[\w.<>() -]+ )?(?:pid|ip|rank)=[^)]*\))"
    r"|(?P<task>\d{1,4}:(?= |$))"
    r"|(?P<service>[\w./-]*\w[-_]\d+ +\|)"
    r"|(?P<pod>\[pod/[^\]]+\])"
    rf"|(?P<syslog>{_SYSLOG})"
    r"|(?P<level>(?:\[(?:ERROR|CRITICAL|WARNING|INFO|DEBUG|stderr|stdout)\]"
    r"|(?:ERROR|CRITICAL|WARNING|INFO|DEBUG)(?:(?: -| \|)(?= )|(?= \[|: ?\[))"
    r"|(?:ERROR|CRITICAL|WARNING|INFO|DEBUG|FATAL):[\w.]+):?)"
    r"|(?P<quote>>{1,3}(?= |$))"
)
_GROUP_NAMES = ("rank", "named_rank", "task", "service", "pod")
_JSON_FIELDS = ("log", "message", "msg", "textPayload", "text", "data")
_HEADER = "Traceback (most recent call last)"
_GLUED = re.compile(
    r"(?P<bar>.*\d ?/ ?\d.*?[\w%.\]](?: [\\|/-])?)"
    r"(?=(?:(?:\.{0,2}/|[a-zA-Z])[\w./-]*: line \d+: +\d+ )?"
    r"(?:Killed|Terminated|Segmentation fault|Aborted|Bus error|Floating point exception|Hangup"
    r"|Illegal instruction|CPU time limit exceeded)\b|slurmstepd: |zsh: |terminate called "
    r"|Fatal Python error: |\^C|Traceback \(most|/\S+\.py:\d+: \w*Warning: )"
)
_ESCAPED = re.compile(rf'{re.escape(_HEADER)}:?\\n\s*File \\?"')
"""A traceback in a text as Python's repr() or JSON writes it."""

_ON_ONE_LINE = re.compile(
    rf'{re.escape(_HEADER)}:?\s+(?:\[\.\.\.\] )?File "'
    r'|File "[^"]+", line \d+, in .*\S\s[\w.]+(?:Error|Exception): '
)
_BREAKS = re.compile(
    rf"\s+(?={re.escape(_HEADER)})"
    r'|\s+(?=File "[^"]+", line \d+, in )'
    r"|\s+(?=(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception|Interrupt)(?:: |\s*$))"
    r"|(?<=\S)\s*(?=(?:WARNING|ERROR|INFO|CRITICAL):[\w.]+:)"
)
"""Where the lines were that a web page or a service has put on one."""

_OF_NOTEBOOK = re.compile(r"([#>\s]+)[A-Za-z_]\w* {2,}")
_QUOTED = re.compile(r"[#>/*;%|!\s-]{1,40}")
"""Marks of comments and quotations, and the indentation of a page."""

_MOST_DECORATIONS = 5
_LONGEST_LINE = 4000


def unquoted(raw: str) -> str:
    """The line without what a page or a notebook's file made of it."""
    raw = _BOLD.sub(r"\1", raw) if raw.startswith("**") else raw
    if raw.count("`") % 2:  # of a quotation that goes over several lines
        raw = raw.strip("`")
    text = _from_notebook(raw) if raw.endswith(('\\n",', '\\n"')) else raw
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text).replace("\xa0", " ")
    return _TAG.sub("", text) if "<" in text else text


def without_marks(text: str) -> str:
    """A lone line without marks of comments, quotations, lists and emphasis around it."""
    found = _LONE_MARKS.match(text)
    return _LAST_MARKS.sub("", text[found.end() :]) if found else text


def without_common_marks(lines: list[str]) -> list[str]:
    """The lines without the marks and the indentation that stand before all of them."""
    told = [line for line in lines if line.strip(_MARKS)]
    marks = _shared_start([line[: len(line) - len(line.lstrip(_MARKS))] for line in told])
    if not marks or len(told) < _FEWEST_LINES:
        return lines
    return [line.removeprefix(marks) if line.strip(_MARKS) else "" for line in lines]


def _shared_start(texts: list[str]) -> str:
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    end = next((i for i, (one, other) in pairs if one != other), min(len(first), len(last)))
    return first[:end]


def _from_notebook(raw: str) -> str:
    found = _NOTEBOOK_LINE.match(raw)
    if found is None:
        return raw
    try:
        return str(json.loads(found["text"])).rstrip("\n")
    except ValueError:
        return raw


@dataclass(frozen=True)
class Line:
    """One line.

    Attributes:
        number: counted from 1.
        text: without decoration, its indentation kept.
        group: of interleaved writers the mark of this one; empty where there is none.
        is_record: a logger began a record with it.
    """

    number: int
    text: str
    group: str = ""
    is_record: bool = field(default=False, compare=False)


def split(text: str, first_number: int = 1) -> Iterator[Line]:
    """The lines of a cleaned text, the first of them numbered `first_number`."""
    known: re.Pattern[str] | None = None
    raws = without_common_marks([unquoted(raw) for raw in text.split("\n")])
    half = _LONGEST_LINE // 2
    kept = [raw if len(raw) <= 2 * half else f"{raw[:half]} ... {raw[-half:]}" for raw in raws]
    lines = [_undecorated(number, raw) for number, raw in enumerate(kept, first_number)]
    for line in lines:
        known = _prefix_of(line.text) if _HEADER in line.text else known
        found = known.match(line.text) if known else None
        yield from _unglued(replace(line, text=line.text[found.end() :]) if found else line)


def _unglued(line: Line) -> Iterator[Line]:
    """The lines that stand on one: quoted, put there by a page, or stuck to a progress bar.

    A bar ends without a line break; what is printed when its process dies sticks to it.
    """
    if _ESCAPED.search(line.text):
        plain = line.text.replace("\\n", "\n").replace('\\"', '"')
        yield from (replace(line, text=text.rstrip()) for text in plain.split("\n"))
        return
    if _ON_ONE_LINE.search(line.text):
        yield from (replace(line, text=text) for text in _BREAKS.split(line.text))
        return
    found = _GLUED.match(line.text)
    if found is None:
        yield line
        return
    yield replace(line, text=found["bar"])
    yield replace(line, text=line.text[found.end("bar") :])


def _prefix_of(text: str) -> re.Pattern[str] | None:
    """What a logger that nobody knows, or who quotes it, puts before the lines of a traceback."""
    before, _, after = text.partition(_HEADER)
    notebook = _OF_NOTEBOOK.fullmatch(before)
    if notebook:
        return re.compile(re.escape(notebook[1]))
    is_prefix = len(before.split()) > 1 and before.endswith((" ", ":", "|", "\t"))
    is_quoted = bool(_QUOTED.fullmatch(before))
    if not (is_prefix or is_quoted) or after.strip(": `"):
        return None
    return re.compile(re.sub(r"\d+", r"\\d+", re.escape(before)))


def _undecorated(number: int, raw: str) -> Line:
    text, group = _from_json(raw) if raw.startswith("{") else (raw, "")
    seen = set[str | None]()
    for _ in range(_MOST_DECORATIONS):
        found = _DECORATION.match(text)
        if found is None or not found.end():
            break
        if found.lastgroup in _GROUP_NAMES:
            group = f"{group} {found[0]}".strip()
        seen.add(found.lastgroup)
        text = text[found.end() :].removeprefix(" ")
    return Line(number, text.rstrip(), group, "level" in seen)


def _from_json(raw: str) -> tuple[str, str]:
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return raw, ""
    for name in _JSON_FIELDS:
        value = record.get(name) if isinstance(record, dict) else None
        if isinstance(value, str):
            return output.clean(value.rstrip("\r\n")), str(
                record.get("rank", record.get("pod", ""))
            )
    return raw, ""
