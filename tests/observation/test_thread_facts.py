"""What /proc says of threads, read from real processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.machine import own_process
from pitstop.observation import thread_facts
from pitstop.observation.thread_facts import ThreadFact
from tests.integration.supervisor.launch import until

_READS = "import os; print('ready', flush=True); os.read(0, 1)"


@pytest.fixture
def reader() -> Iterator[subprocess.Popen[bytes]]:
    """A process that waits for its standard input."""
    command = [sys.executable, "-c", _READS]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ready\n"
        yield process
        process.kill()


def test_a_thread_that_reads_says_from_what(reader: subprocess.Popen[bytes]) -> None:
    # The word "ready" is written shortly before it reads.
    fact = until(lambda: next((f for f in thread_facts.read(reader.pid) if f.state == "S"), None))
    assert fact.tid == reader.pid
    if fact.channel:  # a kernel may hide it
        fact = until(lambda: next((f for f in thread_facts.read(reader.pid) if f.file), None))
        assert fact.file.startswith("pipe:")
        assert "waits for a pipe" in str(fact)


def test_a_suspended_process_is_seen(reader: subprocess.Popen[bytes]) -> None:
    reader.send_signal(signal.SIGSTOP)
    assert until(lambda: own_process.is_suspended(reader.pid))
    reader.send_signal(signal.SIGCONT)
    assert until(lambda: own_process.is_running(reader.pid))


def test_all_threads_are_there_the_main_one_first() -> None:
    release = threading.Event()
    thread = threading.Thread(target=release.wait)
    thread.start()
    try:
        facts = thread_facts.read(os.getpid())
    finally:
        release.set()
        thread.join()
    assert facts[0].tid == os.getpid()
    assert thread.native_id in {fact.tid for fact in facts}


def test_the_main_thread_is_first_where_numbers_began_anew(tmp_path: Path) -> None:
    for tid in (7, 3, 9):
        folder = tmp_path / "7" / "task" / str(tid)
        folder.mkdir(parents=True)
        (folder / "stat").write_text(f"{tid} (python) S {'0 ' * 49}")
    assert [fact.tid for fact in thread_facts.read(7, tmp_path)] == [7, 3, 9]


def test_handlers_are_seen_before_a_signal_is_sent(reader: subprocess.Popen[bytes]) -> None:
    assert own_process.catches(reader.pid, signal.SIGINT)
    assert not own_process.catches(reader.pid, signal.SIGRTMAX - 5)


def test_work_is_counted() -> None:
    before = thread_facts.work_of([os.getpid()])
    ends_at = time.process_time() + 0.05
    while time.process_time() < ends_at:
        continue
    after = thread_facts.work_of([os.getpid()])
    assert after[0] >= before[0] + 0.03
    assert after[1] > before[1]  # what was read to know


def test_waiting_for_a_processor_is_work_too(tmp_path: Path) -> None:
    for tid, queued in ((7, 1_500_000_000), (8, 500_000_000)):
        thread = tmp_path / "7/task" / str(tid)
        thread.mkdir(parents=True)
        (thread / "schedstat").write_text(f"90 {queued} 12\n")
    assert thread_facts.work_of([7], tmp_path) == (2.0, 0)


def test_who_is_gone_has_nothing_to_say() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    assert thread_facts.read(gone.pid) == ()
    assert not own_process.is_running(gone.pid)
    assert thread_facts.work_of([gone.pid]) == (0.0, 0)
    assert not own_process.catches(gone.pid, signal.SIGINT)


def test_a_name_with_parentheses_is_no_trap(tmp_path: Path) -> None:
    folder = tmp_path / "7" / "task" / "7"
    folder.mkdir(parents=True)
    (folder / "stat").write_text(f"7 (a (b) c) S {'0 ' * 49}")
    [fact] = thread_facts.read(7, tmp_path)
    assert (fact.name, fact.state) == ("a (b) c", "S")


def test_in_words() -> None:
    fact = ThreadFact(7, "python", "D", "rpc_wait", "/mnt/data")
    assert str(fact) == "thread 7 (python): D, in rpc_wait, at /mnt/data"
