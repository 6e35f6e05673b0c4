"""Who ended the script is told, from real processes that end themselves."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.engine.session import witness
from pitstop.events import Event, ExitCalled, ThreadFailed, from_record

WATCHED = """
import json, os, signal, sys, threading
from pitstop.engine.session.exit_watch import ExitWatch
from pitstop.events import to_record

def report(event):
    os.write(1, (json.dumps(to_record(event)) + "\\n").encode())

def callback_of(frame):
    return "Callback" if frame.f_code.co_name == "on_epoch_end" else ""

ExitWatch(report, callback_of).install()

def on_epoch_end():
    {call}

on_epoch_end()
"""


def run(tmp_path: Path, call: str) -> tuple[int, list[Event], str]:
    """The exit code of a script that makes a call, what was told, and the script's path."""
    script = tmp_path / "script.py"
    script.write_text(WATCHED.format(call=call))
    done = subprocess.run(
        [sys.executable, str(script)], capture_output=True, text=True, check=False
    )
    told = [from_record(json.loads(line)) for line in done.stdout.splitlines()]
    return done.returncode, told, str(script)


def test_what_pitstop_does_is_not_the_scripts(tmp_path: Path) -> None:
    own = f"compile('os.kill(os.getpid(), 9)', {witness.__file__!r}, 'exec')"
    assert run(tmp_path, f"exec({own})")[:2] == (-9, [])


@pytest.mark.parametrize(
    ("call", "how", "code", "words"),
    [
        ("sys.exit(3)", "sys.exit", 3, "3"),
        ("sys.exit()", "sys.exit", 0, "0"),
        ("sys.exit('no data')", "sys.exit", 1, "no data"),
        ("os._exit(0)", "os._exit", 0, "0"),
        ("os._exit(status=2)", "os._exit", 2, "2"),
        ("os.abort()", "os.abort", -6, "0"),
        ("os.kill(os.getpid(), 9)", "os.kill", -9, "SIGKILL"),
        ("signal.raise_signal(15)", "signal.raise_signal", -15, "SIGTERM"),
        (
            "signal.pthread_kill(threading.get_ident(), 15)",
            "signal.pthread_kill",
            -15,
            "SIGTERM",
        ),
        ("exit(4)", "exit", 4, "4"),
        ("quit()", "quit", 0, "0"),
    ],
)
def test_each_way_out(tmp_path: Path, call: str, how: str, code: int, words: str) -> None:
    returned, told, script = run(tmp_path, call)
    assert returned == code
    assert told == [
        ExitCalled(how, words, script, 15, "on_epoch_end", "Callback", module="__main__")
    ]


def test_an_exit_because_of_an_exception_names_it(tmp_path: Path) -> None:
    call = "try: {}['a']\n    except KeyError: sys.exit(1)"
    _, told, _ = run(tmp_path, call)
    assert [each.handling for each in told if isinstance(each, ExitCalled)] == ["KeyError"]


def test_a_child_and_a_thread_that_end_are_not_the_script(tmp_path: Path) -> None:
    call = (
        "pid = os.fork(); pid or os._exit(5); os.waitpid(pid, 0); "
        "thread = threading.Thread(target=sys.exit); thread.start(); thread.join()"
    )
    returned, told, _ = run(tmp_path, call)
    assert (returned, told) == (0, [])


def test_a_thread_that_an_exception_ends_is_told_and_printed(tmp_path: Path) -> None:
    call = "thread = threading.Thread(target=int, args=('x',), name='reader'); thread.start()"
    returned, told, _ = run(tmp_path, call)
    message = "ValueError: invalid literal for int() with base 10: 'x'"
    assert returned == 0
    assert told == [ThreadFailed("reader", "ValueError", message.partition(": ")[2], "", 0, "")]


@pytest.mark.parametrize(
    "call",
    [
        "os.kill(os.getpid(), 0)",
        "import signal; os.kill(os.getpid(), signal.SIGCHLD)",
        "import signal; signal.raise_signal(signal.SIGCHLD)",
        "import signal; signal.signal(10, lambda *_: None); os.kill(os.getpid(), 10)",
        "import subprocess; other = subprocess.Popen(['sleep', '9']); os.kill(other.pid, 9)",
    ],
)
def test_a_signal_that_does_not_end_the_script_is_not_told(tmp_path: Path, call: str) -> None:
    assert run(tmp_path, call)[:2] == (0, [])
