"""The tables of signatures and of advice, and which row an exception belongs to."""

import builtins
import enum
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pitstop.diagnosis.exception import Frame, Raised, frames_in, from_title, said_in
from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.signatures.signals import WORDS
from pitstop.diagnosis.wording import ADVICE, read_table
from pitstop.record import Frozen

_TABLE = read_table(Path(__file__).with_name("places.toml"))


def _patterns(kind: str) -> Mapping[str, re.Pattern[str]]:
    return {place: re.compile(row[kind]) for place, row in _TABLE.items() if kind in row}


_FUNCTIONS, _FILES = _patterns("functions"), _patterns("files")
_CALLS = re.compile(r"(\w+)\(")
_FITS = re.compile(r"\.fit(?:_generator)?\(")
_OPENS_TO_WRITE = re.compile(r"\bopen\([^;]*[\"'][wax][bt+]*[\"'][^;]*$")
_KERAS_FILES = re.compile(r"keras/.*utils/file_utils\.py")
_IMPORT = re.compile(r"^(?:import|from) [^;]*$")


def places_of(raised: Raised) -> frozenset[str]:
    """What was being done: by `places.toml`, or by how the frames stand to each other."""
    # Keras, AutoGraph and `tf.py_function` put frames into the message, too.
    is_told = "in user code:" in raised.message or "\nTraceback (most" in raised.message
    told = frames_in(raised.message.splitlines()) if is_told else ()
    found = {place for frame in (*raised.frames, *told) for place in _places(frame)}
    if _is_importing(raised.frames):
        found.add("importing")
    fits = any(_FITS.search(frame.code) for frame in raised.frames if not frame.is_library)
    inner = raised.frames[-1] if raised.frames else None
    # Keras takes the frames of its callbacks out of tracebacks.
    if fits and inner and ("saving" in found or _KERAS_FILES.search(inner.posix_path)):
        found |= {"saving", "saving_in_fit"}
    if all(frame.is_library for frame in raised.frames):
        found.add("unseen")
    if _is_restoring_inside(raised.frames):
        found.add("restoring_inside")
    return frozenset(found)


def _places(frame: Frame) -> list[str]:
    # Keras takes its own frames out of tracebacks; the call of the user tells the same.
    functions = [frame.function.rpartition(".")[2], *_CALLS.findall(frame.code)]
    found = [place for place, pattern in _FUNCTIONS.items() if any(map(pattern.match, functions))]
    at = f"{frame.posix_path} {functions[0]}"
    found += [place for place, pattern in _FILES.items() if pattern.search(at)]
    return [*found, "saving"] if _OPENS_TO_WRITE.search(frame.code) else found


def _is_restoring_inside(frames: tuple[Frame, ...]) -> bool:
    """The user's call to load something saved, if that is shown, and below it libraries only."""
    own = [i for i, frame in enumerate(frames) if not frame.is_library]
    inner = frames[own[-1] :] if own else frames
    places = {place for frame in inner for place in _places(frame)}
    return len(inner) > 1 and "restoring" in places and "saving" not in places


def _is_importing(frames: tuple[Frame, ...]) -> bool:
    if frames and frames[-1].file.startswith("<frozen importlib"):
        return True
    # The file may have changed since: a call inside of one file is no import, whatever its line is.
    imports = [
        i
        for i, each in enumerate(frames)
        if _IMPORT.match(each.code) and each.file != (*frames, Frame("", 0))[i + 1].file
    ]
    own = [i for i in imports if not frames[i].is_library] or imports[:1]
    below = frames[own[-1] + 1 :] if own else ()
    # Of a frame without a line the log shows only a part of the path.
    return bool(own) and all(frame.is_library or not frame.line for frame in below)


