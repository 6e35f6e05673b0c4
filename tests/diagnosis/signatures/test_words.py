"""Messages that no row knows: what they name and what happened to that tell the cause."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.exception import from_title
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings
from pitstop.diagnosis.signatures import tables
from pitstop.diagnosis.signatures.tables import Signature, classify
from tests.diagnosis.signatures.test_messages import _CASES

_MAPPED = (
    "Graph execution error:\n\nDetected at node EagerPyFunc defined at:\n"
    "Error in user-defined function passed to MapDataset:2 transformation with iterator: "
    "Iterator::Root::Prefetch::Map: "
)

UNSEEN: list[tuple[str, str, CauseId]] = [
    ("ValueError", "Couldn't find trained model at ./run7.", "checkpoint_corrupt_or_mismatch"),
    (
        "CustomError",
        "the pretrained weights differ from this model",
        "checkpoint_corrupt_or_mismatch",
    ),
    ("RuntimeError", "the download endpoint is unreachable", "network_or_download_failure"),
    ("RuntimeError", "login failed for account 7", "permission_or_readonly"),
    ("RuntimeError", "scratch volume is full", "disk_full"),
    ("RuntimeError", "worker 3 was lost", "worker_lost"),
    ("RuntimeError", "libfoo requires a library that was not found", "dependency_or_import_error"),
    ("RuntimeError", "no more memory: allocation failed", "host_alloc_failure"),
    ("RuntimeError", "the GPU is not available", "gpu_driver_or_library"),
    ("ValueError", "image 7 is truncated", "data_error"),
    ("InvalidArgumentError", "the checkpoint is missing", "checkpoint_corrupt_or_mismatch"),
]


@pytest.mark.parametrize(("name", "message", "cause"), UNSEEN)
def test_what_is_named_and_what_happened_to_it_tell_the_cause(
    name: str, message: str, cause: CauseId
) -> None:
    row = classify(from_title(name, message))
    assert row is not None
    assert row.cause == cause


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("AttributeError", "'Model' object has no attribute 'missing_checkpoint'"),
        ("TypeError", "connect() got an unexpected keyword argument, failed"),
        ("KeyError", "'empty record'"),
        ("OverflowError", "cannot convert float infinity to integer"),
        ("ValueError", "No such layer: embeddings"),
    ],
)
def test_code_that_is_wrong_is_not_read_by_its_words(name: str, message: str) -> None:
    assert classify(from_title(name, message)) is None


@pytest.mark.parametrize(
    ("message", "cause"),
    [
        ("exceptions.ImportError: Could not import PIL.Image.\n\t [[Node: PyFunc]]", "dependency"),
        ("MemoryError: \nTraceback (most recent call last):\n\t [[{{node PyFunc}}]]", "host_alloc"),
        (f"{_MAPPED}ModuleNotFoundError: No module named 'a'\nTraceback", "dependency"),
        ("ValueError: nothing is known of it\n\t [[{{node PyFunc}}]]", "data_error"),
    ],
)
def test_an_exception_that_tensorflow_passes_on_is_read_as_what_it_was(
    message: str, cause: str
) -> None:
    row = classify(from_title("tensorflow.errors.UnknownError", message))
    assert row is not None
    assert (row.cause or "").startswith(cause)


def test_a_file_that_could_not_be_written_is_no_memory() -> None:
    row = classify(from_title("ResourceExhaustedError", "/tmp/run/graph.pbtxt\nlsof tells more."))
    assert row is not None
    assert row.cause == "disk_full"


def test_a_program_that_is_told_twice_is_not_installed() -> None:
    told = "[Errno 2] No such file or directory: 'tensorboard': 'tensorboard'"
    row = classify(from_title("FileNotFoundError", told))
    assert row is not None
    assert row.cause == "dependency_or_import_error"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "It still hangs with the newest version.\nStarted server with target: a:1\n",
            "hang_or_stall",
        ),
        ("Loading ...\neven after 30 mins it doesn't print a line\n", "hang_or_stall"),
        ("Interrupting the training produces a segfault\n", "native_crash"),
        ("The training starts normally and was suddenly killed.\n", "killed_from_outside"),
        ("INFO The worker was killed and started again\n", "unknown"),
    ],
)
def test_what_somebody_tells_of_the_end_is_believed_where_nothing_else_is_told(
    text: str, cause: CauseId
) -> None:
    found = findings(Ending(parse(text)))
    assert (found[0].cause if found else "unknown") == cause


_LIBRARY = 'File "/a/site-packages/'
_CLOSED = (
    f'Traceback (most recent call last):\n  {_LIBRARY}tensorflow/session.py", line 1, in _run\n'
    "    raise RuntimeError('Attempted to use a closed Session.')\n"
)
_LOADS = (
    f'{_LIBRARY}tensorflow/python/saved_model/load.py", line 604, in load_internal\n    go()\n'
    f'{_LIBRARY}tensorflow/python/saved_model/load.py", line 1, in _load\n    proto\n'
    "KeyError: '__inference_5068'\n"
)
_SAVES = (
    'File "train.py", line 9, in <module>\n    model.save("m")\n'
    f'{_LIBRARY}keras/saving/save.py", line 2, in save_model\n    x.decode()\n'
    "UnicodeDecodeError: 'utf-8' codec can't decode byte 0x80\n"
)
_BESIDE = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in <module>\n    get()\n'
    "ray.exceptions.RayActorError: The actor died unexpectedly.\n"
    "(pid=31) *** SIGSEGV (@0x66) received by PID 31 (TID 0x7) stack trace: ***\n\n"
)
_FOLDER = '  File "a.py", line 3, in f\n    open(p)\nOSError: [Errno 21] Is a directory\n'
_PLACED = "InvalidArgumentError: Cannot place the graph because an edge connects groups"

KINDS: dict[str, tuple[str, CauseId]] = {
    "the class that belongs to an error number": (_FOLDER, "data_error"),
    "the message in the last line of code": (_CLOSED, "user_code_error"),
    "about the graph, not about data": (_PLACED, "user_code_error"),
    "what is fed": ("NotFoundError: Feed Placeholder_2:0: not found", "user_code_error"),
    "a parameter": ("KeyError: 'list.85.Conv2d.weight'", "checkpoint_corrupt_or_mismatch"),
    "libraries that load a saved model": (_LOADS, "checkpoint_corrupt_or_mismatch"),
    "what is saved is no input": (_SAVES, "user_code_error"),
    "lines of other writers among those of a traceback": (_BESIDE, "native_crash"),
    "no early stop": ("Checking for early stopping (last 4 steps)\nEpochs: 1\n", "unknown"),
}


@pytest.mark.parametrize(("text", "cause"), KINDS.values(), ids=KINDS)
def test_kinds_that_were_read_wrongly(text: str, cause: CauseId) -> None:
    found = findings(Ending(parse(text)))
    assert (found[0].cause if found else "unknown") == cause


RIGHT, MOST_FALSE = 376, 149


def test_messages_are_mostly_understood_without_their_own_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each message with all alternatives of the tables taken out that fit it."""
    right = false = 0
    for cause, message in _CASES:
        text = message.replace("\\n", "\n")
        for name, kind in (("SIGNATURES", "message"), ("LINES", "line")):
            rows = _ROWS[name]
            monkeypatch.setattr(tables, name, tuple(_without(row, kind, text) for row in rows))
        found = findings(Ending(parse(text)))
        told = found[0].cause if found else "unknown"
        right += told == cause
        false += told not in (cause, "unknown")
    assert right >= RIGHT
    assert false <= MOST_FALSE


_ROWS = {"SIGNATURES": tables.SIGNATURES, "LINES": tables.LINES}
_NEVER = re.compile("(?!)")


def _without(row: Signature, kind: str, text: str) -> Signature:
    pattern: re.Pattern[str] | None = getattr(row, kind)
    if pattern is None or not pattern.search(text):
        return row
    others = [
        each for each in _alternatives(pattern.pattern) if not re.search(each, text, pattern.flags)
    ]
    rest = re.compile("|".join(others), pattern.flags) if others else _NEVER
    return replace(row, message=rest) if kind == "message" else replace(row, line=rest)


def _alternatives(pattern: str) -> list[str]:
    """Those of the outermost level."""
    found, depth, in_class, escaped = [""], 0, False, False
    for char in pattern:
        if char == "|" and depth == 0 and not (in_class or escaped):
            found.append("")
            continue
        found[-1] += char
        if not escaped:
            depth += 0 if in_class else (char == "(") - (char == ")")
            in_class = char == "[" or (in_class and char != "]")
        escaped = char == "\\" and not escaped
    return found
