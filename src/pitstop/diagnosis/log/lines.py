"""Lines of a log, without what a logger, a service, a launcher or a container puts before them."""

import html
import itertools
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from pitstop.diagnosis.exception import frame_of
from pitstop.plain_text import ESCAPES, plain

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


def ends_of(texts: Sequence[str]) -> list[int]:
    """The position in each text where its message begins, after the shared prefix."""
    ends = [0] * len(texts)
    told = list(range(len(texts)))
    needed = max(_FEWEST_LINES, _MOSTLY * len(texts))
    last = ""
    while len(told) >= needed:
        found = {i: head for i in told if (head := _head(texts[i], ends[i], last))}
        named = {i: re.sub(_LEVEL, "LEVEL", head["head"]) for i, head in found.items()}
        kinds = {i: re.sub(r"\d+", "0", text) for i, text in named.items()}
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


_PASTED = re.compile(r"(?:\\x1b|\\u001b|[\\#]033|\\e|\^\[|\u241b)\[[0-9;]*m")
"""A colour as a page, JSON or `cat -v` writes it."""
_BARE = re.compile(r"\[(?:(?:\d{1,3};)*\d{1,3})?m")
"""A colour whose escape character was lost; believed only where one is taken back, too."""


def clean(text: str) -> str:
    """The text without colours, and of lines that were overwritten the last state."""
    shown = _PASTED.sub("", ESCAPES.sub("", text)).replace("\b", "")
    if "[0m" in shown:
        shown = _BARE.sub("", shown)
    return plain("\n".join(_last_state(line) for line in shown.split("\n")))


_TF_NOTE = re.compile(r"I\d{4} [\d:.]+ +\d+ \S+:\d+\] |WARNING: All log messages before absl")


def last_lines(text: str, count: int) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not _TF_NOTE.match(line)][-count:]


def _last_state(line: str) -> str:
    states = [state for state in line.split("\r") if state.strip()]
    return states[-1].rstrip() if states else ""


_ENTITY = re.compile(r"&(?:lt|gt|quot|amp|nbsp|apos|#x?[0-9a-fA-F]{2,4});")
_TAG = re.compile(r"</?(?:pre|code|span|div|samp|tt|td|li|br|p|b|i)\b[^<>]*>", re.IGNORECASE)
_MARKS = " \t#>/*;|%"
_FEWEST_LINES = 3
_NOTEBOOK_LINE = re.compile(r'^\s*(?P<text>".*\\n"),?\s*$')
"""An output line in the file of a notebook."""

