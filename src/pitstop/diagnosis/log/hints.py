"""Lines near the end of a log that sound like an error, where nothing else is told."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pitstop.diagnosis import phrases
from pitstop.diagnosis.exception import Raised, from_title
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.log.clues import Clue, classified, hint
from pitstop.diagnosis.log.lines import Line, is_aside, without_marks
from pitstop.diagnosis.log.log import Log
from pitstop.diagnosis.signatures import tables

_SOUNDS_LIKE_AN_ERROR = re.compile(
    r"error|exception|fatal|fail(?:ed|ure)\b|^E |: E |\[E |^E\d{4} |(?-i:\b[A-Z]+_[A-Z]+: )"
    r"|\bOOM\b|\bout of memory\b|NCCL WARN|not found in checkpoint|size mismatch for"
    r"|max retries exceeded|(?:cannot|unable to) allocate|not exist\b|is not found\b"
    r"|not a \w+ file|could(?: not|n't) (?:connect|locate|resolve)|forcibly closed"
    r"|\bdenied\b|read-only file system|connection (?:refused|timed out)|unable to connect"
    r"|\b(?:Failed precondition|Unavailable|Data loss|Out of range|Invalid argument): (?![-+\d])"
    r"|^\(\d\) (?:Internal|Not found|Resource exhausted|Unimplemented|Unknown): "
    r"|^(?:Original stack trace for|Caused by op) u?'",
    re.IGNORECASE,
)
_IS_NONE = re.compile(
    r"^\W*warn|warning[:\]]|\w+Warning\b|warnings\.|(?-i:(?<!NCCL )\bWARN(?:ING)?\b)"
    r"|^W |: W |^W\d{4} |not a failure|Unable to register|cuInit|cuda_diagnostics"
    r"|dynamic library|Killed? process|\bretry(?!ing_utils)|ignor|TF-TRT|NUMA"
    r"|no error(?!\)|s? \w+ shown)|0 errors|interpreter state|OOM (?:score|risk|encountered)"
    r"|\(OOM\) killer|grappler/optimizers|[$#>] (?:python|srun|bash)|\bskipp(?:ed|ing)\b"
    r"|extraneous bytes before|^(?-i:INFO|DEBUG)\b|\bfall(?:s|ing)? back\b"
    r"|\b(?:going to|using) \S+ instead\b",
    re.IGNORECASE,
)
_ORDINARY = re.compile(
    rf"{_IS_NONE.pattern}|\b(?:sav|load|restor|writ)(?:ed|ing|ten)\b", re.IGNORECASE
)
_CALLED_AN_ERROR = re.compile(
    r"(?:^|: )(?:E(?:\d{4})? |W .*?(?:op_kernel|executor)\.cc:\d+).*?\] (?P<said>.*)$"
)
_OF_CUDA = re.compile(r"cuda|cuInit|nvidia|NVRM", re.IGNORECASE)
_NO_DEVICE = re.compile(r"failed call to cuInit")
"""A program that finds no GPU says so and goes on; a log of nothing else is about that."""
_MOSTLY = 0.7
_PATH = re.compile(r"\S*[/\\]\S*")
"""In a line that does not sound like an error the name of a folder tells nothing."""
_WAITS = re.compile(r"\bwait(?:s|ed|ing)?\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?i:\b(?:i|it|my|our|the|this|is|was|when|after|but|still|only)\b)")
_TOLD_BY_HAND = ("words_of_hangs", "words_of_crashes", "words_of_kills")
_OP_FAILED = re.compile(r"\b(?:op_kernel|executor)\.cc:\d+\] ")
"""TensorFlow calls it a warning when an operation fails; the exception comes afterwards."""
_STATUS = re.compile(r"\b(?P<code>[A-Z]+(?:_[A-Z]+)*): ")
_END_OF_INPUT = "End of sequence"  # TensorFlow warns of it at the end of each epoch
_SAYS_NO_ERROR = re.compile(
    rf"{_END_OF_INPUT}|Traceback \(most|queue operation was cancelled|Hint: If you|^\s*\[\["
    r"|interpreter state is not initialized"
)
"""The last two say what to do to learn more, and which operation it was."""
_ANNOUNCES = re.compile(r"^\W*(?i:errors?|error message|fehler|erreur|报错|错误|エラー)\W*$")
_OF_AN_OPERATION = re.compile(r"^\s*\[\[(?:\{\{|[Nn]ode)")
"""TensorFlow prints the operation that failed below the message of its exception."""
_OF_A_FRAME = re.compile(r'\s*File "|\s{4}')
"""The stack of an operation, too, has lines that look like no error."""
_NAMED = re.compile(r"(?P<name>(?:[A-Za-z_]\w*\.)*[A-Za-z]\w*(?:Error|Exception))\b")
_ANY_CLASS = frozenset({"RuntimeError", "OSError", "ValueError", "InternalError"})
"""What a message may be of whose class the line does not name."""
_OF_A_CALLBACK = re.compile(
    r"(?:\b[Cc]allbacks?|\w+Callback)(?: (?!=)|$)"
    r"|\bon_(?:epoch|train|test|batch)\w*_(?:begin|end)\b"
)
_GOES_ON = re.compile(r"[a-z]+ ")  # a line that a terminal or a page has broken off
_MOST_LINES = 60
FEW_LINES = 3  # whoever quotes no more than these quotes what failed, in whatever words
_MOST_AFTER = 8
_FACTOR = 0.45
_LIKELY = 0.88
_LINES_BEFORE = 8
_LAST_LINES = 6
_FEWEST_REPEATS = 3


def find(log: Log) -> Iterator[Clue]:
    """What the last such lines may mean, in order; far less sure than anything else."""
    inside = log.inside_tracebacks | log.listed
    told = [line for line in log.lines if line.text.strip()][-_MOST_LINES:]
    around = zip(["", *(line.text for line in told)], told, [*told[1:], Line(0, "")], strict=False)
    # Many lines follow it which say nothing of an error.
    others = [
        each for each in told if each.number not in inside and not _OF_A_FRAME.match(each.text)
    ]
    ordinary = [each.number for each in others if not _may_be_an_error(each.text)]
    last = ordinary[-_MOST_AFTER] if len(ordinary) >= _MOST_AFTER else 0
    is_of_cuda = _is_of_cuda(told)
    for above, line, below in around:
        if is_of_cuda and _NO_DEVICE.search(line.text):
            yield from _of(log, line, line.text)
        is_other = line.is_warning or is_aside(line.text) or _SAYS_NO_ERROR.search(line.text)
        if line.number <= last or is_other:
            continue  # the program went on after it
        is_told = (
            _ANNOUNCES.match(above)
            or _OF_AN_OPERATION.match(below.text)
            or (len(told) <= FEW_LINES and not _ORDINARY.search(without_marks(line.text)))
        )
        sounds = _may_be_an_error(line.text)
        if line.number not in inside and (is_told or sounds):
            said = line.text if sounds else _PATH.sub("", line.text)
            rest = below.text if _GOES_ON.match(below.text) else ""
            yield from _of(log, line, f"{said} {rest}")


def _is_of_cuda(told: list[Line]) -> bool:
    said = [line.text for line in told if without_marks(line.text)]
    return sum(map(bool, map(_OF_CUDA.search, said))) >= _MOSTLY * len(said)


def before(log: Log, clue: Clue) -> Clue | None:
    """What was said just before native code gave up, or its exception, if that tells."""
    own = (each.first for each in log.tracebacks if each.title == clue.number)
    at = next(own, clue.number)
    near = range(at - _LINES_BEFORE, at)
    for line in reversed(log.lines):
        if line.number not in near or line.group != clue.group or not _may_be_an_error(line.text):
            continue
        called = _CALLED_AN_ERROR.search(line.text)
        if clue.raised and not called:
            continue
        said = called["said"] if called else line.text.strip()
        raised = from_title("InternalError", said)
        row = tables.classify(raised)
        if row:
            base = replace(clue, number=line.number, quote=line.text.strip())
            headline = f"{row.headline}: {phrases.shorten(said)}"
            return replace(classified(log, base, raised, row), raised=None, headline=headline)
    return None


def waiting(log: Log) -> Clue | None:
    """The log ends in lines that say again and again that something is waited for, or tells it."""
    last = [line for line in log.lines if re.search(r"[^\W\d]", line.text)][-_LAST_LINES:]
    told = [re.sub(r"\d+", "0", line.text) for line in last]
    if any(text != told[-1] and text.startswith(told[-1]) for text in told):
        told.pop()  # the log breaks off in what was said before
    said = [text for text in told if _WAITS.search(text)]
    is_waiting = bool(told) and _WAITS.search(told[-1])
    if not is_waiting or (said.count(said[-1]) < _FEWEST_REPEATS and "still wait" not in said[-1]):
        return _told_by_hand(log)
    headline = "It waited for something that never came, according to its last lines."
    advice = "Check what they name: its log, its address, and whether it was started."
    return hint("hang_or_stall", _FACTOR, last[-1], headline, advice)


def _told_by_hand(log: Log) -> Clue | None:
    """What somebody tells of the end in a sentence; a program's long output is no such report."""
    if len(log.lines) > _MOST_LINES:
        return None
    for line in log.lines:
        is_said = not (line.is_stamped or line.is_warning or is_ordinary(line.text))
        is_sentence = is_said and _SENTENCE.search(line.text)
        for row in (tables.BY_NAME[name] for name in _TOLD_BY_HAND if is_sentence):
            if row.cause and row.tells(line.text):
                headline = f"{row.headline}, according to whoever describes it."
                return hint(row.cause, _FACTOR, line, headline, *row.advice)
    return None


