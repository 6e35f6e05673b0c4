"""Clues: what in a log may explain its end, each with its place and its weight."""

import re
from collections.abc import Iterator
from dataclasses import replace

from pitstop.diagnosis import exception, phrases
from pitstop.diagnosis.exception import Raised, from_title, innermost_own
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.log.lines import Line, is_aside
from pitstop.diagnosis.log.log import Log
from pitstop.diagnosis.log.progress import ran_to_its_end
from pitstop.diagnosis.log.tracebacks import Traceback
from pitstop.diagnosis.signatures import tables
from pitstop.diagnosis.signatures.signals import (
    SIGNALS,
    is_of_windows,
    signal_of,
    signal_of_code,
)
from pitstop.diagnosis.wording import ADVICE
from pitstop.record import Frozen

LIKELY = 0.5  # what is less sure is a doubt about another cause, not a cause

ENDED_BY_ITSELF = ("SIGSEGV", "SIGABRT", "SIGBUS", "SIGILL", "SIGFPE", "SIGKILL", "SIGTRAP")

_NAMES_OF_WRAPPERS = """
AlgorithmError CalledProcessError ChildFailedError ExecuteUserScriptError Exit JobSubmissionError
ProcessExitedException ProcessRaisedException RayTaskError RemoteTraceback SignalException
SubprocessError SystemExit TuneError UnexpectedStatusException"""
_WRAPPERS = frozenset(_NAMES_OF_WRAPPERS.split())
"""They tell that another process or call failed, and its number; not why."""

_TELLS_OF_AN_EXIT = re.compile(
    r"\b(?:exit(?:ed)?(?:\s+with)?(?:\s+a)?(?:\s+non-?zero)?\s*(?:exit\s+)?(?:code|status)?"
    r"|return(?:ed)?\s+(?:a\s+)?(?:non-?zero\s+)?(?:exit\s+)?(?:code|status))"
    r"[\s:=]+(?P<code>-?\d+)",
    re.IGNORECASE,
)
"""So does an exception of any other name that says how a process ended."""

_OF_A_THREAD = re.compile(r"^Exception in thread |^Process \S+:$")
_MOST_ABOVE_A_THREAD = 4  # two threads that fail at once write between each other's lines
_KILLED = "killed by signal: "
_FIRST_TO_FAIL = "Root Cause (first observed failure)"
"""torchrun lists below it the process that failed first, above it those that it ended for that."""
_SIGNAL_INSIDE = re.compile(
    r"(?:Signals\.|signal[ :]+|got signal: ?)(?P<signal>\d+|SIG[A-Z0-9]+)"
    rf"|{_KILLED}(?P<word>[A-Z][a-z]+(?: [a-z]+)*)"
)
_BENIGN_ABOVE = re.compile(
    r"^(?:Exception ignored (?:in|on)|--- Logging error ---|Error in atexit)"
)
_TELLS_NOTHING = re.compile(
    r"(?:En|De)queue operation was cancelled"
    r"|Step was cancelled by an explicit call to `Session::Close"
)
"""TensorFlow 1 ends the threads of its queues with these, for any reason."""

_OWN_NAME = r"[\w.:/-]*(?:py|torch|train|ray|jup|pt_|tf_|conda|cuda|main|data|worker|mpi|xla)"
_OTHER_PROGRAM = re.compile(
    rf"[Kk]ill(?:ed)? process \d+ \((?!{_OWN_NAME})"
    rf"|(?<![\w.:/-])(?!{_OWN_NAME})[\w.:/-]+\[\d+\]:? (?:segfault at|trap |general protection)"
)
"""Of the kernel's words on processes those on others, by the names that a training's have."""

_SAYS_LITTLE = (
    frozenset({"Error", "error", "Exception", "RuntimeError", "OSError", "IOError"})
    | tables.TENSORFLOW
    | tables.NATIVE
)
"""Classes that stand for anything: without frames of the script they name no cause."""

_MESSAGES = ("what", "fatal", "uncaught", "check")
_CODES = ("code", "exited", "finished", "finished_as", "returned", "deepspeed", "made", "minus")
"""Groups of patterns of signs."""