_OF_TENSORFLOW = """
OpError ResourceExhaustedError InternalError UnknownError AbortedError UnavailableError
InvalidArgumentError NotFoundError PermissionDeniedError FailedPreconditionError DataLossError
OutOfRangeError DeadlineExceededError CancelledError UnimplementedError AlreadyExistsError
UnauthenticatedError"""
TENSORFLOW = frozenset(_OF_TENSORFLOW.split())
"""The classes of tensorflow.errors, one for each status code."""

NATIVE = frozenset({"XlaRuntimeError", "JaxRuntimeError", "MXNetError", "EnforceNotMet"})
"""What JAX, MXNet and Paddle raise for whatever their native code says."""
_FAMILIES = {"TENSORFLOW": TENSORFLOW, "NATIVE": NATIVE}
"""What stands for several classes."""

_HERE = Path(__file__).parent


class Weight(enum.IntEnum):
    """Which of two clues explains an end: the higher one."""

    HINT = 1  # it may have to do with it
    STATUS = 2  # how a process ended, not why
    GENERAL = 3  # an exception of the script, or a victim of somebody else's end
    SPECIAL = 4  # an error that names its cause
    VERDICT = 5  # whoever ended it says so


class Signature(Frozen):
    """What an exception or a line looks like, and what it means.

    An exception fits by its `message`, or by its class or package alone.
    """

    cause: CauseId | None  # None where the groups of `line` decide (`signal`, or an exit `code`)
    headline: str
    advice: tuple[str, ...] = ()
    name: str = ""  # by which code asks for it; mostly empty
    # pattern that the message must contain; None for any message
    message: re.Pattern[str] | None = None
    # with `message` or `places`: the class or a base must be one of these
    classes: frozenset[str] = frozenset()
    alone: frozenset[str] = frozenset()  # classes that tell enough without a message
    packages: frozenset[str] = frozenset()  # packages whose classes tell enough without a message
    # one of these the traceback must go through; empty for anywhere
    places: frozenset[str] = frozenset()
    # pattern of whole lines, for those that no exception stands behind
    line: re.Pattern[str] | None = None
    weight: Weight = Weight.VERDICT  # of the line, against other clues
    limit: str = ""  # the process limit that belongs to it, see `TrainerExited.limits`
    confidence: float = 0.95
    survives: bool = False  # training that goes on after the line proves nothing against it
    is_victim: bool = False  # it tells that something else failed, which may be printed too

    def matches(self, raised: Raised, message: str) -> bool:
        if self.alone & raised.names or raised.module.partition(".")[0] in self.packages:
            return True
        if self.message is None and not self.places:
            return False
        if self.classes and not self.classes & raised.names:
            return False
        if self.message is not None and not self.message.search(message):
            return False
        return not self.places or bool(self.places & places_of(raised))

    def tells(self, text: str) -> bool:
        return self.message is not None and bool(self.message.search(text))


def _classes(names: str) -> frozenset[str]:
    return frozenset().union(*(_FAMILIES.get(name, {name}) for name in names.split()))


def _whole_lines(patterns: list[str]) -> re.Pattern[str]:
    words = [each.replace("{word}", WORDS) for each in patterns]
    whole = [each if each.startswith("^") else f"^.*{each}" for each in words]
    ended = [each if each.endswith("$") else f"{each}.*$" for each in whole]
    return re.compile("|".join(ended), re.MULTILINE)


def _row(fields: dict[str, Any], flags: int = 0) -> Signature:
    message, line = fields.pop("message", None), fields.pop("line", None)
    values: dict[str, Any] = {
        "cause": None,
        **fields,
        "advice": tuple(ADVICE[name] for name in fields.get("advice", ())),
        "message": re.compile("|".join(message), flags or re.DOTALL) if message else None,
        "line": _whole_lines(line) if line else None,
        "weight": Weight[fields.get("weight", "verdict").upper()],
        **{name: frozenset(fields.get(name, ())) for name in ("places", "packages")},
        **{name: _classes(fields.get(name, "")) for name in ("classes", "alone")},
    }
    return Signature(**values)


