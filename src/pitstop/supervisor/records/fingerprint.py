"""What an attempt runs with, and what changed since the attempt before."""

import hashlib
import os
import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from pitstop.cluster import spec
from pitstop.engine.files.file_access import changed_seconds
from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    EnvironmentChanged,
    JsonValue,
    Notice,
    TrainerConnected,
)
from pitstop.journal import Entry, events_of, last_of
from pitstop.link.settings import ENV_ENTROPY
from pitstop.masking import masked, masked_words
from pitstop.record import Frozen
from pitstop.supervisor.processes.invocation import InvocationKind, parse

THREADS_VARIABLE = "TF_NUM_INTRAOP_THREADS"
_STEERING = re.compile(
    r"(OMP|MKL|DNNL|ONEDNN|TF_CUDNN|TF_ENABLE|TF_FP16|TF_MKL|TF_ONEDNN)_.*"
    r"|TF_(AUTOTUNE_THRESHOLD|CONFIG|DETERMINISTIC_OPS|DISABLE_MKL|GPU_ALLOCATOR"
    r"|NUM_(INTER|INTRA)OP_THREADS|SET_ONEDNN_FPMATH_MODE|USE_CUBLASLT|USE_LEGACY_KERAS|XLA_FLAGS)"
    r"|CUBLAS_WORKSPACE_CONFIG|CUDA_VISIBLE_DEVICES|KERAS_BACKEND|NVIDIA_TF32_OVERRIDE"
    r"|PYTHONHASHSEED|XLA_FLAGS"
)
"""Variables that can change bits; no others are kept, since some hold secrets."""

_LARGEST_SCRIPT_BYTES = 64 << 20
_LARGEST_FILE_BYTES = 1 << 20
_MOST_FILES = 64
_HERE = Path()

COMMAND = "the command"
FILE = "the file "
"""What begins the name of a file that the script reads, among the things that have changed."""
# What a change of the item means, and whether it can change bits.
_MEANINGS: Mapping[str, tuple[str, bool]] = {
    "script": ("the script's path", False),
    "script_sha256": ("the script's text", True),
    "cpus": ("the number of CPUs it may use", True),
    "intra_op_threads": ("the number of TensorFlow's threads", True),
    "cpu_flags_sha256": ("the CPU's instruction set", True),
    "python": ("Python's version", False),
    "tensorflow": ("TensorFlow's version", True),
    "keras": ("Keras's version", True),
    "numpy": ("NumPy's version", True),
    "device": ("the device that computes", True),
}

_DATA = "the training data"
# Their values are digests, which tell a user nothing.
_SHOWN_BY_NAME = {"the script's text": "the script", f"{_DATA}'s digest": _DATA}
HASH_SEED = "PYTHONHASHSEED"
_LARGEST_HASH_SEED = 2**32 - 1


class Threads(Frozen):
    """How many threads an op of TensorFlow is split over, and how many CPUs there are.

    The last bits of sums change with the number.  TensorFlow takes as many as there are CPUs, or as
    `TF_NUM_INTRAOP_THREADS` says (tensorflow/core/common_runtime/process_util.cc).  `kept`: that of
    the attempts before, against TensorFlow's choice.
    """

    count: int
    cpus: int
    kept: bool = False

    @property
    def variables(self) -> dict[str, str]:
        return {THREADS_VARIABLE: str(self.count)} if self.kept else {}

    @property
    def notice(self) -> Notice:
        return Notice(
            "threads_kept",
            f"TensorFlow uses {self.count} threads as before, although there are {self.cpus} "
            "CPUs, to keep the results identical.",
            f"Set {THREADS_VARIABLE} to change that; the last bits may then differ.",
        )


def choose_threads(
    cpus: int, environment: Mapping[str, str], before: Mapping[str, JsonValue]
) -> Threads:
    """The user's number if there is one, then that of the attempt before, then the CPUs."""
    wanted = environment.get(THREADS_VARIABLE, "")
    if wanted.isdecimal() and int(wanted):
        return Threads(int(wanted), cpus)
    count = before.get("intra_op_threads", before.get("cpus"))
    if not isinstance(count, int) or count == cpus:
        return Threads(cpus, cpus)
    return Threads(count, cpus, kept=True)


def collect(
    command: Sequence[str], environment: Mapping[str, str], threads: Threads
) -> dict[str, JsonValue]:
    """The fingerprint of an attempt about to start; what cannot be read is left out."""
    lines = _content(Path("/proc/cpuinfo")).splitlines()
    return {
        "command": masked_words(command),
        "cpus": threads.cpus,
        "intra_op_threads": threads.count,
        "cpu_flags_sha256": hashlib.sha256(
            next((line for line in lines if line.startswith((b"flags", b"Features"))), b"")
        ).hexdigest(),
        "env": relevant_variables(environment),
        **sources(command),
    }


def sources(command: Sequence[str]) -> dict[str, JsonValue]:
    found: dict[str, JsonValue] = {"cwd": str(Path.cwd())}
    script = find_script(command)
    if script is not None:
        found |= {"script": str(script.resolve()), "script_sha256": digest_of(script)}
    words = [word.partition("=")[2] or word for word in parse(command).arguments]
    files = [word for word in words if _is_file(Path(word), _LARGEST_FILE_BYTES)][:_MOST_FILES]
    return found | {"files": {word: digest_of(Path(word)) for word in files}}


