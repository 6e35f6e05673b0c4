"""Of all clues in a log those that explain its end, the likeliest first; with advice by numbers."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from pitstop.diagnosis import phrases
from pitstop.diagnosis.exception import said_in
from pitstop.diagnosis.finding import CauseId, EvidenceItem, Finding
from pitstop.diagnosis.log import hints
from pitstop.diagnosis.log.clues import ENDED_BY_ITSELF, LIKELY, Clue
from pitstop.diagnosis.log.completion import RESULT
from pitstop.diagnosis.log.ending import QUIET_ENDS, Ending, of_completed
from pitstop.diagnosis.log.lines import quotations
from pitstop.diagnosis.log.log import Log
from pitstop.diagnosis.signatures.tables import TENSORFLOW, Weight, remedies
from pitstop.diagnosis.wording import ADVICE

_SHAPE = re.compile(
    r"shape ?\[(?P<shape>[\d, ]+)\](?: and type (?P<type>\w+))?"
    r"|with shape \((?P<numpy>[\d, ]+)\) and data type (?P<dtype>\w+)"
)
_ITEM_BYTES = {
    "float": 4, "float32": 4, "int32": 4, "double": 8, "float64": 8, "int64": 8, "half": 2,
    "float16": 2, "bfloat16": 2, "bool": 1, "uint8": 1, "int8": 1,
}  # fmt: skip
_TORCH = re.compile(
    r"Tried to allocate (?P<asked>[\d.]+ \w+).*?(?<![\d.])"
    r"(?P<total>(?<=ty of )[\d.]+ \w+|[\d.]+ \w+(?= total capacity))"
    r"(?: of which (?P<free>[\d.]+ \w+) is free)?",
    re.DOTALL,
)
_REQUESTED = re.compile(r"(?:allocat\w+|request\w*)[^\d\n]{0,40}(?P<bytes>\d{7,})[ b]")
_NEEDED = re.compile(r"in this case, (?P<batches>\d+) batches")
_MODULE = re.compile(r"No module named '?(?P<module>[\w.]+)")
_RAN = re.compile(
    r"^(?P<named>\S*python[\d.]*): No module|(/[\w./-]+)(?<!\.local)/lib/python([\d.]+)/site-p",
    re.MULTILINE,
)
_HUGE_BYTES = 1e12
_OF_SLURM = re.compile(r"slurmstepd: |srun: ")
_MEMORY = ("gpu_oom", "host_alloc_failure")


def by_numbers(log: Log, clue: Clue) -> tuple[str, ...]:
    text = clue.raised.message if clue.raised else clue.quote
    if clue.cause in _MEMORY:
        return tuple(about_memory(text))
    if clue.cause == "dataset_exhausted":
        return tuple(_batches(log))
    if clue.cause == "dependency_or_import_error":
        found = _MODULE.search(text)
        module = found["module"] if found else ""
        package, inside, _ = module.partition(".")
        if inside:  # Python imports the package first
            return (f"Install the version of {package} that still has `{module}`.",)
        python = _interpreter(log.text)
        return (f"Try `{python} -m pip install {package}`; its name may differ.",) if found else ()
    return ()


def _interpreter(text: str) -> str:
    """The one that ran, by its own message or by the folder of its packages."""
    told = [each["named"] or f"{each[2]}/bin/python{each[3]}" for each in _RAN.finditer(text)]
    return told[-1] if told else "python"


def about_memory(text: str, batch_size: int | None = None) -> Iterator[str]:
    shape = _SHAPE.search(text)
    if shape:
        yield from _of_shape(shape, batch_size)
    torch = _TORCH.search(text)
    if torch:
        free = f", {torch['free']} of it free" if torch["free"] else ""
        yield f"{torch['asked']} more was requested; the GPU has {torch['total']}{free}."
    requested = None if shape or torch else _REQUESTED.search(text)
    if requested:
        yield f"{phrases.size(int(requested['bytes']))} were requested at once."


def _of_shape(shape: re.Match[str], batch_size: int | None) -> Iterator[str]:
    dims = [int(dim) for dim in re.findall(r"\d+", shape["shape"] or shape["numpy"])]
    item = _ITEM_BYTES.get(shape["type"] or shape["dtype"] or "", 4)
    size_bytes = math.prod(dims) * item
    words = "x".join(map(str, dims))
    if size_bytes > _HUGE_BYTES:
        yield f"A tensor of {words} takes {phrases.size(size_bytes)}: that shape must be a mistake."
        return
    yield f"One tensor of {words} takes {phrases.size(size_bytes)}."
    is_batch = batch_size == dims[0] or (batch_size is None and not shape["numpy"])
    if len(dims) > 1 and dims[0] > 1 and is_batch:
        if_batch = f"batch_size is {batch_size}:" if batch_size else f"If {dims[0]} is the batch,"
        yield (f"{if_batch} a batch of {dims[0] // 2} needs {phrases.size(size_bytes // 2)} there.")


def _batches(log: Log) -> Iterator[str]:
    needed = _NEEDED.search(log.text)
    if needed:
        yield f"{needed['batches']} batches were asked for in total."
    totals = [each for each in log.progress if each.total]
    short = [each for each in totals if each.done and each.done < (each.total or 0)]
    if short and totals and short[-1] is totals[-1]:
        last = short[-1]
        yield f"steps_per_epoch={last.total}, but the data ended after {last.done} batches."


_ASKED: CauseId = "preempted_or_terminated"
_SURVIVED_FACTOR = 0.6
_MOST_SENTENCES = 12
_OTHER_FACTOR = 0.5
_MOST_OTHERS = 4


def findings(ending: Ending) -> list[Finding]:
    best = choose(ending)
    if best is None or (best.weight is Weight.HINT and not best.raised):
        quoted = _quoted(ending)
        is_vague = best is not None and best.cause == "user_code_error"
        is_sure = quoted and (quoted.signal or quoted.cause == "user_interrupt" or is_vague)
        told = None if best else _code(ending)
        tells_more = quoted and not (told and quoted.cause in ("unknown", "user_code_error"))
        best = quoted if is_sure or (best is None and tells_more) else best or told
    if best is None:
        return []
    others = _others(ending, best)
    return [_finding(ending, best), *(_finding(ending, each) for each in others)]


def _quoted(ending: Ending) -> Clue | None:
    """What somebody quotes within sentences, or a page's title, where nothing else is told."""
    told = [line for line in ending.log.lines if line.text.strip()]
    titles = [line for line in told[:1] if line.text.startswith("# ")]
    for lines in (told if len(told) <= _MOST_SENTENCES else [], titles):
        serious = [each for each in lines if not (each.is_warning or hints.is_ordinary(each.text))]
        said = quotations(serious, is_short=len(lines) <= hints.FEW_LINES)
        found = choose(Ending(Log(tuple(each for each in said if not RESULT.search(each.text)))))
        if found and found.cause != "completed_normally":
            return replace(found, confidence=found.confidence * _SURVIVED_FACTOR)
    return None


