"""Tracebacks in a log: of Python, of IPython, of rich; chained, nested and interleaved."""

import itertools
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pitstop.diagnosis.exception import Frame, Raised, bare, frame_of, frames_in, from_title
from pitstop.diagnosis.log import progress
from pitstop.diagnosis.log.lines import Line, is_aside, without_marks
from pitstop.diagnosis.signatures.tables import CLASSES
from pitstop.record import Frozen

_HEADER = re.compile(r"Traceback \(most recent call last\)|Traceback:\s*$")
_IPYTHON_HEADER = re.compile(
    r"^\s*(?P<name>[A-Za-z_][\w.]*)(?: {2,}|(?<=Error))Traceback \(most recent call last\)"
)
_TITLE = re.compile(
    r"^(?P<name>[A-Za-z_][\w.]*(?:\((?P<inner>\w+)\))?)(?: \(see above for traceback\))?"
    r"(?::(?: (?P<message>.*))?)?$"
)
ERROR_NAME = re.compile(
    r"^(?:[A-Za-z_]\w*\.)*(?:Exception|_?[A-Z]\w*(?:Error|Exception|Interrupt|Exit|Iteration|Fault|Failure"
    r"|Timeout|Refused|NotFound|OutOfMemory|Stopped|Exceeded|Died|Lost|Raised|Exited|Failed)\d*"
    r"|error|gaierror|timeout)$"
)
"""What a line must begin with to be taken for an exception where no traceback precedes."""
_MEASURED = re.compile(
    r"(?!KeyError)[\w.]+: [-+]?\d[\d.]*(?:e[-+]?\d+)?\s*(?:%|m?s)?(?:[\s,;|]+\w+ ?[:=].*)?$"
)
"""What reads like an exception and is a metric, or a setting: `MeanSquaredError: 0.02`."""
_REPORTED = re.compile(
    r"^.*(?:Error reported to Coordinator: (?:<class ')?|raised unexpected: )"
    r"(?P<name>[\w.]+)(?:'?>?, |\()(?P<message>.*)$"
)
"""TensorFlow 1 logs what a thread raised, and Celery what a task raised."""
_JOINT = re.compile(
    r"The above exception was the direct cause|During handling of the above exception"
)
_NESTED = re.compile(
    r"^\s*(?:\"\"\"|'''|-- Process \d+ terminated with|\^+$)"
    r"|The stack trace below excludes JAX|^-{20,}$|^The following is the original"
)
_IPYTHON_FRAME = re.compile(
    r"^(?:File )?(?P<file>Cell In ?\[\d+\]|\S+?)(?:(?::|, line )(?P<line>\d+))?"
    r"(?:,? in (?P<function>[\w<>.]+).*)?$"
)
_ARROW = re.compile(r"^-+> ?(?P<line>\d+) ?(?P<code>.*)$")
_MESSAGE_STOP = re.compile(
    r"^(?:\d{4}-\d\d-\d\d[ T][\d:.]+: [IWEF] |\[?[IWEF]\d{0,4} |slurmstepd|srun: |=>> PBS|\S*[$#] "
    r"|Exception ignored|Process finished|Killed$|Terminated$|Aborted|Segmentation fault"
    r"|\[?Epoch |Traceback |During handling|The above exception|wandb: |ERROR conda|make: "
    r"|\*\*\* |command terminated|Command exited |Failed to execute "
    r"|[\w.-]+ +(?:INFO|WARNING|ERROR) |.*\.\.\. ?done$"
    r"|(?i:full )?(?i:stack ?trace|traceback)\W*$)"
)
_RAISE = re.compile(r"raise (?P<name>[\w.]+)(?:\([\"'](?P<message>[^\"']*))?")
_CODE = re.compile(r"(?:[\w.]+(?:, ?[\w.]+)* ?= ?)?[A-Za-z_][\w.]*\(.*\)$")
_HALF_A_FRAME = re.compile(r'^\s*File "(?P<file>[^"]+)$')  # the last line of a log that breaks off
_IN_A_FRAME = re.compile(r'\s{8}|\s*File "|\s*\S+\.py:\d+ ')
_CALLBACKS = re.compile(
    r"(?:keras|tensorpack|lightning|catalyst|fastai)/.*callbacks?(?:/\w+)?\.pyc?$"
    r"|trainer_callback\.py$"
)
_CALLS_OTHERS = re.compile(r"data_adapters?|data_utils\.py|py_dataset|enqueuer|_module_hook$")
_HOOK = re.compile(r"^on_(?:train|test|predict|epoch|batch|validation|fit)\w*_(?:begin|end|start)$")
_CALLS_HOOK = re.compile(r"\bcallbacks?\.(?P<hook>on_\w+_(?:begin|end))\(")
_LONGEST_CHAIN = 50
_MOST_FRAME_LINES = 200
_MOST_BETWEEN_FRAMES = 3
_MOST_BETWEEN_NOTEBOOK_FRAMES = 12
_MOST_MESSAGE_LINES = 60
_MOST_GAP_LINES = 6
_MOST_CODE = 3