_COUNTED = "in this case"
_UNKNOWN_LENGTH = re.compile(r"\d/Unknown\b")
_UNCERTAIN = 0.45
_NO_DEVICE = re.compile(r"OOM when allocating (?!.*(?:CPU|allocator|device:(?!G)))")
"""What TensorFlow said before 1.4, or where the line is cut: no device but a GPU is named."""
_SAID_OF_GPUS = re.compile(r"\bOOM\b|(?:trying|[Ff]ailed) to allocate")
_MOST_EXCEPTIONS = 500  # a log that repeats an error for ever tells no more by the first of them
_TIMEOUT_EXIT_CODE = 124  # what timeout(1) of the GNU coreutils returns when the time is up
_LONE_FACTOR = 0.93
_BY_WORDS = 0.7
"""The confidence of what only words tell, at most."""
_THREAD_FACTOR = 0.93
_OWN_CODE = 0.88


class Clue(Frozen):
    cause: CauseId | None  # the cause that it points to; None of a failure without any word
    confidence: float
    weight: tables.Weight
    number: int  # of its line, from 1; 0 of what is known from elsewhere
    group: str  # the writer, see `Line.group`
    quote: str  # the line as it stands there
    headline: str
    advice: tuple[str, ...] = ()
    survived: bool = False
    is_victim: bool = False  # it tells that something else failed
    signal: str = ""
    raised: Raised | None = None
    headed: bool = False  # with the traceback above it
    in_thread: bool = False  # the exception ended a thread, or a process beside the first
    is_last_word: bool = False  # native code said it before it gave up, and it names a cause


def hint(cause: CauseId, confidence: float, line: Line, headline: str, *advice: str) -> Clue:
    quote, weight = phrases.shorten(line.text.strip()), tables.Weight.HINT
    return Clue(cause, confidence, weight, line.number, line.group, quote, headline, advice)


def of_signal(name: str, base: Clue) -> Clue | None:
    known = SIGNALS.get(name)
    if known is None:
        return replace(base, cause=None) if name else None
    return replace(
        base,
        cause=known.cause,
        confidence=known.confidence,
        signal=name,
        headline=f"{known.headline} ({name}).",
        advice=tuple(ADVICE[each] for each in known.advice),
    )


def find(log: Log) -> tuple[Clue, ...]:
    found = [*_from_tracebacks(log), *_from_signs(log)]
    return tuple(sorted(found, key=lambda clue: clue.number))


def of_status(exit_code: int | None, signal_name: str) -> Clue | None:
    name = signal_name or (signal_of_code(exit_code) if exit_code else "")
    quote = f"ended by {name}" if name else f"exit code {exit_code}"
    base = Clue(None, 0.5, tables.Weight.STATUS, 0, "", quote, f"It ended with {quote}.")
    if name:
        return of_signal(name, base)
    if exit_code == _TIMEOUT_EXIT_CODE:
        headline = "The time limit of timeout(1) was reached (exit code 124)."
        return replace(base, cause="time_limit", confidence=0.75, headline=headline)
    return base if exit_code else None


# -- exceptions ------------------------------------------------------------------


def _from_tracebacks(log: Log) -> Iterator[Clue]:
    texts = {line.number: line.text for line in log.lines}
    for each in log.tracebacks[-_MOST_EXCEPTIONS:]:
        above = texts.get(each.first - 1, "")
        near = [texts.get(each.first - back, "") for back in range(1, _MOST_ABOVE_A_THREAD + 1)]
        if _BENIGN_ABOVE.match(above) or _TELLS_NOTHING.match(each.raised.message):
            continue
        clue = _of_cut(each) if each.is_cut else _of_exception(log, each)
        if clue is None:
            continue
        if any(map(_OF_A_THREAD.match, near)):
            clue = replace(clue, confidence=clue.confidence * _THREAD_FACTOR, in_thread=True)
        yield clue


def _of_cut(traceback: Traceback) -> Clue | None:
    row = tables.of_cut(traceback.raised)
    if row is None:
        return None
    return Clue(
        row.cause,
        row.confidence,
        tables.Weight.HINT,
        traceback.title,
        traceback.group,
        traceback.quote,
        f"{row.headline}, according to a traceback whose end is missing.",
        row.advice,
        raised=traceback.raised,
    )


def _of_exception(log: Log, traceback: Traceback) -> Clue:
    raised, row = _telling(traceback.chain)
    base = Clue(
        None,
        _OWN_CODE if traceback.headed else _OWN_CODE * _LONE_FACTOR,
        tables.Weight.GENERAL,
        traceback.title,
        traceback.group,
        traceback.quote,
        f"The script failed: {raised.title}",
        raised=raised,
        headed=traceback.headed,
        survived=log.went_on_after(traceback.last, traceback.group)
        or log.told_more_after(traceback.last),
    )
    names = frozenset[str]().union(*(each.names for each in traceback.chain))
    if "KeyboardInterrupt" in names:
        headline = "The script was interrupted (SIGINT, Ctrl-C)."
        return replace(base, cause="user_interrupt", confidence=0.92, headline=headline)
    if row:
        return classified(log, base, raised, row)
    return _unclassified(base, raised)


