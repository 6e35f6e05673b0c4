"""What the trainer tells of its end, and what it leaves as it was."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FrameType, TracebackType
from typing import Any

import pytest

import pitstop
from pitstop.engine import frames, program
from pitstop.engine.frames import innermost_user_frame, without_own_frames
from pitstop.engine.session import witness
from pitstop.engine.session.witness import Witness, note_callback
from pitstop.events import Event, ExceptionRaised
from pitstop.link.beacon import Beacon, Phase

OWN = str(Path(pitstop.__file__).parent / "keras" / "made_up.py")
LIBRARY = sysconfig.get_paths()["purelib"] + "/keras/src/made_up.py"
USER = "/home/user/train.py"


# -- whose file is it ------------------------------------------------------------


@pytest.mark.parametrize(
    ("filename", "is_user"),
    [
        (USER, True),
        ("train.py", True),
        (OWN, False),
        (LIBRARY, False),
        (os.__file__, False),
        ("<string>", False),
        ("<stdin>", True),
        ("<frozen importlib._bootstrap>", False),
        ("/var/generated/__autograph_generated_fileab12.py", False),
        ("/opt/other/lib/python3.11/site-packages/keras/x.py", False),
        ("/home/user/pitstop/train.py", True),
        ("h5py/h5f.pyx", False),
    ],
)
def test_whose_file(filename: str, is_user: bool) -> None:
    assert frames.is_user_file(filename) is is_user
    assert program.is_own_file(filename) is (filename == OWN)


@pytest.mark.parametrize(
    ("scope", "is_user"),
    [
        ({"__name__": "__main__"}, True),
        ({"__name__": "train", "__file__": USER}, True),
        ({}, True),
        ({"__name__": "namedtuple_Point"}, False),
        ({"__name__": "library", "__file__": LIBRARY}, False),
    ],
)
def test_whose_text(scope: dict[str, str], is_user: bool) -> None:
    code = compile("pass", "<string>", "exec")
    assert frames.is_of_script(code, scope) is is_user


# -- tracebacks ------------------------------------------------------------------


def function_in(filename: str, then: Callable[[], object]) -> Callable[[], object]:
    """A function that lies in a file of this name and calls another."""
    namespace: dict[str, Any] = {"then": then}
    code: CodeType = compile("def call():\n    then()\n", filename, "exec")
    exec(code, namespace)
    call: Callable[[], object] = namespace["call"]
    return call


def raised(call: Callable[[], object]) -> BaseException:
    try:
        call()
    except BaseException as error:  # noqa: BLE001 - whatever it is
        error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
        return error
    raise AssertionError("nothing was raised")


def fail() -> None:
    raise ValueError("broken")


def chain(*filenames: str) -> Callable[[], object]:
    call: Callable[[], object] = fail
    for filename in reversed(filenames):
        call = function_in(filename, call)
    return call


def files(trace: TracebackType | None) -> list[str]:
    return [frame.f_code.co_filename for frame, _ in traceback.walk_tb(trace)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([USER, OWN, LIBRARY, OWN, OWN, USER], [USER, LIBRARY, USER]),
        ([OWN, USER], [USER]),
        ([USER, OWN], [USER]),
        ([USER], [USER]),
        ([OWN], []),
    ],
)
def test_own_frames_are_cut_out(before: list[str], after: list[str]) -> None:
    trace = without_own_frames(raised(chain(*before)).__traceback__)
    assert files(trace) == [*after, __file__]


def test_a_traceback_of_own_frames_alone() -> None:
    trace = raised(chain(OWN)).__traceback__
    assert trace is not None
    trace.tb_next = None
    assert without_own_frames(trace) is None
    assert without_own_frames(None) is None


def test_lines_stay_with_their_frames() -> None:
    error = raised(chain(USER, OWN, USER))
    with_own = traceback.extract_tb(error.__traceback__)
    witness.clean(error)
    assert traceback.extract_tb(error.__traceback__) == [
        frame for frame in with_own if frame.filename != OWN
    ]


def test_the_errors_it_came_from_are_cleaned_too() -> None:
    def handle() -> None:
        try:
            chain(OWN, USER)()
        except ValueError as cause:
            try:
                chain(OWN, USER)()
            except ValueError as context:
                context.__cause__ = cause
                raise

    error = raised(handle)
    assert error.__cause__ is not None
    error.__cause__.__context__ = error  # a circle must not hang
    witness.clean(error)
    assert OWN not in files(error.__traceback__)
    assert OWN not in files(error.__cause__.__traceback__)


def test_members_of_a_group_are_cleaned_too() -> None:
    inner = raised(chain(OWN, USER))
    assert isinstance(inner, ValueError)
    witness.clean(ExceptionGroup("several", [inner]))
    assert OWN not in files(inner.__traceback__)


def test_the_innermost_user_frame() -> None:
    frames = list(traceback.walk_tb(raised(chain(USER, LIBRARY)).__traceback__))[:-1]
    assert innermost_user_frame(frames) == (USER, 2, "call")
    assert innermost_user_frame(frames[1:]) == ("", 0, "")


# -- the witness -----------------------------------------------------------------


@pytest.fixture
def beacon() -> Iterator[Beacon]:
    made = Beacon.create()
    yield made
    os.close(made.fd)


def no_callback(_frame: FrameType) -> str:
    return ""


def report_of(
    error: BaseException,
    beacon: Beacon,
    monkeypatch: pytest.MonkeyPatch,
    callback_of: Callable[[FrameType], str] = no_callback,
) -> tuple[ExceptionRaised, list[BaseException]]:
    """What is reported of an uncaught error, and what the hook before was given."""
    events: list[Event] = []
    printed: list[BaseException] = []
    monkeypatch.setattr(sys, "excepthook", lambda _kind, value, _trace: printed.append(value))
    Witness(events.append, beacon, callback_of).install()
    sys.excepthook(type(error), error, error.__traceback__)
    (event,) = events
    assert isinstance(event, ExceptionRaised)
    return event, printed


def test_an_uncaught_error_is_reported_and_printed_as_before(
    beacon: Beacon, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = raised(chain(USER, OWN, LIBRARY))
    beacon.write_phase(Phase.VALIDATION)
    event, printed = report_of(error, beacon, monkeypatch)
    assert printed == [error]
    assert (event.class_name, event.message, event.phase) == ("ValueError", "broken", "validation")
    assert event.bases == ["Exception", "BaseException"]
    assert event.traceback == "".join(traceback.format_exception(error))
    assert OWN not in event.traceback


def test_the_callback_it_happened_in_is_named(
    beacon: Beacon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def callback_of(frame: FrameType) -> str:
        return {LIBRARY: "CallbackList", USER: "Mine"}.get(frame.f_code.co_filename, "")

    error = raised(chain(LIBRARY, USER))
    event, _ = report_of(error, beacon, monkeypatch, callback_of)
    assert event.callback == "Mine"


def test_the_callback_is_known_though_keras_took_its_frames_away(
    beacon: Beacon, monkeypatch: pytest.MonkeyPatch
) -> None:
    def callback_of(frame: FrameType) -> str:
        return {LIBRARY: "LearningRateScheduler"}.get(frame.f_code.co_filename, "")

    error = raised(chain(LIBRARY, USER))
    note_callback(error, callback_of)
    event, _ = report_of(error.with_traceback(None), beacon, monkeypatch, callback_of)
    assert event.callback == "LearningRateScheduler"


class Strange(RuntimeError):
    def __str__(self) -> str:
        raise TypeError("no words")


def test_an_error_that_cannot_be_told_is_still_reported_and_printed(
    beacon: Beacon, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = Strange()
    event, printed = report_of(error, beacon, monkeypatch)
    assert printed == [error]
    assert event.class_name.endswith("Strange")


SCRIPT = """
import sys, os
from pitstop.engine.session.witness import Witness
from pitstop.link.beacon import Beacon
beacon = Beacon.create()
beacon.write_position(12, 0, 0, 0, 0.0)
def report(event):
    print(event, flush=True)
    print(beacon.phase().name, flush=True)