class Traceback(Frozen):
    """What was printed of one exception, with those that it was raised from."""

    chain: tuple[Raised, ...]  # in the order of printing
    # `first`, `last`: numbers of its first and last line
    first: int
    last: int
    title: int  # number of the line that names the last exception of the chain
    group: str  # the writer, see `Line.group`
    quote: str  # the line that names the last exception, as it stands there
    headed: bool = True  # there was a traceback above, not just a line that reads like an exception
    is_original: bool = False  # it is said to be that of the exception above
    is_cut: bool = False  # the log ends before the line that names the exception

    @property
    def raised(self) -> Raised:
        return self.chain[-1]


def find(lines: Sequence[Line]) -> tuple[Traceback, ...]:
    streams: dict[str, list[Line]] = {}
    for line in lines:
        streams.setdefault(line.group, []).append(line)
    found = itertools.chain.from_iterable(map(_of_stream, streams.values()))
    return tuple(sorted(found, key=lambda each: each.title))


def _of_stream(stream: list[Line]) -> Iterator[Traceback]:
    found = list(_joined(stream))
    yield from found
    end = found[-1].last if found else 0
    rest = [line for line in stream[-_MOST_FRAME_LINES:] if line.number > end]
    bare = _cut(rest, "", headed=False)
    if bare:
        yield bare


def _joined(stream: list[Line]) -> Iterator[Traceback]:
    last: Traceback | None = None
    places = {line.number: index for index, line in enumerate(stream)}
    for each in _single(stream):
        if last and _belongs(stream[places[last.title] + 1 : places[each.first]], last, each):
            chain = (*last.chain, *each.chain)[-_LONGEST_CHAIN:]
            if _is_titled(last, each):
                chain = (replace(last.raised, frames=each.raised.frames),)
            last = Traceback(
                chain,
                last.first,
                each.last,
                each.title,
                each.group,
                each.quote,
                last.headed or each.headed,
            )
            continue
        if last:
            yield last
        last = each
    if last:
        yield last


def _belongs(gap: list[Line], before: Traceback, after: Traceback) -> bool:
    """Whether what follows is a part of the exception before; the gap begins below its title."""
    if _is_titled(before, after) or any(_JOINT.search(line.text) for line in gap):
        return True
    told = [line for line in gap if line.text.strip()]
    if (told or after.is_original) and all(_NESTED.search(line.text) for line in told):
        return len(gap) <= _MOST_GAP_LINES
    beyond = [line for line in told if line.number > before.last]
    return not beyond and after.first - before.last <= _MOST_GAP_LINES and _holds(before, after)


def _is_titled(before: Traceback, after: Traceback) -> bool:
    """A page's title tells what the traceback below ended in, whose end is missing."""
    is_title = before.title == 1 and before.quote.startswith("# ")
    return is_title and after.is_cut and not (after.raised.name or before.headed)


def _holds(before: Traceback, after: Traceback) -> bool:
    if before.headed and not after.headed and after.first == before.last + 1:
        return True
    said, again = (each.raised.message.partition("\n")[0] for each in (before, after))
    is_same = said == again and before.raised.name == after.raised.name
    return (is_same and bool(said)) or after.raised.name in said


def _single(stream: list[Line]) -> Iterator[Traceback]:
    index = 0
    while index < len(stream):
        found = _at(stream, index)
        if found:
            yield found[0]
        index = found[1] if found else index + 1