def classified(log: Log, base: Clue, raised: Raised, row: tables.Signature) -> Clue:
    # Where no device is named it is hardly ever the host's memory, which is larger.
    is_likely = _SAID_OF_GPUS.search(raised.message) and not log.names_cpu_only
    if row.name == "exhausted" or _NO_DEVICE.search(raised.message):
        row = tables.BY_NAME["gpu_memory"] if is_likely or log.names_gpu else row
    return replace(
        base,
        cause=row.cause,
        confidence=row.confidence * (1 if base.headed else _LONE_FACTOR),
        weight=tables.Weight.GENERAL if row.is_victim else tables.Weight.SPECIAL,
        headline=f"{row.headline}: {raised.title}",
        advice=row.advice,
        is_victim=row.is_victim,
    )


def _unclassified(base: Clue, raised: Raised) -> Clue:
    if _tells_of_another(raised):
        name = signal_told(raised)
        told = replace(base, weight=tables.Weight.STATUS, is_victim=True, confidence=0.4)
        return (of_signal(name, told) if name else None) or told
    ours = exception.raised_by_ours(raised)
    if ours:
        headline = f"Pitstop itself failed: {raised.title}"
        return replace(base, cause="unknown", headline=headline, advice=(exception.HOW_TO_REPORT,))
    if raised.callback:
        headline = f"A callback failed in {raised.callback}: {raised.title}"
        advice = (ADVICE["fix_callback"],)
        return replace(base, cause="callback_error", headline=headline, advice=advice)
    own = innermost_own(raised.frames)
    if raised.name in _SAYS_LITTLE and (not (own and own.file) or raised.name in tables.TENSORFLOW):
        row = tables.of_cut(raised)  # its message tells as little as a missing one
        headline = f"{row.headline if row else 'It ended with an unknown error'}: {raised.title}"
        cause = row.cause if row else "unknown"
        return replace(base, cause=cause, confidence=_UNCERTAIN, headline=headline)
    return replace(base, cause="user_code_error")


def _tells_of_another(raised: Raised) -> bool:
    first = raised.message.partition("\n")[0]
    # The next lines may be the launcher's, but not those that it announces.
    told = raised.message if first.endswith(":") else first
    tells_of_an_exit = _TELLS_OF_AN_EXIT.search(told) or _KILLED in raised.message
    return raised.name in _WRAPPERS or bool(tells_of_an_exit)


def signal_told(raised: Raised) -> str:
    """The signal that ended another process, as the exception tells; else empty."""
    if not _tells_of_another(raised):
        return ""
    said = raised.message.rpartition(_FIRST_TO_FAIL)[2]
    inside = _SIGNAL_INSIDE.search(said)
    if inside:
        return signal_of(inside["signal"] or inside["word"])
    told = _TELLS_OF_AN_EXIT.search(said)
    return signal_of_code(int(told["code"])) if told else ""


def _telling(chain: tuple[Raised, ...]) -> tuple[Raised, tables.Signature | None]:
    """Of a chain the exception that says most and its row; of two as sure, the later."""
    rows = [(raised, tables.classify(raised)) for raised in chain]
    known = [(raised, row) for raised, row in rows if row]
    killed = [raised for raised in chain if _KILLED in raised.message]
    if killed and all(row.is_victim for _, row in known):
        return killed[-1], None
    if not known:
        others = [raised for raised, _ in rows if raised.name not in _WRAPPERS]
        named = [raised for raised in others if raised.name] or others or chain
        told = [raised for raised in named if raised.callback] or named
        return told[-1], None
    own = [pair for pair in known if not pair[1].is_victim]
    sure = max((row.confidence for _, row in known), default=0)
    of_code = [raised for raised in chain[:-1] if raised.names & tables.OF_CODE]
    if of_code and sure <= _BY_WORDS:
        return of_code[0], None  # words that pass on an error of the program
    return max(own, key=lambda pair: pair[1].confidence) if own else known[-1]


# -- signs -----------------------------------------------------------------------


