"""Crashes in native code, and faults that the driver of a GPU reported."""

import re
from pathlib import Path

from pitstop.diagnosis import phrases, signatures
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.exception import HOW_TO_REPORT, Frame, frame_of_ours, with_own_code
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.signatures.signals import SIGNALS, signal_of
from pitstop.diagnosis.signatures.tables import BY_NAME
from pitstop.diagnosis.wording import ADVICE, read_table, tell
from pitstop.events import ExitCalled, FitEnded, TrainerExited
from pitstop.flight.sample import GpuSample

_XIDS = read_table(Path(signatures.__file__).with_name("xids.toml"))

_OF_A_DEVICE = frozenset(
    {
        *("OpError", "InternalError", "UnknownError", "AbortedError", "FailedPreconditionError"),
        *("XlaRuntimeError", "JaxRuntimeError", "RuntimeError", "ResourceExhaustedError"),
    }
)
"""Exceptions by which a framework reports a fault of a device; others are the script's own."""

_REMARK = 0.35


def gpu_fault(evidence: Evidence) -> Finding | None:
    faulty = next((each for each in evidence.flight.gpus if each.xid is not None), None)
    if faulty is None or faulty.xid is None or evidence.state != "failed":
        return None
    xid, raised = str(faulty.xid), evidence.raised
    # Whether a fault of a device can end a run in this way.
    may_be_it = bool(raised.names & _OF_A_DEVICE) if raised else bool(evidence.signal)
    return tell(
        "faulty_gpu" if xid in _XIDS["hardware"] else "faulty_kernel",
        _was_seen(faulty),
        confidence=None if may_be_it else _REMARK,
        index=faulty.index,
        name=faulty.name,
        xid=xid,
        words={**_XIDS["hardware"], **_XIDS["program"]}.get(xid, "see NVIDIA's catalogue"),
    )


def _was_seen(gpu: GpuSample) -> tuple[EvidenceItem, ...]:
    items = [EvidenceItem("GPU", f"Xid {gpu.xid} of GPU {gpu.index} during the attempt")]
    if gpu.ecc_errors:
        text = f"uncorrected memory errors of GPU {gpu.index} since the reboot: {gpu.ecc_errors}"
        items.append(EvidenceItem("GPU", text))
    if gpu.throttled:
        items.append(EvidenceItem("GPU", f"its clock was throttled: {', '.join(gpu.throttled)}"))
    return tuple(items)


_FATAL = re.compile(r"^Fatal Python error: (?P<what>.+)$", re.MULTILINE)
"""What faulthandler of CPython prints; in a bare log it is the only sign."""

_FRAME = re.compile(
    r'^  File "(?P<file>.+)", line (?P<line>\d+) in (?P<function>.+)$', re.MULTILINE
)
_NO_THREAD = re.compile(
    r"^.*(?:pthread_create\(?\)? failed|can't start new thread).*$", re.MULTILINE
)
_NO_MEMORY = re.compile(r"^.*(?:std::bad_alloc|Cannot allocate memory).*$", re.MULTILINE)
_LEAKED = re.compile(r"^.*leaked shared_memory objects.*$", re.MULTILINE)
_LAST_WORDS = ("native_gave_up", "native_crashed")
_STACK_POINTER = re.compile(
    r"segfault at (?P<address>[0-9a-f]+) ip [0-9a-f]+ sp (?P<top>[0-9a-f]+)"
)
_NEAR_BYTES = 1 << 16
_NEARLY_FULL = 0.02

_FAULTS = frozenset({"SIGSEGV", "SIGILL", "SIGFPE"})
"""Signals that the kernel logs when a process causes them itself and has no handler for them."""

_SENT = 0.4


