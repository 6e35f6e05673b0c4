"""Where the script's output and our own words meet."""

from __future__ import annotations

import os
import threading
from dataclasses import replace

import pytest

from pitstop.supervisor.status import Status
from pitstop.supervisor.terminal.screen import (
    Screen,
    format_status,
    inside_sequence,
    paint,
    release,
    reserve,
    wanted,
)


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


_STATUS = Status(
    "running",
    step=1234,
    epoch=2,
    epochs=9,
    rate=12.34,
    eta_seconds=3700,
    checkpoint_step=1200,
    checkpoint_age_seconds=7.9,
    level="exact_by_replay",
)


def test_line_holds_everything_when_there_is_room() -> None:
    assert format_status(_STATUS, 200) == (
        "pitstop: running | step 1234, epoch 3/9 | 12.3 steps/s, 1 h 1 min left"
        " | saved step 1200 7.9 s ago | exact by replay"
    )


def test_line_of_a_training_that_stands_still() -> None:
    status = replace(_STATUS, silent_seconds=83.4, standstill="it waits for its input")
    assert "running | step 1234 |" in format_status(replace(status, epochs=1), 200)
    assert "epoch 3/9 | no progress for 1 min 23 s | saved" in format_status(status, 200)


def test_line_never_exceeds_the_columns() -> None:
    assert len(format_status(_STATUS, 30)) == 30


def test_line_before_training() -> None:
    assert format_status(Status("starting"), 80) == "pitstop: starting | nothing saved yet"


def test_line_while_the_input_is_replayed() -> None:
    status = Status("running", replay_step=40, replayed_batches=7, batches_to_replay=12)
    shown = format_status(status, 80)
    assert shown == ("pitstop: running | replaying to step 40: 7 of 12 batches | nothing saved yet")


@pytest.mark.parametrize(
    ("tail", "inside"),
    [
        (b"plain", False),
        (b"", False),
        (b"\x1b", True),
        (b"\x1b[", True),
        (b"\x1b[1;3", True),
        (b"\x1b[1;31m", False),
        (b"\x1b]0;title", True),
        (b"\x1b]0;title\x07", False),
        (b"\x1b(", True),
        (b"\x1b(B", False),
        ("é".encode(), False),
        ("é".encode()[:1], True),
        ("€".encode()[:2], True),
        ("😀".encode()[:3], True),
        ("😀".encode(), False),
    ],
)
def test_never_painted_inside_a_sequence_or_a_character(tail: bytes, inside: bool) -> None:
    assert inside_sequence(tail) is inside


@pytest.mark.parametrize(
    ("term", "terminals", "rows", "expected"),
    [
        ("xterm", True, 24, True),
        ("dumb", True, 24, False),
        ("xterm", False, 24, False),
        ("xterm", True, 9, False),
    ],
)
def test_wanted_only_where_it_can_be_shown(
    term: str, terminals: bool, rows: int, expected: bool
) -> None:
    assert wanted({"TERM": term}, terminals=terminals, rows=rows) is expected


def test_wanted_without_a_term_is_no() -> None:
    assert not wanted({}, terminals=True, rows=50)


def test_bottom_row_is_taken_and_given_back() -> None:
    size = os.terminal_size((10, 24))
    assert b"\x1b[1;23r" in reserve(size)
    assert b"\x1b[24;1H" in paint(size, "a line that is too long")
    assert b"a line tha\x1b" in paint(size, "a line that is too long")
    assert b"\x1b[1;24r" in release(size)
