"""Errors look as they would without Pitstop, and are reported with the user's own line."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import pytest

import pitstop
from pitstop.errors import PeerClosed
from pitstop.events import Event, ExceptionRaised, from_record
from pitstop.link.beacon import Beacon
from pitstop.link.messages import EventReport, SnapshotReport
from pitstop.link.wire import Connection
from tests.messages import welcome

PACKAGE = Path(pitstop.__file__).parent
SCRIPT = Path(__file__).parent / "scripts" / "raises_everywhere.py"
CASES = (
    "in_a_callback",
    "in_train_step",
    "in_an_eager_op",
    "in_an_op_of_a_graph",
    "in_a_generator",
    "in_the_input",
    "chained",
    "while_handling",
    "outside_of_fit",
    "uncaught",
)
LONGEST_SECONDS = 100.0


class Listener:
    """Welcomes one trainer, and remembers the events that it reports."""

    def __init__(self, folder: Path) -> None:
        self.path = str(folder / "socket")
        self.events: list[Event] = []
        self._folder = folder
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(self.path)
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Waits for the last words of the trainer."""
        self._thread.join(LONGEST_SECONDS)
        self._listener.close()

    def _serve(self) -> None:
        beacon = Beacon.create()
        connection = Connection(self._listener.accept()[0])
        connection.receive()
        connection.send(welcome(self._folder), [beacon.fd])
        try:
            while True:
                received = connection.receive()
                for fd in received.fds:
                    os.close(fd)
                match received.message:
                    case EventReport(event):
                        self.events.append(from_record(event))
                    case SnapshotReport(sequence):
                        # It is as good as on disk: who waits for that goes on.
                        beacon.settle(sequence)
        except PeerClosed:
            connection.close()
            os.close(beacon.fd)


@dataclass(frozen=True)
class Outcome:
    """What each case printed without and with Pitstop, and what was reported of it."""

    without: dict[str, str]
    instrumented: dict[str, str]
    reported: list[ExceptionRaised]

    def report_of(self, case: str) -> ExceptionRaised:
        return self.reported[CASES.index(case)]


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    folder = tmp_path_factory.mktemp("tracebacks")
    listener = Listener(folder)
    plain = start({})
    site = {"PYTHONPATH": str(PACKAGE / "inject" / "site"), "PITSTOP_SOCKET": listener.path}
    instrumented = start(site)
    without_pitstop, with_pitstop = printed_by(plain), printed_by(instrumented)
    listener.close()
    reported = [event for event in listener.events if isinstance(event, ExceptionRaised)]
    return Outcome(without_pitstop, with_pitstop, reported)


def start(variables: dict[str, str]) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    return subprocess.Popen(
        [sys.executable, str(SCRIPT)],
        env={**inherited, "TF_CPP_MIN_LOG_LEVEL": "3", **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def printed_by(process: subprocess.Popen[str]) -> dict[str, str]:
    """What the script wrote to stderr, by case."""
    _, text = process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == 1
    sections = re.split(r"^-- (\w+)\n", text, flags=re.MULTILINE)[1:]
    named = zip(sections[::2], sections[1::2], strict=True)
    return {name: without_addresses(section) for name, section in named}


def without_addresses(text: str) -> str:
    """Generated files, objects and functions have another name in each process."""
    text = re.sub(r"(?<=\[Op:__inference_)(\w+)_\d+(?=\])", r"\1", text)
    text = re.sub(r"__autograph_generated_file\w+", "__autograph_generated_file", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@pytest.mark.parametrize("case", CASES)
def test_the_traceback_is_the_same(outcome: Outcome, case: str) -> None:
    assert "Traceback (most recent call last):" in outcome.without[case]
    assert outcome.instrumented[case] == outcome.without[case]
    assert str(PACKAGE) not in outcome.instrumented[case]


# TensorFlow gives one of its own frames another line than instruction; the interpreter prints the
# one, the module `traceback` the other.
@pytest.mark.parametrize("case", [case for case in CASES if case != "in_an_op_of_a_graph"])
def test_every_error_is_reported_as_it_is_printed(outcome: Outcome, case: str) -> None:
    report = outcome.report_of(case)
    assert without_addresses(report.traceback) in outcome.instrumented[case]
    assert report.class_name.rpartition(".")[2] in outcome.instrumented[case]


def line_of(text: str) -> int:
    lines = SCRIPT.read_text().splitlines()
    return 1 + next(at for at, line in enumerate(lines) if text in line)


@pytest.mark.parametrize(
    ("case", "text", "function", "callback"),
    [
        ("in_a_callback", 'raise ValueError("in a callback")', "fail", "Failing"),
        ("in_train_step", 'raise RuntimeError("in train_step")', "train_step", ""),
        ("in_a_generator", 'raise KeyError("in a generator")', "batches", ""),
        ("in_an_eager_op", "tf.debugging.assert_equal", "train_step", ""),
        ("in_an_op_of_a_graph", "compiled(Graph()).fit", "in_an_op_of_a_graph", ""),
        ("chained", 'raise OSError("because of it")', "chained", ""),
        ("while_handling", 'raise LookupError("on the way")', "while_handling", ""),
        ("outside_of_fit", 'int("outside of fit")', "outside_of_fit", ""),
        ("uncaught", 'raise ValueError("in a callback")', "fail", "Failing"),
    ],
)
def test_the_line_of_the_user_is_named(
    outcome: Outcome, case: str, text: str, function: str, callback: str
) -> None:
    report = outcome.report_of(case)
    assert (report.file, report.line) == (str(SCRIPT), line_of(text))
    assert (report.function, report.callback) == (function, callback)
