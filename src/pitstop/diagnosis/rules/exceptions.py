"""Exceptions that left the script, and exit codes that it chose."""

import re
from dataclasses import replace

from pitstop.diagnosis import exception, phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.exception import Raised
from pitstop.diagnosis.finding import CauseId, EvidenceItem, Finding
from pitstop.diagnosis.log.clues import signal_told
from pitstop.diagnosis.log.lines import last_lines
from pitstop.diagnosis.rules.numerics import NAN_MESSAGE
from pitstop.diagnosis.signatures.signals import SIGNALS
from pitstop.diagnosis.signatures.tables import BY_NAME, Signature, classify, remedies
from pitstop.diagnosis.wording import ADVICE, tell
from pitstop.events import ExceptionRaised, FitStarted, ScriptEnded, TrainerConnected

_PRINTED_FACTOR = 0.95  # an exception that was only printed may have been handled

_UNREADABLE = frozenset({"DataLossError", "InvalidArgumentError"})
"""What `--on-bad-record skip` passes over."""
_OF_NO_RECORD = re.compile(r"(?m)^\w*(?:Name|Attribute|Import|Memory)Error: |\[Errno \d+\]")
"""Errors of `__getitem__` that come from the code or the system, not from one record."""
_CPU = "CPU"
_OF_HOST = re.compile(r"device:CPU|by allocator (?:mkl)?cpu")
_NO_DEVICE_NAMED = 0.85
_RAISES = re.compile(r"^(?:except\b[^:]*: *)?raise ")
_USAGE_ERROR = 2
_ARGPARSE = re.compile(r"^\S+: error: .+$", re.MULTILINE)
_WATCHDOG = re.compile(r"(?ms)^Timeout \((?P<time>[\d:.]+)\)!$.*call first\):$(?P<stack>.*)")
"""What faulthandler prints; the main thread comes last."""
_NO_SCRIPT = re.compile(
    r"^\S*python\S*: (?P<what>can't (?:open file|find '__main__' module in) .+)$", re.MULTILINE
)
"""CPython's words, from Modules/main.c and Lib/runpy.py."""


def uncaught_exception(evidence: Evidence) -> Finding | None:
    raised = evidence.raised
    if raised is None or NAN_MESSAGE.search(raised.message) or evidence.state == "completed":
        return None
    holds_frames = 'File "' in raised.message
    told = "\n".join(exception.telling_lines(raised.message)) if holds_frames else raised.message
    lines = (phrases.shorten(line, 300) for line in last_lines(exception.without_arrays(told), 6))
    message = "\n".join(lines) or "(no message)"
    source = "output" if raised.printed else "exception"
    seen = [EvidenceItem(source, f"{raised.name}: {message}")]
    seen.append(EvidenceItem("exception", f"raised at {raised.place}"))
    if "KeyboardInterrupt" in raised.names:
        # The handler of SIGINT raises it without a message, wherever the script is.
        by_script = bool(raised.message) and raised.name == "KeyboardInterrupt"
        name = "raised_keyboard_interrupt" if by_script else "keyboard_interrupt"
        return tell(name, seen, at=_at(evidence, raised), place=raised.place)
    cause = None if classify(raised) else _known_cause(raised)
    seen += [EvidenceItem(source, f"caused by {cause.title}")] if cause else []
    known = _on_its_device(classify(cause or raised), raised, evidence)
    row = known or _own_code(raised)
    threads = evidence.failed_threads
    skip = row.cause == "data_error" and _is_of_record(raised, evidence)
    reports = raised.callback and row.cause == "network_or_download_failure"
    own = () if exception.raised_by_ours(raised) else remedies(raised)
    advice = (ADVICE["callback_survives"],) if reports else own or row.advice
    return Finding(
        row.cause or "unknown",
        row.confidence * (_PRINTED_FACTOR if raised.printed else 1),
        f"{row.headline}{_at(evidence, raised)}: {(cause or raised).title}",
        (*seen, *_limits(row, evidence), *threads),
        (
            *advice,
            *((ADVICE["thread_failed_before"],) if threads else ()),
            *((ADVICE["skip_bad_records"],) if skip else ()),
            *((f"It was raised from {raised.place}.",) if (known or own) and raised.file else ()),
            *((ADVICE["hidden_failure"],) if evidence.exit_code == 0 else ()),
        ),
    )


def _limits(row: Signature, evidence: Evidence) -> tuple[EvidenceItem, ...]:
    limits = ((name, evidence.limit(name)) for name in row.limit.split())
    return tuple(
        EvidenceItem("limits", f"{name}: {phrases.limit(limit)}") for name, limit in limits if limit
    )


