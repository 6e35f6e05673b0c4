"""Exceptions as reported and as printed, with the traps of printed ones."""

from __future__ import annotations

from pitstop.diagnosis import exception
from pitstop.diagnosis.exception import Raised, from_title
from pitstop.diagnosis.log.lines import split
from pitstop.diagnosis.log.tracebacks import find
from pitstop.events import ExceptionRaised

LIBRARY = "/venv/lib/python3.11/site-packages/keras/src/utils/traceback_utils.py"
TRACEBACK = f"""Epoch 1/5
 3/20 loss: 0.5Traceback (most recent call last):
  File "/app/train.py", line 30, in <module>
    model.fit(data)
  File "{LIBRARY}", line 122, in error_handler
    raise e.with_traceback(filtered_tb) from None
tensorflow.python.framework.errors_impl.InvalidArgumentError: Graph execution error:

Detected at node IteratorGetNext defined at (most recent call last):
<stack traces unavailable>
corrupted record at 1536
2026-01-01 10:00:00.000001: W core/framework/op_kernel.cc:1857] FAILED_PRECONDITION: noise
"""


def _printed(text: str) -> Raised | None:
    """The exception that was printed last, with the traceback above it."""
    found = [each for each in find(tuple(split(text))) if each.headed and not each.is_cut]
    return found[-1].raised if found else None


def test_class_message_and_innermost_own_frame() -> None:
    found = _printed(TRACEBACK)
    assert found is not None
    assert found.name == "InvalidArgumentError"
    assert (found.file, found.line, found.function) == ("/app/train.py", 30, "<module>")
    assert "corrupted record at 1536" in found.message
    assert "noise" not in found.message
    assert found.printed


def test_of_a_chain_the_last_counts() -> None:
    first = TRACEBACK.replace("InvalidArgumentError", "FirstError")
    chain = f"{first}\nDuring handling of the above exception, another occurred:\n\n{TRACEBACK}"
    found = _printed(chain)
    assert found is not None
    assert found.name == "InvalidArgumentError"


def test_only_library_frames_leave_the_last_of_them() -> None:
    found = _printed(TRACEBACK.replace("/app/train.py", LIBRARY))
    assert found is not None
    assert found.line == 122


def test_a_syntax_error_has_no_header() -> None:
    text = '  File "/app/train.py", line 3\n    x = = 1\n        ^\nSyntaxError: invalid syntax\n'
    found = _printed(text)
    assert found is not None
    assert (found.name, found.line, found.message) == ("SyntaxError", 3, "invalid syntax")


def test_bases_of_builtin_exceptions_are_known() -> None:
    found = _printed("Traceback (most recent call last):\nFileNotFoundError: a.csv\n")
    assert found is not None
    assert {"OSError", "Exception"} <= found.names


def test_of_a_package_that_cannot_be_imported_the_original_error_is_told() -> None:
    told = (
        "\n\nIMPORTANT: PLEASE READ THIS\n\n  * The NumPy version is: 2\n\n"
        "Original error was: libx.so: cannot open shared object file\n\n"
    )
    assert from_title("ImportError", told).title.endswith(
        "Error: libx.so: cannot open shared object file"
    )


def test_a_cut_traceback_is_no_exception() -> None:
    assert _printed('Traceback (most recent call last):\n  File "a.py", line 1\n') is None
    assert _printed("all fine\n") is None


def test_a_path_that_xla_cut_at_its_begin_is_told_whole() -> None:
    said = 'The op is created at:\nFile "app/train.py", line 17, in <module>\n'
    event = ExceptionRaised(
        "InvalidArgumentError", said, "/srv/app/train.py", 30, "<module>", "", "train", ""
    )
    assert exception.from_event(event).place == "/srv/app/train.py:17"


def test_modules_are_dropped_from_reported_names() -> None:
    event = ExceptionRaised(
        "app.errors.Bad", "m", "a.py", 1, "f", "", "train", "", ["app.errors.Base", "OSError"]
    )
    found = exception.from_event(event)
    assert found.name == "Bad"
    assert {"Bad", "Base", "OSError"} <= found.names
    assert not found.printed


def test_the_title_tells_what_was_raised_in_a_traced_function() -> None:
    message = (
        'in user code:\n\n    File "/app/train.py", line 16, in fn  *\n'
        "        generator = tf.random.Generator.from_seed(1)\n\n"
        "    ValueError: Creating variables in `dataset_fn` is not allowed.\n"
    )
    title = exception.from_title("ValueError", message).title
    assert title == "ValueError: Creating variables in `dataset_fn` is not allowed."