def crash_signal_sent(evidence: Evidence) -> Finding | None:
    """The signal of a crash that somebody sent: the kernel, which logs crashes, logged none."""
    if not _was_sent(evidence):
        return None
    others = evidence.exit is not None and evidence.exit.kernel_faults
    since = "since the trainer's last step" if others else "during the attempt"
    logged = EvidenceItem("kernel log", f"no process crashed {since}")
    seen = (evidence.ended_by_signal, logged)
    return tell("crash_signal_sent", seen, signal=evidence.signal)


def _was_sent(evidence: Evidence) -> bool:
    # A handler, such as Python's faulthandler, ends the process by a signal that it sends.
    ended = evidence.exit
    if ended is None or ended.kernel_faults is None or _possible_faults(ended):
        return False
    return evidence.signal in _FAULTS and not _FATAL.search(evidence.output)


def native_crash(evidence: Evidence) -> Finding | None:
    name = _signal(evidence)
    crash = SIGNALS.get(name)
    call = evidence.last(ExitCalled)
    by_script = name == "SIGABRT" and call is not None and call.how == "os.abort"
    if crash is None or crash.cause != "native_crash" or by_script:
        return None
    frames, said = _crashed_in(evidence), _last_words(evidence)
    has_trained = evidence.last(FitEnded) and not evidence.open_fit
    seen = _seen(evidence, name, said)
    if _is_stack_full(seen):
        return tell("stack_overflow", seen)
    ours = frame_of_ours(frames)
    return tell(
        "native_crash",
        seen,
        confidence=_SENT if _was_sent(evidence) else None,
        advice=(HOW_TO_REPORT,) if ours else _advice(name, has_frame=bool(frames)),
        missing=() if frames else ("the Python frame that crashed",),
        signal=name,
        did=crash.did,
        after=" after the training had ended" if has_trained else "",
        where=f" in Pitstop itself, at {ours.place}" if ours else _place(frames),
        said="" if not said or _FATAL.search(said) else f": {phrases.shorten(said)}",
    )


def _last_words(evidence: Evidence) -> str:
    rows = (BY_NAME[name].line for name in _LAST_WORDS)
    found = (row.search(evidence.output) for row in rows if row)
    return next((each[0].strip() for each in found if each), "")


def _is_stack_full(seen: tuple[EvidenceItem, ...]) -> bool:
    """It touched memory right beside the top of its stack, where there was none."""
    found = (_STACK_POINTER.search(each.text) for each in seen if each.source == "kernel log")
    near = (abs(int(each["address"], 16) - int(each["top"], 16)) for each in found if each)
    return any(distance < _NEAR_BYTES for distance in near)


def illegal_instruction(evidence: Evidence) -> Finding | None:
    if _signal(evidence) != "SIGILL":
        return None
    confidence = _SENT if _was_sent(evidence) else None
    seen, did = _seen(evidence, "SIGILL"), SIGNALS["SIGILL"].did
    return tell("illegal_instruction", seen, confidence=confidence, did=did)


def shared_memory_full(evidence: Evidence) -> Finding | None:
    """SIGBUS while /dev/shm is full: a page of shared memory could not be had."""
    space = evidence.limit("dev_shm")
    size, free = space.get("size_bytes"), space.get("free_bytes")
    if _signal(evidence) != "SIGBUS" or not size or free is None:
        return None
    if free > size * _NEARLY_FULL:
        return _shared_memory_removed(evidence, size)
    limits = EvidenceItem("limits", f"/dev/shm: {free} of {size} bytes free")
    seen = (*_seen(evidence, "SIGBUS"), limits)
    return tell("shared_memory_full", seen, free=phrases.size(free), size=phrases.size(size))


def _shared_memory_removed(evidence: Evidence, size: int) -> Finding | None:
    """SIGBUS after Python, at the end of the script, has removed its shared memory."""
    line, used = _LEAKED.search(evidence.output), evidence.exit and evidence.exit.max_rss_bytes
    if line is None or not used or size > used:
        return None
    seen = _seen(evidence, "SIGBUS", line[0])
    return tell("shared_memory_removed", seen, size=phrases.size(size))