def choose(ending: Ending) -> Clue | None:
    best = _best(ending)
    return (_killed_for_memory(ending) or best) if best and best.signal == "SIGKILL" else best


def _killed_for_memory(ending: Ending) -> Clue | None:
    """If only SIGKILL is known of the end: a line at any place that says that memory was short."""
    said = [each for each in ending.clues if each.weight is Weight.VERDICT]
    found = next((each for each in reversed(said) if each.cause == "host_oom_killed"), None)
    if found is None or not found.survived:
        return found
    return replace(found, confidence=found.confidence * _SURVIVED_FACTOR)


def _best(ending: Ending) -> Clue | None:
    if ending.exit_code == 0:
        return of_completed(ending)
    fatal = [each for each in ending.clues if not each.survived and each.weight > Weight.HINT]
    loud = [each for each in fatal if each.cause not in QUIET_ENDS]
    found = _verdict(loud)
    if found:
        return (found.cause == "time_limit" and _waited_for(ending, loud, found)) or found
    if ending.is_complete:
        return of_completed(ending)
    status, code = _status(loud), _code(ending)
    return (
        _error(ending, loud)
        or (status and _refined(ending, status))
        or of_completed(ending)
        or (code if code and code.cause != "unknown" else _hint(ending))
    )


def _verdict(fatal: Sequence[Clue]) -> Clue | None:
    """Whoever ended it; but a launcher also ends the other tasks where one has failed."""
    own = min((each.number for each in fatal if not each.is_victim and each.number), default=0)
    verdicts = [each for each in fatal if each.weight is Weight.VERDICT]
    said = [each for each in verdicts if not (each.is_victim and 0 < own < each.number)]
    return max(said, key=lambda each: each.confidence, default=None)


def _waited_for(ending: Ending, fatal: Sequence[Clue], verdict: Clue) -> Clue | None:
    """What ended the training just above, where others then waited until the time was up."""
    above = [each for each in fatal if each.number < verdict.number]
    own = next((each for each in reversed(above) if each.headed and not each.is_victim), None)
    said = [
        line
        for line in ending.log.lines
        if own and own.number < line.number < verdict.number and line.text.strip()
    ]
    message = own.raised.message.partition("\n\n")[0] if own and own.raised else ""
    is_last = all(_OF_SLURM.match(line.text) or line.text.strip() in message for line in said)
    return _error(ending, above) if own and is_last and ending.log.progress else None


