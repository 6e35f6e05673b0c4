"""Where the script's output and our own words meet."""

from __future__ import annotations

import os
import threading

from pitstop.supervisor.terminal.screen import Screen


def test_an_output_that_does_not_block_loses_nothing() -> None:
    """A pipe to a program that sets O_NONBLOCK on what it shares with us, and reads slowly."""
    out, into = os.pipe()
    os.set_blocking(into, False)
    screen = Screen(status_row=False, stdout=into)
    data = bytes(range(256)) * 4096

    def write() -> None:
        try:
            screen.write(1, data)
        finally:
            os.close(into)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(out, "rb") as reader:
        received = reader.read()
    writer.join()
    assert received == data
    screen.close()


def _said(stdout: int, stderr: int) -> None:
    screen = Screen(status_row=False, stdout=stdout, stderr=stderr)
    screen.write(1, b"12/188")
    screen.say("stopping.")
    screen.close()


def test_our_words_begin_a_line_where_the_script_left_one_unfinished() -> None:
    out, into = os.pipe()
    _said(into, into)
    assert os.read(out, 100) == b"12/188\npitstop: stopping.\n"
    os.close(into)
    os.close(out)


def test_a_line_left_unfinished_elsewhere_is_left_alone() -> None:
    out, into = os.pipe()
    other_out, other = os.pipe()
    _said(other, into)
    assert os.read(out, 100) == b"pitstop: stopping.\n"
    assert os.read(other_out, 100) == b"12/188"
    for each in (out, into, other_out, other):
        os.close(each)