def _from_signs(log: Log) -> Iterator[Clue]:
    found = [clue for sign in tables.LINES for clue in _of_all(log, sign)]
    # What native code said before it gave up explains the traces that it leaves afterwards.
    said = min((clue.number for clue in found if clue.is_last_word), default=None)
    for clue in found:
        is_echo = said is not None and clue.cause == "native_crash" and clue.number >= said
        if not is_echo or clue.weight is tables.Weight.STATUS:
            yield clue


def _of_all(log: Log, sign: tables.Signature) -> Iterator[Clue]:
    for line, found in log.matches(sign):
        if line.number in log.inside_tracebacks and sign.weight < tables.Weight.VERDICT:
            continue
        is_note = sign.weight is tables.Weight.STATUS and line.number in log.listed
        if is_note or is_aside(line.text):
            continue  # somebody's notes on ends, or advice
        clue = _of_sign(log, sign, found, line.number, line.group)
        if clue:
            yield clue


def _of_sign(
    log: Log, sign: tables.Signature, found: re.Match[str], number: int, group: str
) -> Clue | None:
    base = Clue(
        sign.cause,
        sign.confidence,
        sign.weight,
        number,
        group,
        found[0].strip(),
        f"{sign.headline}.",
        sign.advice,
        survived=(not sign.survives and log.went_on_after(number, group))
        # After the word of a process' end, an epoch that begins is enough.
        or (sign.weight is tables.Weight.STATUS and log.began_after(number, group)),
        is_victim=sign.is_victim,
    )
    if _OTHER_PROGRAM.search(found[0]) and not _said_by_shell(found[0], log.text):
        return None
    if sign.cause == "dataset_exhausted":
        told = [each for each in log.progress if each.number <= number]
        if _COUNTED not in found[0]:
            return _of_uncounted_input(log, base)
        if told and told[-1].total and not told[-1].is_before_its_end:
            # All steps of the epoch were done: what follows them is the validation.
            headline = "The validation data has fewer batches than `validation_steps` asks for."
            advice = (ADVICE["repeat_validation"],)
            return replace(base, confidence=_UNCERTAIN, headline=headline, advice=advice)
    groups = {name: text for name, text in found.groupdict().items() if text}
    if sign.cause is not None or not groups:
        message = next((groups[name] for name in _MESSAGES if name in groups), "")
        if message:
            return _of_native_message(log, base, message)
        fault = groups.get("fault")
        return replace(base, signal=signal_of(fault)) if fault else base
    (name, text), *_ = groups.items()
    return _of_code(text, base) if name in _CODES else of_signal(signal_of(text), base)


def _said_by_shell(text: str, log: str) -> bool:
    """Whether the shell that ran the process has told of its end, too."""
    pid = re.search(r"process (\d+)", text)
    return pid is not None and re.search(rf"\b{pid[1]} Killed\b", log) is not None


def _of_uncounted_input(log: Log, base: Clue) -> Clue | None:
    """Keras 3 warns of an input that is too short, and of the end of one of unknown length."""
    if _UNKNOWN_LENGTH.search(log.text):
        return None
    before = [each for each in log.progress if each.number <= base.number]
    epoch = next((each.epoch for each in reversed(before) if each.epoch is not None), None)
    if before and (before[-1].is_before_its_end or (epoch or 0) > 1):
        return base
    has_epochs = any(each.epochs for each in log.progress)
    if has_epochs and not ran_to_its_end(log.progress):
        return base
    headline = "The dataset may have had fewer batches than requested."
    return replace(base, confidence=_UNCERTAIN, headline=headline)


def _of_native_message(log: Log, base: Clue, message: str) -> Clue:
    """What native code said when it gave up is as good as the message of an exception."""
    raised = from_title("RuntimeError", message)
    row = tables.classify(raised)
    if row is None:
        return replace(base, headline=f"{base.headline.rstrip('.')}: {phrases.shorten(message)}")
    told = classified(log, replace(base, headed=True), raised, row)
    headline = f"{row.headline}: {phrases.shorten(message)}"
    return replace(told, headline=headline, headed=False, is_last_word=True)


def _of_code(text: str, base: Clue) -> Clue | None:
    code = int(text, 0)
    name = signal_of_code(code)
    told = of_signal(name, base) if name else None
    if told and told.cause == "native_crash" and is_of_windows(code):
        return replace(told, advice=(ADVICE["look_at_events_of_windows"], ADVICE["name_the_line"]))
    if name:
        return told
    if code == 0:
        return None
    return replace(base, cause=None, confidence=0.5, headline=f"It ended with exit code {code}.")