def _rows(name: str, flags: int = 0) -> Iterator[Signature]:
    """The rows of a file; one whose message tells on a line of its own, too, makes two."""
    for fields in read_table(_HERE / f"{name}.toml")["signature"]:
        lone = fields.pop("lone", None)
        row = _row(dict(fields), flags)
        yield row
        if lone:
            line = _whole_lines(fields["message"])
            yield replace(row, message=None, line=line, weight=Weight.SPECIAL, confidence=lone)


_ALL = tuple(
    row for name in ("resources", "programs", "schedulers", "endings") for row in _rows(name)
)
SIGNATURES = tuple(row for row in _ALL if row.line is None)
"""What exceptions look like: the most specific first."""
LINES = tuple(row for row in _ALL if row.line is not None)
"""What lines look like that no exception stands behind."""
_OF_WORDS = tuple(_rows("words", re.IGNORECASE))
_WORDS = tuple(row for row in _OF_WORDS if row.weight > Weight.HINT)
_OF_CLASSES = tuple(_rows("classes"))
_CUT = tuple(_rows("cut"))
"""What an exception may be whose last line is not there, by the place that it came out of."""
_OF_PYTHON = {name for name in vars(builtins) if name.endswith(("Error", "Exception", "Iteration"))}
CLASSES = _OF_PYTHON.union(*(row.alone | row.classes for row in (*_ALL, *_CUT)))
"""Names of classes of exceptions that Python or a table knows."""
BY_NAME: Mapping[str, Signature] = {row.name: row for row in (*_ALL, *_CUT, *_OF_WORDS) if row.name}

_REMEDIES = {re.compile(row): text for row, text in read_table(_HERE / "remedies.toml").items()}

_NO_PART_OF_IT = re.compile(
    r"Hint: If you want to see a list of allocated tensors.*"  # about "OOM", below any error
    # frames of the graph's functions, with their lines of code
    r"|^\s*File \"[^\"]+\", line \d+.*\n?(?:^\s{4,}(?!\w+Error: ).*\n?)?"
    r"|^\s*(?:Compile with|CUDA kernel errors might|For debugging consider).*",
    re.MULTILINE,
)
_NAMES_OF_SERVICES = """
UnexpectedStatusException AlgorithmError ExecuteUserScriptError ActivityFailedException
CellExecutionError ExecutionException PapermillExecutionError RemoteError JobFailedError"""
_SERVICES = frozenset(_NAMES_OF_SERVICES.split())
"""What services and launchers raise for a failed program, whose error they quote."""
_PASSED_ON = re.compile(
    r"(?m)(?:^|\bErrorMessage \W*|\bfailed with )(?:Error in user-defined function .*?: )??"
    r"(?:[a-z_]\w*\.)*(?P<name>[A-Z]\w*(?:Error|Exception)): (?P<message>[\s\S]*)"
)
_OLD_STATUS = re.compile(
    r"\b(?:Resource exhausted|Not found|Invalid argument|Out of range|Unavailable|Aborted"
    r"|Failed precondition|Data loss|Deadline exceeded|Cancelled)(?=: ?(?![-+ \d]))"
)
"""As TensorFlow spelled the codes before 2.9, when "NOT_FOUND: " became the form of all."""

_NAMES_OF_CODE = """
ArithmeticError AttributeError KeyboardInterrupt LookupError NameError
NotImplementedError RecursionError SyntaxError SystemExit TypeError"""
OF_CODE = frozenset(_NAMES_OF_CODE.split())
"""Exception classes that mean an error of the program, whatever their message names."""