def native_no_thread(evidence: Evidence) -> Finding | None:
    line = _NO_THREAD.search(evidence.output)
    if line is None or _signal(evidence) not in ("SIGABRT", "SIGSEGV"):
        return None
    seen = _seen(evidence, evidence.signal, line[0])
    space = evidence.limit("address_space_bytes").get("soft")
    if space is not None:
        # Each thread reserves a stack: a small address space looks like a thread limit.
        return tell("no_thread_in_address_space", seen, space=phrases.size(space))
    if evidence.exit and not evidence.exit.limits:
        return None  # either of them may be the reason
    count = evidence.limit("processes").get("soft")
    return tell("no_thread", seen, of=f" (at most {count} are allowed)" if count else "")


def native_no_memory(evidence: Evidence) -> Finding | None:
    line = _NO_MEMORY.search(evidence.output)
    if line is None or _signal(evidence) not in ("SIGABRT", "SIGSEGV"):
        return None
    space = evidence.limit("address_space_bytes").get("soft")
    of = f" (address space limited to {phrases.size(space)})" if space is not None else ""
    return tell("native_no_memory", _seen(evidence, "SIGABRT", line[0]), of=of)


def _signal(evidence: Evidence) -> str:
    if evidence.signal or evidence.exit or evidence.state == "completed":
        return evidence.signal
    fatal = evidence.printed(_FATAL)
    return signal_of(fatal["what"]) if fatal else ""


def _crashed_in(evidence: Evidence) -> tuple[Frame, ...]:
    """The Python frames of the thread that crashed, the outermost first."""
    # The thread that crashed comes first, or is marked "Current thread".
    fatal = _FATAL.search(evidence.output)
    text = evidence.output[fatal.end() :] if fatal else ""
    thread = text[max(0, text.find("Current thread")) :].strip().partition("\n\n")[0]
    found = [
        Frame(each["file"], int(each["line"]), each["function"]) for each in _FRAME.finditer(thread)
    ]
    return tuple(map(with_own_code, reversed(found)))


def _place(frames: tuple[Frame, ...]) -> str:
    own = next((each for each in reversed(frames) if not each.is_library), None)
    named = dict.fromkeys(each for each in (*frames[-1:], own) if each)
    return f" in {', called by '.join(each.place for each in named)}" if named else ""


def _seen(evidence: Evidence, name: str, line: str = "") -> tuple[EvidenceItem, ...]:
    fatal = _FATAL.search(evidence.output)
    quoted = (line, fatal[0] if fatal else "")
    items = tuple(EvidenceItem("output", text.strip()) for text in dict.fromkeys(quoted) if text)
    if evidence.exit is None:
        return items
    # The kernel counts threads; the main thread has the number of its process.
    possible = _possible_faults(evidence.exit)
    names = [] if evidence.numbers_differ else [f"[{pid}]" for pid in evidence.trainer_pids]
    own = [text for text in possible if any(each in text for each in names)]
    own = own or [f"{text} (perhaps one of its threads)" for text in possible[-1:]]
    told = tuple(EvidenceItem("kernel log", text) for text in own)
    return (EvidenceItem("exit status", f"ended by {name}"), *told, *items)


def _possible_faults(ended: TrainerExited) -> list[str]:
    """Crashes since the trainer's last step: a core file may take minutes."""
    lines, ages = ended.kernel_faults or [], ended.kernel_fault_ages_seconds
    alive_seconds = ended.seconds_since_boundary
    if ages is None or alive_seconds is None or len(ages) != len(lines):
        return lines
    return [line for line, age in zip(lines, ages, strict=True) if age <= alive_seconds]


def _advice(name: str, *, has_frame: bool) -> tuple[str, ...]:
    look = () if has_frame else (ADVICE["name_the_line"],)
    if name == "SIGBUS":
        return (ADVICE["check_mapped_files"], *look)
    return (*look, ADVICE["update_library"])