_QUOTATION = re.compile(r"`([^`]+)`|(?<![\w=(,])\"([^\"]+)\"")
_TAG_OF_TITLE = re.compile(r"^[\s#>*-]*(?:\[[\w ]+\]:? *)?| +#\d+$")
_ASIDE = re.compile(
    r"^\W*(?:(?:note|hint|tip)\W+)*if (?:you|your|it|this|that|the|an?|any|there|training)\b"
    r"|\bwhich (?:I|we) (?:\w+ )?(?:solved|fixed)\b|^\s*(?:[-*\u2022] +`[^`]+` ?[:-]|Q: )",
    re.IGNORECASE,
)
_SENTENCE_END = re.compile(r"[.?!]+(?= +[A-Z])|[.?!]*$")
_LONE_MARKS = re.compile(r"^[\s#>/*;%|`'\"!$-]{1,16}(?:\d{1,2}[.)] )?(?=[A-Za-z_])")
_BOLD = re.compile(r"^\*\*([A-Za-z_][^*]*)\*{2,}")
_LAST_MARKS = re.compile(r"[\s`*]+$")
_CLOCK = r"(?>\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?)"
_ZONE = r"(?:Z| ?[+-]\d\d:?\d\d| (?:UTC|[A-Z]{1,3}T)(?= ))?"
_DATE = r"(?:\d{2,4}[-/]\d\d[-/]\d\d|\d\d/\d\d/\d{4})"
_SYSLOG = (
    rf"(?:[A-Z][a-z]{{2}} +\d{{1,2}} {_CLOCK} \S+ )?[\w./-]+\[\d+\]:(?! segfault at| general prot)"
)
# What stands before a message; each ends with at most one space, as indentation counts.
# TensorFlow's own "2024-01-01 00:00:00.0: E core/..." stays whole.
_DECORATION = re.compile(
    rf"(?P<record>\[[^][]{{0,60}}[ |,:]{_LEVEL}\]:?|\[[\w.]+\]\[{_LEVEL}\] -(?= ))"
    rf"|(?P<time>\[?\(?{_DATE}[T ,]+{_CLOCK}{_ZONE}\]?\)?(?!: [IWEF] )(?: ?[-:|,](?= ))?)"
    rf"|(?P<clock>\[(?:{_CLOCK}| *\d+\.\d+)\](?= |$)|^\d\d:\d\d:\d\d \|(?= ))"
    rf"|(?P<logback>^{_CLOCK} \[[\w-]+\] +{_LEVEL} +[\w.$]+ -(?= ))"
    r"|(?P<kaggle>^\d+\.\ds\t\d+(?:\t|$))"
    r"|(?P<jax>(?:[\w.]+\.)?UnfilteredStackTrace: (?=[\w.]+: ))"
    r"|(?P<cri>(?:stdout|stderr)(?: [FP](?= |$)|:(?= )))"
    r"|(?P<rank>\[(?:(?:rank|Rank|worker|process|default)[ :_-]?\d+|\d+,\d+|\d+(?=\]<std))\]"
    r"(?:<std(?:err|out)>)?:?)"
    r"|(?P<index>\[\d+\]:?(?= ))"
    r"|(?P<named_rank>\((?:[\w.<>(), -]+ )?(?:pid|ip|rank)=[^)]*\))"
    r"|(?P<task>\d{1,4}:(?= |$))"
    rf"|(?P<mpi> *\[{_COUNTS}[\w.-]*[A-Za-z][\w.-]*:\d+\](?= )"
    r"|\[[\d.-]+:\d+\](?= \*\*\*| Signal:| \[ ?\d))"
    r"|(?P<service>[\w./-]*\w[-_]\d[\w-]* +\|)"
    r"|(?P<pod>\[pod/[^\]]+\])"
    rf"|(?P<syslog>{_SYSLOG})"
    r"|(?P<level>(?:\[(?:ERROR|CRITICAL|WARNING|INFO|DEBUG|stderr|stdout)\]"
    r"|(?:ERROR|CRITICAL|WARNING|INFO|DEBUG)(?:(?: -| \|)(?= )|(?= \[|: ?\[|\t))"
    r"|(?:ERROR|CRITICAL|WARNING|INFO|DEBUG|FATAL):[\w.]+):?)"
    rf"|(?P<glog>I\d{{4}} {_CLOCK} +\d+ [\w./-]+\.py:\d+\])"
    r"|(?P<quote>>{1,3}(?= |$))"
)
_STAMPS = {"time", "clock", "record"}
_MOSTLY = 0.9
_GROUP_NAMES = ("rank", "named_rank", "task", "service", "pod")
_JSON_FIELDS = ("log", "message", "msg", "textPayload", "text", "data")
_JSON_TRACES = ("exception", "exc_info", "stack_trace", "traceback")
_HEADER = "Traceback (most recent call last)"
_GLUED = re.compile(
    r"(?P<bar>\^C|.*\d ?/ ?\d.*?[\w%.\]](?: [\\|/-])?)(?<!OOM)"
    r"(?=(?:(?:\.{0,2}/|[a-zA-Z])[\w./-]*: line \d+: +\d+ )?"
    r"(?:Killed|Terminated|Segmentation fault|Aborted|Bus error|Floating point exception|Hangup"
    r"|Illegal instruction|CPU time limit exceeded)\b|slurmstepd: |srun: |zsh: |terminate called "
    rf"|Fatal Python error: |\^C|Traceback \(most|{_DATE} [\d:.]+: [IWEF] "
    r"|/\S+\.py:\d+: \w*Warning: |(?<=it/s\])\S|(?<=s/it\])\S|Epoch \d+/\d+$)"
)
_ESCAPED = re.compile(rf'{re.escape(_HEADER)}:?(?:\\n\s*)+File \\?"')
"""A traceback in a text as Python's repr() or JSON writes it."""

_ON_ONE_LINE = re.compile(
    rf'{re.escape(_HEADER)}:?\s+(?:\[\.\.\.\] )?File "'
    r'|File "[^"]+", line \d+, in .*\S\s[\w.]+(?:Error|Exception): '
)
_BEGUN = (
    rf"(?:WARNING|ERROR|INFO|CRITICAL):[\w.]+:|{_DATE} [\d:.]+: [IWEF] "
    r"|Epoch \[?\d+[/:]|\d+/\d+ [\[━-]"
    r"|During handling of the above|The above exception was the|Exception ignored in"
    r"|terminate called |what\(\): |\[[EWIF] \w+\.cpp:"
    r"|slurmstepd: |srun: |timeout: sending|[\w./-]+: line \d+: +\d+ [A-Z][a-z]+ "
    r"|(?:Killed|Terminated|Aborted|Segmentation fault)(?: \(core dumped\))?\s*$"
)
_BREAKS = re.compile(
    rf"\s+(?={re.escape(_HEADER)})"
    r'|\s+(?=File "[^"]+", line \d+, in )'
    r"|\s+(?=(?:[A-Za-z_]\w*\.)*_?[A-Z]\w*(?:Error|Exception|Interrupt)(?:: |\s*$))"
    r"|\s+(?=(?:[a-z_]\w*\.)+[A-Z]\w+: )"
    rf"|(?<=\S)\s+(?={_BEGUN})|(?<=\^\^\^\^) +"
)
"""Where the lines were that a web page or a service has put on one."""