_MISSING = frozenset({"FileNotFoundError", "NotADirectoryError", "IsADirectoryError"})
_WRITES = re.compile(
    r"[Uu]nable to (?:synchronously )?create file|Failed to create a \w+File|^Parent directory of "
    r"|\bSaveV2\b|^File \S+ cannot be opened"
)
_OPENED = re.compile(r"\bFile\(([^()]*)")
_OF_WEIGHTS = re.compile(r"weight|model|checkpoint|ckpt", re.IGNORECASE)
_OF_INPUTS: frozenset[CauseId | None] = frozenset({"data_error", "dataset_exhausted"})
_OF_WRITING: frozenset[CauseId | None] = frozenset(
    {
        *("disk_full", "shm_exhausted", "permission_or_readonly", "too_many_open_files"),
        *("callback_error", "network_or_download_failure", "user_code_error"),
    }
)


def with_status_names(message: str) -> str:
    return _OLD_STATUS.sub(lambda found: found[0].replace(" ", "_").upper(), message)


def classify(raised: Raised) -> Signature | None:
    said = with_status_names(_NO_PART_OF_IT.sub("", raised.message))
    # TensorFlow passes on what a function of the script raised in an exception of its own.
    passed_on = _PASSED_ON.search(raised.message) if raised.name in TENSORFLOW | _SERVICES else None
    inner = passed_on and classify(from_title(passed_on["name"], passed_on["message"]))
    known = inner or _first(SIGNATURES, raised, said)
    is_of_code = raised.names & OF_CODE or BY_NAME["words_of_python"].tells(raised.message)
    if known or is_of_code:
        return known
    return _first(_WORDS, raised, said_in(said)) or _first(_OF_CLASSES, raised, said)


def remedies(raised: Raised) -> tuple[str, ...]:
    """What to do about this error in particular; empty where its cause tells enough."""
    own = [each.code for each in raised.frames if not each.is_library][-1:]
    files = (each.file for each in raised.frames)
    text = "\n".join([f"{raised.name}: {raised.message}", *own, *files])
    return tuple(advice for pattern, advice in _REMEDIES.items() if pattern.search(text))[:1]


def _first(rows: Iterable[Signature], raised: Raised, said: str) -> Signature | None:
    return next((row for row in rows if row.matches(raised, said) and _may_be(row, raised)), None)


def _may_be(row: Signature, raised: Raised) -> bool:
    """What a callback cannot find or do is its own, and what cannot be written is no input."""
    if raised.callback and row.cause == "user_code_error" and raised.name not in row.alone:
        return False
    if _could_not_write(raised):
        return row.cause in _OF_WRITING or row.name == "input_or_output"
    places = places_of(raised)
    is_saved_now = "saving" in places and "restoring" not in places
    if is_saved_now and row.cause == "checkpoint_corrupt_or_mismatch":
        return False
    if row.name == "saved_file" and _opens_data(raised):
        return False
    is_written = "saving" in places and row.cause == "data_error" and row.name != "input_or_output"
    return "input" in places or not (raised.callback or is_written) or row.cause not in _OF_INPUTS


def _opens_data(raised: Raised) -> bool:
    is_hdf5 = any("h5py/_hl/files" in frame.posix_path for frame in raised.frames)
    own = [frame.code for frame in raised.frames if not frame.is_library][-1:]
    told = " ".join([raised.message, *(_OPENED.findall("".join(own)) or own)])
    return (
        is_hdf5
        and bool(own)
        and "restoring" not in places_of(raised)
        and not _OF_WEIGHTS.search(told)
    )


def _could_not_write(raised: Raised) -> bool:
    if _WRITES.search(raised.message):
        return True
    return bool(_MISSING & raised.names) and "saving" in places_of(raised)


def of_cut(raised: Raised) -> Signature | None:
    """What an exception may be whose last line is not there, by its class, else by its place."""
    known = classify(raised) if raised.name else None
    if known:
        return known
    if raised.callback:
        return BY_NAME["cut_callback"]
    by_place = (row for row in SIGNATURES if row.places and not (row.message or row.classes))
    return next((row for row in (*_CUT, *by_place) if row.matches(raised, "")), None)