Witness(report, beacon, lambda frame: "").install()
if sys.argv[1] == "raise":
    raise KeyError("k")
if sys.argv[1] == "fork" and os.fork() == 0:
    sys.exit(0)
if sys.argv[1] == "fork":
    os.wait()
if sys.argv[1] == "exit":
    sys.exit(3)
if sys.argv[1] == "_exit":
    os._exit(0)
"""


def run(folder: Path, how: str) -> subprocess.CompletedProcess[str]:
    (folder / "script.py").write_text(SCRIPT)
    return subprocess.run(
        [sys.executable, "script.py", how],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(Path(pitstop.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(("how", "code"), [("end", 0), ("exit", 3), ("fork", 0)])
def test_a_normal_end_is_reported_once(tmp_path: Path, how: str, code: int) -> None:
    result = run(tmp_path, how)
    assert result.returncode == code, result.stderr
    assert result.stdout.splitlines()[0] == "ScriptEnded(step=12)"
    assert result.stdout.count("ScriptEnded") == 1


def test_an_error_comes_before_the_end(tmp_path: Path) -> None:
    result = run(tmp_path, "raise")
    assert result.returncode == 1
    assert "ExceptionRaised(class_name='KeyError'" in result.stdout
    assert f"file='{tmp_path / 'script.py'}', line=12" in result.stdout
    assert result.stderr.endswith("KeyError: 'k'\n")
    assert result.stdout.index("ExceptionRaised") < result.stdout.index("ScriptEnded")


def test_an_end_without_cleanup_is_not_a_normal_end(tmp_path: Path) -> None:
    result = run(tmp_path, "_exit")
    assert (result.returncode, result.stdout) == (0, "")