def _error(ending: Ending, fatal: Sequence[Clue]) -> Clue | None:
    """What the script, or native code in it, said last; a victim only where nobody else did."""
    told = [
        each for each in fatal if each.cause and each.weight in (Weight.GENERAL, Weight.SPECIAL)
    ]
    headed = [each for each in told if each.headed or each.raised is None]
    own = [each for each in headed if not each.is_victim] or [
        each for each in told if not each.is_victim
    ]
    if not own:
        last = told[-1] if told else None
        # A launcher that could not start the others tells no more than what stands above.
        above = hints.before(ending.log, last) if last and not last.raised else None
        own_above = above if above and not above.is_victim else None
        # Of one whose GPU was full the others only tell that it went away.
        full = (each for each in ending.clues if each.cause == "gpu_oom" and not each.survived)
        beside = next(full, None) if told else None
        return _crash_before(ending, told) or beside or own_above or last
    return _refined(ending, _first_to_fail(own))


def _crash_before(ending: Ending, victims: Sequence[Clue]) -> Clue | None:
    """A victim tells that a process went away; how that one ended says more."""
    found = _status([each for each in ending.clues if each.signal != "SIGABRT"])
    return found if victims and found and found.signal else None


def _first_to_fail(own: Sequence[Clue]) -> Clue:
    interrupts = [each for each in own if each.cause == "user_interrupt"]
    if interrupts:
        before = [each for each in own if each.number < interrupts[0].number]
        stuck = [each for each in before if each.in_thread]
        return stuck[0] if stuck else interrupts[-1]
    outside = [each for each in own if each.headed and not each.in_thread]
    if own[-1].in_thread and outside:
        own = outside  # threads that the script leaves behind may fail at its end
    groups = {each.group for each in own}
    if len(groups) > 1:
        lasts = [[each for each in own if each.group == group][-1] for group in groups]
        return max(lasts, key=lambda each: (each.weight, -each.number))
    last = own[-1]
    natives = [each for each in own if each.raised is None and each.weight is Weight.SPECIAL]
    if last.raised is None:
        exceptions = [each for each in own if each.raised is not None and each.headed]
        return exceptions[-1] if exceptions else _surest(natives or own)
    if last.weight is Weight.GENERAL and (last.in_thread or not last.headed):
        return _surest(own)
    return last


def _surest(own: Sequence[Clue]) -> Clue:
    """What names a cause tells more than that there was a crash."""
    return max(
        own,
        key=lambda each: (
            each.weight,
            each.cause != "native_crash",
            each.confidence,
            each.number,
        ),
    )


_STILL_SPENT: tuple[CauseId, ...] = (
    *("disk_full", "thread_or_process_limit", "shm_exhausted", "too_many_open_files"),
)


def _refined(ending: Ending, clue: Clue) -> Clue:
    """What stands before an error and explains it."""
    if clue.cause == "native_crash" and clue.raised is None:
        return hints.before(ending.log, clue) or clue
    if clue.weight is Weight.GENERAL:
        # A disk that was full is so still: what fails after it, in whatever way, fails for that.
        # OpenBLAS interrupts its own process if it cannot start a thread.
        spent = (_before(ending, clue, cause) for cause in _STILL_SPENT)
        return (
            next((each for each in spent if each), None)
            or _before_missing_names(ending, clue)
            or _of_an_operation(ending, clue)
            or clue
        )
    if clue.cause != "gpu_driver_or_library":
        return clue
    above = hints.before(ending.log, clue)
    full = _before(ending, clue, "gpu_oom") or above
    if full is None or full.cause != "gpu_oom":
        return clue
    return replace(full, confidence=0.8)


def _earlier(ending: Ending, clue: Clue) -> list[Clue]:
    return [each for each in ending.clues if each.number < clue.number and not each.survived]


def _before(ending: Ending, clue: Clue, cause: CauseId) -> Clue | None:
    found = [each for each in _earlier(ending, clue) if each.cause == cause]
    return found[-1] if found else None


def _before_missing_names(ending: Ending, clue: Clue) -> Clue | None:
    """In a notebook a cell that fails leaves names undefined, and later cells fail for them."""
    if clue.raised is None or clue.raised.name != "NameError":
        return None
    before = [
        each
        for each in _earlier(ending, clue)
        if each.raised
        and each.raised.name != "NameError"
        and (each.headed or each.weight is Weight.SPECIAL)
    ]
    return before[-1] if before else None