def is_ordinary(text: str) -> bool:
    """A warning, advice, or what a program says that goes on."""
    return is_aside(text) or bool(_IS_NONE.search(without_marks(text)))


def _may_be_an_error(text: str) -> bool:
    if _OP_FAILED.search(text):
        return _END_OF_INPUT not in text
    return bool(_SOUNDS_LIKE_AN_ERROR.search(without_marks(text))) and not is_ordinary(text)


def _read_as_exception(text: str) -> Raised:
    named = _NAMED.search(text)
    if named:
        return from_title(named["name"], text.strip())
    status = _STATUS.search(tables.with_status_names(text))
    name = status["code"].title().replace("_", "") + "Error" if status else ""
    if name in tables.TENSORFLOW:
        return from_title(name, text.strip())
    return replace(from_title("RuntimeError", text.strip()), names=_ANY_CLASS)


def _of(log: Log, line: Line, said: str) -> Iterator[Clue]:
    raised = _read_as_exception(said)
    row = tables.classify(raised)
    if row is None and not tables.BY_NAME["words_of_python"].tells(said):
        return
    base = Clue(None, 0, tables.Weight.HINT, line.number, line.group, line.text.strip(), "")
    is_of_callback = _OF_A_CALLBACK.search(said)
    cause: CauseId = "callback_error" if is_of_callback else "user_code_error"
    who = "A callback" if is_of_callback else "The script"
    own = replace(base, cause=cause, confidence=_LIKELY, headline=f"{who} failed")
    clue = classified(log, base, raised, row) if row else own
    said = clue.headline.removesuffix(f": {raised.title}")
    yield replace(
        base,
        cause=clue.cause,
        confidence=clue.confidence * _FACTOR,
        headline=f"{said}, according to one of the last lines.",
        advice=clue.advice,
        survived=log.went_on_after(line.number, line.group),
    )