_SEVERAL = re.compile(rf"(?<=\S\s)(?:{_BEGUN})")
_CODE_BEHIND = re.compile(r'(File "[^"]+", line \d+, in [\w<>.]+) +(?=\S)')
_OF_NOTEBOOK = re.compile(r"((?:E(?=\s))?[#>\s]+)[A-Za-z_]\w* {2,}")
_QUOTED = re.compile(r"[#>/*;%|!\s-]{1,40}")
"""Marks of comments and quotations, and the indentation of a page."""

_NUMBERED = re.compile(r"^\s*(?P<number>\d+)(?:[:|.)]? |\t|[:|]?$) ?")
_BEGUN_FRAME = re.compile(r'\s*File "')
_BEGUN_BANNER = re.compile(r"slurmstepd: .*?\*\*\* (?!.*\*\*\*)")
_MOST_DECORATIONS = 5
_LONGEST_LINE = 4000

_TYPESET = str.maketrans("\u201c\u201d\u201e\u2018\u2019\xa0", '"""\'\' ')
"""What a mail program or a page has put in the place of plain quotation marks and spaces."""


def unquoted(raw: str) -> str:
    raw = raw.translate(_TYPESET)
    raw = _BOLD.sub(r"\1", raw) if raw.startswith("**") else raw
    marks = raw.count("`")
    if marks % 2 or (marks == 2 and raw[0] == raw[-1]):  # of a quotation of one or more lines
        raw = raw.strip("`")
    text = _from_notebook(raw) if raw.endswith(('\\n",', '\\n"')) else raw
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text).replace("\xa0", " ")
    return _TAG.sub("", text) if "<" in text else text


def without_marks(text: str) -> str:
    found = _LONE_MARKS.match(text)
    return _LAST_MARKS.sub("", text[found.end() :]) if found else text


def is_aside(text: str) -> bool:
    """Advice or a question about what may come, or an error that is told to be mended."""
    return bool(_ASIDE.search(text))


def without_common_marks(lines: list[str]) -> list[str]:
    lines = _without_numbers(lines)
    told = [line for line in lines if line.strip(_MARKS)]
    columns = zip(*(line[: len(line) - len(line.lstrip(_MARKS))] for line in told), strict=False)
    shared = itertools.takewhile(lambda column: len(set(column)) == 1, columns)
    marks = "".join(column[0] for column in shared)
    if not marks or len(told) < _FEWEST_LINES:
        return lines
    return [line.removeprefix(marks) if line.strip(_MARKS) else "" for line in lines]


def _without_numbers(lines: list[str]) -> list[str]:
    """Without the numbers that an editor or a page puts before all lines."""
    found = [_NUMBERED.match(line) for line in lines if line.strip()]
    numbers = [int(each["number"]) for each in found if each]
    is_counted = all(b == a + 1 for a, b in itertools.pairwise(numbers))
    if len(numbers) < max(len(found), _FEWEST_LINES) or not is_counted:
        return lines
    return [_NUMBERED.sub("", line) for line in lines]


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
    number: int  # counted from 1, each part of a line that is read as several
    text: str  # without decoration, its indentation kept
    group: str = ""  # of interleaved writers the mark of this one; empty where there is none
    is_record: bool = field(default=False, compare=False)  # a logger began a record with it
    is_stamped: bool = field(default=False, compare=False)  # a time stood before it
    is_warning: bool = field(default=False, compare=False)  # its level, which stood before it
    origin: int = field(default=0, compare=False)  # its number in the file, where that differs


def split(text: str, first_number: int = 1) -> Iterator[Line]:
    known: re.Pattern[str] | None = None
    last = first_number - 1
    raws = _rejoined(without_common_marks([unquoted(raw) for raw in text.split("\n")]))
    half = _LONGEST_LINE // 2
    kept = [raw if len(raw) <= 2 * half else f"{raw[:half]} ... {raw[-half:]}" for raw in raws]
    lines = [_undecorated(number, raw) for number, raw in enumerate(kept, first_number)]
    if len(kept) > _FEWEST_LINES and not any(raw.strip() for raw in kept[1::2]):
        lines = lines[::2]  # a page has put an empty line below each
    for line in _without_heads(lines):
        known = _prefix_of(line.text) if _HEADER in line.text else known
        found = known.match(line.text) if known else None
        for each in _unglued(replace(line, text=line.text[found.end() :]) if found else line):
            last = max(last + 1, each.number)
            is_first = last == each.number
            yield each if is_first else replace(each, number=last, origin=each.number)