def _of_an_operation(ending: Ending, clue: Clue) -> Clue | None:
    """An exception of TensorFlow that names no cause; its native code may have said it before."""
    is_unclear = clue.raised and clue.raised.name in TENSORFLOW and not clue.is_victim
    return hints.before(ending.log, clue) if is_unclear else None


def _status(fatal: Sequence[Clue]) -> Clue | None:
    """How it ended; but a launcher asks the other tasks to end where one has failed."""
    told = [each for each in fatal if each.weight is Weight.STATUS]
    failed = min((each.number for each in told if each.cause != _ASKED), default=0)
    known = [each for each in told if each.cause]
    statuses = [each for each in known if each.cause != _ASKED or not 0 < failed < each.number]
    own = [each for each in statuses if each.signal in ENDED_BY_ITSELF]
    signalled = [each for each in statuses if each.signal]
    ranked = own or signalled or statuses
    return ranked[-1] if ranked else None


def _code(ending: Ending) -> Clue | None:
    """An exit code, if nothing in the log tells why: the script's, or one that a launcher tells."""
    told = [each for each in ending.clues if each.weight is Weight.STATUS and not each.survived]
    codes = [each for each in told if each.cause is None]
    if not codes:
        return None
    if not codes[-1].number or any(each.raised and each.headed for each in ending.clues):
        return replace(codes[-1], cause="user_code_error", confidence=0.35)
    advice = (ADVICE["read_own_log"],)
    return replace(codes[-1], cause="unknown", confidence=0.3, advice=advice)


def _hint(ending: Ending) -> Clue | None:
    found = [each for each in ending.clues if each.weight is Weight.HINT and not each.survived]
    said = [each for each in hints.find(ending.log) if not each.survived]
    last = max(found, key=lambda each: each.number, default=None)
    if last and (last.raised is None or not said):
        return replace(last, confidence=last.confidence * _SURVIVED_FACTOR)
    return said[-1] if said else hints.waiting(ending.log)


def _others(ending: Ending, best: Clue) -> list[Clue]:
    rest: dict[CauseId, Clue] = {}
    ranked = sorted(ending.clues, key=lambda each: (-each.weight, each.survived, -each.number))
    for each in ranked:
        if each.cause and each.cause != best.cause and each.weight > Weight.HINT:
            factor = _SURVIVED_FACTOR if each.survived else 1
            # What is a doubt already is no less likely because of the cause.
            factor *= _OTHER_FACTOR if each.confidence >= LIKELY else 1
            found = replace(each, confidence=each.confidence * factor)
            rest.setdefault(each.cause, found)
    return list(rest.values())[:_MOST_OTHERS]


def _finding(ending: Ending, clue: Clue) -> Finding:
    assert clue.cause is not None
    raised = clue.raised
    own = (f"It was raised from {raised.place}.",) if raised and raised.file else ()
    advice = (raised and remedies(raised)) or clue.advice
    return Finding(
        clue.cause,
        clue.confidence,
        clue.headline,
        tuple(_evidence(ending, clue)),
        (*by_numbers(ending.log, clue), *advice, *own),
        ("who ended it",) if clue.cause == "killed_from_outside" else (),
    )


def _evidence(ending: Ending, clue: Clue) -> Iterable[EvidenceItem]:
    number, quote = _telling_line(ending, clue)
    at = next((line for line in ending.log.lines if line.number == number), None)
    where = f"line {at.origin or at.number:,}: " if at else ""
    yield EvidenceItem("output" if number else "exit status", f"{where}{quote}")
    if clue.raised and clue.raised.file:
        yield EvidenceItem("exception", f"raised at {clue.raised.place}")
    progress = [each for each in ending.log.progress if each.number <= (clue.number or 1 << 60)]
    if progress and progress[-1].number != clue.number:
        line = next(each for each in ending.log.lines if each.number == progress[-1].number)
        text = phrases.shorten(line.text.strip(), 120)
        yield EvidenceItem("progress", f"line {line.origin or line.number:,}: {text}")


def _telling_line(ending: Ending, clue: Clue) -> tuple[int, str]:
    said = said_in(clue.raised.message) if clue.raised else ""
    if not said or said in clue.quote:
        return clue.number, clue.quote
    found = (each for each in ending.log.lines if each.number >= clue.number)
    line = next((each for each in found if said in each.text), None)
    return (line.number, line.text.strip()) if line else (clue.number, clue.quote)
