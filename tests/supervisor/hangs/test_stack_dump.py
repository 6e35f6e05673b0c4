"""Stacks as faulthandler writes them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.supervisor.hangs import stack_dump
from pitstop.supervisor.hangs.stack_dump import StackAnswer, StackFrame, StackRequest, parse

TEXT = """\
== process 7 (python train.py): 2026-01-01 00:00:00, no progress for 60 s at step 3, train

Thread 0x00007f00d03776c0 (most recent call first):
  File "/app/data.py", line 6 in rows
  File "/usr/lib/python3.11/threading.py", line 982 in run

Current thread 0x00007f00d0ff8b80 (most recent call first):
  File "/venv/lib/python3.11/site-packages/tensorflow/python/eager/execute.py", line 53 in quick
  File "/app/train.py", line ??? in <module>
"""


def test_the_main_thread_comes_first_and_the_innermost_call_too() -> None:
    main, other = parse(TEXT)
    assert main.frames[0].function == "quick"
    assert main.users_frame == StackFrame("/app/train.py", 0, "<module>")
    assert other.users_frame == StackFrame("/app/data.py", 6, "rows")
    assert str(other.frames[0]) == "/app/data.py:6 in rows()"


def test_calls_are_found_by_parts_of_paths() -> None:
    main, other = parse(TEXT)
    assert main.has("tensorflow/python/eager/")
    assert main.has("no/such.py", "eager/execute.py")
    assert not main.has()
    assert not other.has("tensorflow")


def test_our_own_calls_are_not_the_users() -> None:
    (stack,) = parse(
        "Thread 0x1 (most recent call first):\n"
        '  File "/x/pitstop/engine/snapshots/copier.py", line 1 in f\n'
    )
    assert stack.users_frame is None


_DUMPS = """
import faulthandler, threading
release = threading.Event()
thread = threading.Thread(target=release.wait)
def dump():
    faulthandler.dump_traceback(1, all_threads=True)
thread.start(); dump(); release.set()
"""


def test_what_this_python_writes_is_understood(tmp_path: Path) -> None:
    # In a process of its own: Python writes the stacks of 100 threads at most.
    (script := tmp_path / "script.py").write_text(_DUMPS)
    main, other = parse(subprocess.check_output([sys.executable, script], text=True))
    assert "dump" in [each.function for each in main.frames if each.is_in(["script.py"])]
    assert "wait" in [each.function for each in other.frames if each.is_in(["threading.py"])]


def test_nothing_is_no_stack() -> None:
    assert parse("") == ()


def _asked(
    file: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> tuple[StackAnswer, list[int]]:
    signalled: list[int] = []
    monkeypatch.setattr(stack_dump, "catches", lambda *_: True)
    monkeypatch.setattr(stack_dump, "_signal", signalled.append)

    def request() -> None:
        with file.open("a") as stacks:
            stacks.write(answer)

    question = StackRequest(file, request)
    turns = (question.ask(7, [7], "why") for _ in range(9))
    return next(found for found in turns if found), signalled


def test_a_trainer_that_answers_is_not_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, signalled = _asked(tmp_path / "stacks.txt", monkeypatch, TEXT)
    assert len(answer.stacks) == 2
    assert signalled == []


def test_a_trainer_that_does_not_answer_is_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer, signalled = _asked(tmp_path / "stacks.txt", monkeypatch, "")
    assert answer.stacks == ()
    assert signalled == [7]