def _is_of_record(raised: Raised, evidence: Evidence) -> bool:
    """Whether `--on-bad-record skip` could skip the record that raised it."""
    fit = evidence.last(FitStarted)
    adapter = fit.data.get("adapter") if fit else None
    if "IteratorGetNext" not in raised.message or adapter == "GeneratorDataAdapter":
        return False
    return bool(raised.names & _UNREADABLE) or (
        adapter == "PyDatasetAdapter"
        and "UnknownError" in raised.names
        and not _OF_NO_RECORD.search(raised.message)
    )


def _on_its_device(row: Signature | None, raised: Raised, evidence: Evidence) -> Signature | None:
    """The row, or that of GPU memory if there is a GPU and TensorFlow does not name the device."""
    connected = evidence.last(TrainerConnected)
    device = connected.versions.get("device", _CPU) if connected else _CPU
    may_be = row is not None and row.cause == "host_alloc_failure" and device != _CPU
    if not may_be or raised.name != "ResourceExhaustedError" or _OF_HOST.search(raised.message):
        return row
    return replace(BY_NAME["gpu_memory"], confidence=_NO_DEVICE_NAMED)


def _known_cause(raised: Raised) -> Raised | None:
    """The exception from which this one was raised (`from error`), if a row fits that one."""
    if not raised.frames or not _RAISES.search(raised.frames[-1].code):
        return None
    rows = ((each, classify(each)) for each in reversed(raised.causes))
    return next((each for each, row in rows if row and not row.is_victim), None)


def _own_code(raised: Raised) -> Signature:
    ours = exception.raised_by_ours(raised)
    if ours:
        return _plain("unknown", f"Pitstop itself failed, at {ours.place}", exception.HOW_TO_REPORT)
    where, name = raised.place, signal_told(raised)
    if name in SIGNALS:
        headline = f"{name} killed a process that the script had started, and the script failed"
        return _plain(SIGNALS[name].cause, headline, f"Check the process that {where} starts.")
    if raised.callback:
        advice = f"Fix {raised.callback} at {where}, or run without this callback."
        return _plain("callback_error", "Training failed", advice)
    if "SyntaxError" in raised.names:
        advice = f"Fix {where}; `python -m py_compile {raised.file}` checks it without running it."
        return _plain("user_code_error", "The script is not valid Python", advice)
    return _plain("user_code_error", "The script failed", f"Fix {where}.")


def _plain(cause: CauseId, headline: str, advice: str) -> Signature:
    return Signature(cause, headline, (advice,), confidence=0.9)


def _at(evidence: Evidence, raised: Raised) -> str:
    callback = f" in callback {raised.callback}" if raised.callback else ""
    if evidence.position is None or evidence.last(FitStarted) is None:
        return callback
    at, told = evidence.position, evidence.last(ExceptionRaised)
    # A loop that an exception leaves counts as ended.
    left_a_step = told is not None and told.phase in ("first_step", "train")
    if evidence.open_fit is None and not left_a_step:
        return f"{callback} after training (step {at.step:,})"
    return f"{callback} at {phrases.place(at.step, at.epoch, at.step_in_epoch)}"


def resume_refused(evidence: Evidence) -> Finding | None:
    refusal = evidence.refusal
    if refusal is None or evidence.state != "failed":
        return None
    seen = (EvidenceItem("journal", f"{refusal.code.replace('_', ' ')}: {refusal.message}"),)
    return tell(refusal.code, seen, message=refusal.message, remedy=refusal.remedy)


def exit_code(evidence: Evidence) -> Finding | None:
    code = evidence.exit_code
    if not code or evidence.signal or evidence.raised or evidence.state == "stopped":
        return None
    lines = last_lines(evidence.output, 3)
    said = (EvidenceItem("output", "\n".join(lines)),) if lines else ()
    seen = (EvidenceItem("exit status", f"exit code {code}"), *said)
    watchdog = _WATCHDOG.search(evidence.output)
    if watchdog:
        stood = exception.frames_in(watchdog["stack"].splitlines())
        own = next((each for each in stood if not each.is_library), None)
        place, at = own.place if own else "a library", evidence.at_step
        line = EvidenceItem("output", f"Timeout ({watchdog['time']})!")
        return tell("own_watchdog", (line, *seen[:1]), time=watchdog["time"], at=at, place=place)
    usage = _ARGPARSE.search(evidence.output) if code == _USAGE_ERROR else None
    if usage:
        return tell("arguments_refused", seen, what=phrases.shorten(usage[0]))
    absent = _NO_SCRIPT.search(evidence.output)
    if absent and not evidence.last(TrainerConnected):
        return tell("no_script", seen, what=phrases.shorten(absent["what"], 200))
    in_child = len(evidence.trainer_pids) > 1 and evidence.last(ScriptEnded)
    return tell("command_failed" if in_child else "exit_code", seen, code=code)