def _at(stream: list[Line], index: int) -> tuple[Traceback, int] | None:
    text = stream[index].text
    header = _HEADER.search(text)
    if header is None:
        return _lone(stream, index)
    ipython = _IPYTHON_HEADER.match(text)
    end = _title_after(stream, index + 1, ipython["name"] if ipython else "")
    if end is None:
        found = _cut(stream[index:], ipython["name"] if ipython else "", headed=True)
        return (found, len(stream) if found.raised.frames else index + 1) if found else None
    return _build(stream, index, end, headed=True)


def _cut(lines: list[Line], name: str, *, headed: bool) -> Traceback | None:
    told = [line for line in lines if line.text.strip()]
    if not told or any(_HEADER.search(line.text) for line in told[1:]):
        return None
    frames = _frames_of(told)
    at, last = told[0], told[-1 if frames else 0]
    half = _HALF_A_FRAME.match(last.text)
    frames = (*frames, Frame(half["file"], 0)) if half else frames
    if not frames and not name:
        return None
    # The last line of code names the class, as `raise StopIteration()` does.
    by_code = frames and _RAISE.match(frames[-1].code)
    message = ""
    if not name and by_code and ERROR_NAME.match(by_code["name"]):
        name, message = by_code["name"], by_code["message"] or ""
    called = _CALLS_HOOK.search(" ".join(frame.code for frame in frames[-2:]))
    hook = _callback_of(frames) or (called["hook"] if called else "")
    raised = from_title(name, message, frames, callback=hook)
    quote = (
        at.text.strip()
        if headed
        else f'File "{frames[-1].file}", line {frames[-1].line}, in {frames[-1].function or "?"}'
    )
    return Traceback(
        (raised,), at.number, last.number, at.number, at.group, quote, headed, is_cut=True
    )


def _lone(stream: list[Line], index: int) -> tuple[Traceback, int] | None:
    if _REPORTED.match(stream[index].text):
        return _build(stream, index, index, headed=False)
    title = _TITLE.match(without_marks(stream[index].text))
    if title is None or not _names_exception(title["name"].partition("(")[0]):
        return None
    if is_aside(stream[index].text):
        return None
    if title["name"].lower() == "error" and not title["message"]:
        return None
    first = _first_frame_above(stream, index)
    if first == index and _MEASURED.match(title.group()):
        return None
    return _build(stream, first, index, headed=first < index)


def _names_exception(name: str) -> bool:
    return bool(ERROR_NAME.match(name)) or bare(name) in CLASSES


def _first_frame_above(stream: list[Line], title: int) -> int:
    """Where the frames begin that stand right above; the title itself if there are none."""
    first = title
    between = _MOST_BETWEEN_FRAMES
    for index in range(title - 1, max(-1, title - _MOST_FRAME_LINES), -1):
        text = stream[index].text
        if frame_of(text):
            first = index
        elif _ARROW.match(text) or (between > _MOST_BETWEEN_FRAMES and _names_place(text)):
            first, between = index, _MOST_BETWEEN_NOTEBOOK_FRAMES
        elif first - index > between or _HEADER.search(text):
            break
    return first


def _names_place(text: str) -> bool:
    place = _IPYTHON_FRAME.match(text)
    return place is not None and bool(place["line"] or place["function"])


def _build(stream: list[Line], first: int, title: int, *, headed: bool) -> tuple[Traceback, int]:
    line = stream[title]
    match = _REPORTED.match(line.text) or _TITLE.match(without_marks(line.text).strip())
    groups = match.groupdict() if match else {}
    name = groups.get("inner") or groups.get("name") or line.text.strip()
    # A logger in the place of standard error makes a record of each part that is written.
    is_apart = title + 1 < len(stream) and stream[title + 1].text.strip() == ":"
    has_message = groups.get("message") is not None or line.text.rstrip().endswith(":")
    rest = list(_message_lines(stream, title + 1)) if has_message or is_apart else []
    message = "\n".join([groups.get("message") or "", *rest[is_apart:]]).strip()
    frames = _frames_of(stream[first:title]) or _quoted_code(
        stream[max(0, title - _MOST_CODE) : title]
    )
    raised = from_title(name, message, frames, callback=_callback_of(frames))
    last = title + len(rest)
    traceback = Traceback(
        (raised,),
        stream[first].number,
        stream[last].number,
        line.number,
        line.group,
        line.text.strip(),
        headed,
        is_original="Original Traceback" in stream[first].text,
        is_cut=_breaks_off_in_user_code(message, rest, stream[title + 1 :]),
    )
    return traceback, title + 1


