"""Lines of several processes on one terminal."""

from __future__ import annotations

import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.launch.output import Lines, Terminal, prefixed


@given(st.lists(st.binary(max_size=20), max_size=10))
def test_lines_are_whole_however_they_are_read(parts: list[bytes]) -> None:
    text, lines = b"".join(parts), Lines()
    found = [line for part in parts for line in lines.cut(part)] + lines.end()
    expected = text.split(b"\n")
    assert found == (expected if expected[-1] else expected[:-1])


def test_a_line_that_never_ends_comes_in_parts() -> None:
    lines = Lines()
    parts = [lines.cut(b"x" * 1000) for _ in range(2000)]
    assert 1 <= sum(len(each) for each in parts) <= 2
    assert sum(len(each) for part in parts for each in part) + len(lines.end()[0]) == 2_000_000


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