def _rejoined(lines: list[str]) -> list[str]:
    """On one line again what a terminal or a page has broken; the number of lines stays."""
    whole = list(lines)
    for index, (line, below) in enumerate(itertools.pairwise(lines)):
        is_frame = _BEGUN_FRAME.match(line) and not frame_of(line) and frame_of(line + below)
        is_banner = _BEGUN_BANNER.match(line) and below.endswith("***")
        if is_frame or is_banner:
            whole[index : index + 2] = ["", f"{line}{' ' if is_banner else ''}{below}"]
    return whole


def quotations(lines: Sequence[Line], *, is_short: bool) -> Iterator[Line]:
    """What sentences quote: between quotation marks, else in few lines what is behind a colon."""
    text = "\n".join(line.text for line in lines)
    marked = list(_QUOTATION.finditer(text))
    for found in marked:
        said = (found[1] or found[2]).replace("\n", " ")
        line = lines[text.count("\n", 0, found.start())]
        yield from (replace(line, text=each) for each in _sentences(said))
    for line in lines if is_short and not marked else ():
        for part in (_TAG_OF_TITLE.sub("", line.text), line.text.partition(": ")[2]):
            yield replace(line, text=_sentences(part)[0])


def _sentences(text: str) -> list[str]:
    return [each.strip() for each in _SENTENCE_END.split(text.strip(" `*\"'"))]


def _without_heads(lines: list[Line]) -> list[Line]:
    told = [line for line in lines if line.is_stamped]
    if len(told) < _MOSTLY * sum(1 for line in lines if line.text.strip()):
        return lines
    ends = ends_of([line.text for line in told])
    bare = {line.number: line for line in lines}
    for line, end in zip(told, ends, strict=True):
        rest = _undecorated(line.number, line.text[end:]) if end else line
        bare[line.number] = replace(rest, group=f"{line.group} {rest.group}".strip())
    return list(bare.values())


def _unglued(line: Line) -> Iterator[Line]:
    """The lines that stand on one: quoted, put there by a page, or stuck to a progress bar."""
    is_escaped = _ESCAPED.search(line.text)
    plain = line.text.replace("\\n", "\n").replace('\\"', '"') if is_escaped else line.text
    if "\n" in plain:
        for text in plain.split("\n"):
            yield from _unglued(replace(line, text=text.rstrip()))
        return
    if _ON_ONE_LINE.search(line.text) or len(_SEVERAL.findall(line.text)) > 1:
        parts = _BREAKS.split(_CODE_BEHIND.sub(r"\1\n    ", line.text))
        for text in "\n".join(parts).split("\n"):
            part = _undecorated(line.number, text)
            yield replace(part, group=f"{line.group} {part.group}".strip())
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
        marks = notebook[1]  # of an empty line without the spaces behind them
        return re.compile(rf"{re.escape(marks)}|{re.escape(marks.rstrip())}$")
    is_prefix = len(before.split()) > 1 and before.endswith((" ", ":", "|", "\t"))
    is_quoted = bool(_QUOTED.fullmatch(before))
    if not (is_prefix or is_quoted) or after.strip(": `"):
        return None
    return re.compile(re.sub(r"\d+", r"\\d+", re.escape(before)))


def _undecorated(number: int, raw: str) -> Line:
    record = raw.strip("[], ")
    text, group = (_from_json(record) if record.startswith("{") else None) or (raw, "")
    seen, is_warning = set[str | None](), False
    for _ in range(_MOST_DECORATIONS):
        found = _DECORATION.match(text)
        if found is None or not found.end():
            break
        if found.lastgroup in _GROUP_NAMES:
            group = f"{group} {found[0]}".strip()
        seen.add(found.lastgroup)
        is_warning = is_warning or "WARN" in found[0]
        text = text[found.end() :]
        text = text[1:] if text[:1] in (" ", "\t") else text
    is_record = bool(seen & {"level", "record", "glog", "logback"})
    return Line(number, text.rstrip(), group, is_record, bool(seen & _STAMPS), is_warning)


def _from_json(raw: str) -> tuple[str, str] | None:
    """The message of a record with its exception, and its writer; None without a message."""
    try:
        record = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    record = record.get("jsonPayload", record)
    if not isinstance(record, dict):
        return None
    words = {name: value for name, value in record.items() if isinstance(value, str)}
    traces = [words[name] for name in _JSON_TRACES if name in words][:1]
    names = (*_JSON_FIELDS, "event") if traces else _JSON_FIELDS
    said = [*[words[name] for name in names if name in words][:1], *traces]
    text = "\n".join(clean(each.rstrip("\r\n")) for each in said)
    return (text, str(record.get("rank", record.get("pod", "")))) if said else None
