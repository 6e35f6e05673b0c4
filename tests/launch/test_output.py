"""Lines of several processes on one terminal."""

from __future__ import annotations

import os
import threading

import pytest

from pitstop.launch.member_process import MemberOutput, Terminal, prefixed


def written(capfd: pytest.CaptureFixture[str], *parts: bytes) -> str:
    """What a member's output becomes that is written in these parts."""
    output = MemberOutput("ps 0 | ", Terminal())
    sink = os.dup(output.streams.stdout)
    output.started()
    for part in parts:
        os.write(sink, part)
    os.close(sink)
    output.drain()
    return capfd.readouterr().out


def test_lines_are_whole_however_they_are_written(capfd: pytest.CaptureFixture[str]) -> None:
    shown = written(capfd, b"lo", b"ss 1.0\nloss", b" 0.5\n\nend")
    assert shown == "ps 0 | loss 1.0\nps 0 | loss 0.5\nps 0 | \nps 0 | end\n"


def test_a_line_that_never_ends_comes_in_parts(capfd: pytest.CaptureFixture[str]) -> None:
    lines = written(capfd, *[b"x" * 1000] * 2000).splitlines()
    assert len(lines) == 2
    assert sum(line.count("x") for line in lines) == 2_000_000


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        (b"loss 1.0", b"ps 0 | loss 1.0\n"),
        (b"", b"ps 0 | \n"),
        (b"dos\r", b"ps 0 | dos\r\n"),
        (b"10%\r20%\r", b"ps 0 | 10%\rps 0 | 20%\r\n"),
    ],
)
def test_the_name_stays_in_front(line: bytes, shown: bytes) -> None:
    assert prefixed(b"ps 0 | ", line) == shown


def test_no_line_is_torn_by_another_thread() -> None:
    source, sink = os.pipe()
    terminal = Terminal()
    size = 50_000

    def write(letter: bytes) -> None:
        for _ in range(20):
            terminal.write(sink, letter * size + b"\n")

    threads = [threading.Thread(target=write, args=(letter,)) for letter in (b"a", b"b")]
    for thread in threads:
        thread.start()
    with os.fdopen(source, "rb") as reader:
        read = [reader.readline() for _ in range(40)]
    os.close(sink)
    for thread in threads:
        thread.join()
    assert {(line[:1], len(set(line)), len(line)) for line in read} == {
        (b"a", 2, size + 1),
        (b"b", 2, size + 1),
    }


def test_nobody_reads_any_more_and_nothing_fails() -> None:
    source, sink = os.pipe()
    os.close(source)
    Terminal().write(sink, b"line\n")
    os.close(sink)