def find_script(command: Sequence[str], folder: Path = _HERE) -> Path | None:
    """The script, the module's file, or the first word that is a file, if it is not too large."""
    invocation = parse(command)
    first: tuple[str, ...] = ()
    if invocation.kind is InvocationKind.SCRIPT:
        first = (invocation.target,)
    elif invocation.kind is InvocationKind.MODULE:
        path = invocation.target.replace(".", os.sep)
        first = (f"{path}.py", f"{path}{os.sep}__main__.py")
    words = (*first, *invocation.arguments)
    paths = (folder / word for word in words)
    return next((path for path in paths if _is_file(path, _LARGEST_SCRIPT_BYTES)), None)


def _is_file(path: Path, most_bytes: int) -> bool:
    try:
        found = path.stat()
    except (OSError, ValueError):
        # Most words are no paths: they may be too long for one, or lead to a closed folder.
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size <= most_bytes


def relevant_variables(environment: Mapping[str, str]) -> dict[str, str]:
    return {
        name: masked(value)
        for name, value in sorted(environment.items())
        if _STEERING.fullmatch(name)
    }


def compare(
    before: Mapping[str, JsonValue], now: Mapping[str, JsonValue]
) -> tuple[EnvironmentChanged, ...]:
    """What differs; an item that one side does not know is not compared."""
    same_threads = before.get("intra_op_threads", before.get("cpus")) == now.get("intra_op_threads")
    changes = [
        EnvironmentChanged(
            what,
            _text(before[name]),
            _text(now[name]),
            changes_bits and not (name == "cpus" and same_threads),
        )
        for name, (what, changes_bits) in _MEANINGS.items()
        if name in before and name in now
    ]
    changes += _variable_changes(before.get("env"), now.get("env"))
    return tuple(change for change in changes if change.before != change.now)


def describe(change: EnvironmentChanged) -> str:
    if change.what == COMMAND:
        return f"{COMMAND} has changed since the last attempt ({change.before} -> {change.now})."
    if change.what in _SHOWN_BY_NAME or change.what.startswith(FILE):
        name = _SHOWN_BY_NAME.get(change.what, change.what)
        return f"{name} has changed since the last attempt; the saved state is used with it."
    differ = "will differ" if change.what.startswith(_DATA) else "may differ in the last bits"
    consequence = f"results {differ}" if change.changes_bits else "no effect"
    values = f"{change.before or 'unset'} -> {change.now or 'unset'}"
    return f"{change.what} has changed since the last attempt ({values}): {consequence}."


def _variable_changes(before: JsonValue, now: JsonValue) -> list[EnvironmentChanged]:
    if not isinstance(before, dict) or not isinstance(now, dict):
        return []
    return [
        EnvironmentChanged(
            f"variable {name}", _shaped(name, before), _shaped(name, now), changes_bits=True
        )
        for name in sorted(before.keys() | now.keys())
    ]


def _shaped(name: str, variables: Mapping[str, JsonValue]) -> str:
    value = str(variables.get(name, ""))
    return spec.shape(value) if name == spec.VARIABLE else value


def _text(value: JsonValue) -> str:
    return " ".join(value) if isinstance(value, list) else str(value)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def digest_of(path: Path) -> str:
    return hashlib.sha256(_content(path)).hexdigest()


def of_new_runs(environment: Mapping[str, str]) -> str:
    """The entropy that a new run is told to begin with, as by a drill."""
    told = environment.get(ENV_ENTROPY, "")
    # Inside of a run, the variable has its own entropy, and the process that has taken it.
    return told if told.isalnum() else ""


def hash_seed(
    run_entropy: str, environment: Mapping[str, str], before: Mapping[str, JsonValue]
) -> dict[str, str]:
    known = before.get("env")
    earlier = known.get(HASH_SEED) if isinstance(known, dict) else None
    digest = hashlib.sha256(f"{run_entropy}/hash".encode()).digest()
    # 0 would turn it off.
    derived = str(int.from_bytes(digest[:8], "big") % _LARGEST_HASH_SEED + 1)
    return {HASH_SEED: environment.get(HASH_SEED) or earlier or derived}


class EditedFiles(Frozen):
    """The edits since the last attempt, and a digest of all edits so far; empty for none."""

    since_last: tuple[EnvironmentChanged, ...] = ()
    digest: str = ""

    @classmethod
    def from_entries(cls, entries: Sequence[Entry]) -> Self:
        found = tuple(_edited_since_last(entries))
        before = [
            each for each in events_of(entries, EnvironmentChanged) if each.what.startswith(FILE)
        ]
        text = "\n".join(f"{each.what} {each.now}" for each in (*before, *found))
        return cls(found, hashlib.sha256(text.encode()).hexdigest() if text else "")


def _edited_since_last(entries: Sequence[Entry]) -> list[EnvironmentChanged]:
    """None where nobody saw the last attempt end: before its end the script itself may write."""
    started, ended = last_of(entries, AttemptStarted), last_of(entries, AttemptEnded)
    connected = last_of(entries, TrainerConnected)
    was_seen = started is not None and ended is not None and started.attempt == ended.attempt
    if connected is None or not was_seen:
        return []
    return [
        EnvironmentChanged(f"{FILE}{path}", before, now, changes_bits=True)
        for path, before in connected.inputs.items()
        if changed_seconds(path) > entries[-1].time_seconds
        and (now := digest_of(Path(path))) != before
    ]