def _breaks_off_in_user_code(message: str, rest: Sequence[str], below: Sequence[Line]) -> bool:
    """Keras prints the frames of the user's code before what failed in it."""
    told = [text for text in rest if text.strip()]
    if len(rest) < len(below) or not told or not message.startswith("in user code:"):
        return False
    return bool(_IN_A_FRAME.match(told[-1]))


def _title_after(stream: list[Line], start: int, name: str) -> int | None:
    """The line that names the exception; else one that somebody has indented or marked by hand."""
    marked: int | None = None
    for index in range(start, len(stream)):
        text = stream[index].text
        if _HEADER.search(text):
            break
        is_code = frame_of(stream[index - 1].text) is not None
        if name:
            if re.match(rf"(?:[\w.]+\.)?{re.escape(name)}(?::|$)", text):
                return index
        elif not frame_of(text) and _is_title(text, is_code=is_code):
            return index
        elif marked is None and index > start and not is_code:
            title = _TITLE.match(without_marks(text))
            marked = index if title and ERROR_NAME.match(title["name"]) else None
    return marked


def _is_title(text: str, *, is_code: bool) -> bool:
    title = None if text[:1].isspace() else _TITLE.match(text)
    if title is None:
        return False
    if ERROR_NAME.match(title["name"]):
        return True
    # Where the indentation was lost, code stands below its frame like a title.
    return not is_code and (":" in text or title["name"] != title["name"].lower())


def _message_lines(stream: list[Line], start: int) -> Iterator[str]:
    blanks = 0
    is_record = start > 0 and stream[start - 1].is_record
    telling = 0
    for line in itertools.islice(stream, start, None):
        text = line.text
        telling += bool(text.strip()) and not frame_of(text)
        if line.is_record and not is_record:
            return  # a logger's next record
        is_record = line.is_record
        title = _TITLE.match(text)
        if _MESSAGE_STOP.match(text) or _HEADER.search(text):
            return
        if (title and ERROR_NAME.match(title["name"])) or progress.counts(line):
            return
        blanks = 0 if text.strip() else blanks + 1
        if blanks > 2 or telling > _MOST_MESSAGE_LINES:
            return
        yield text


def _frames_of(lines: list[Line]) -> tuple[Frame, ...]:
    is_notebook = any(_ARROW.match(line.text) for line in lines)
    return tuple(_notebook_frames(lines)) if is_notebook else frames_in(each.text for each in lines)


def _quoted_code(above: list[Line]) -> tuple[Frame, ...]:
    """Whoever quotes a lone exception often puts the line of code that raised it above it."""
    told = [line.text.strip() for line in above if line.text.strip()]
    return tuple(Frame("", 0, code=text) for text in told if _CODE.match(text))


def _notebook_frames(lines: list[Line]) -> Iterator[Frame]:
    """The frames as IPython prints them: a place, and below it an arrow at the line."""
    place: re.Match[str] | None = None
    for line in lines:
        arrow = _ARROW.match(line.text)
        if arrow and place:
            yield Frame(
                place["file"], int(arrow["line"]), place["function"] or "", arrow["code"].strip()
            )
            place = None
            continue
        place = _IPYTHON_FRAME.match(line.text) if _names_place(line.text) else place
    if place:  # the log breaks off below it
        yield Frame(place["file"], int(place["line"] or 0), place["function"] or "")


def _callback_of(frames: tuple[Frame, ...]) -> str:
    """The hook of a callback that it came out of; inputs and modules have hooks of its names."""
    for above, below in itertools.pairwise((Frame("", 0), *frames)):
        is_of_others = _CALLS_OTHERS.search(f"{above.posix_path} {above.function}")
        if _HOOK.match(below.function) and not is_of_others:
            return below.function
    inside = (each for each in reversed(frames) if _CALLBACKS.search(each.posix_path))
    return next((each.function for each in inside), "")
