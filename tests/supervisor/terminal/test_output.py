"""The script's output and its log."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.supervisor.terminal.output import Channel, OutputLog, plan_channels


@pytest.mark.parametrize(
    ("stdout_tty", "stderr_tty", "same_file", "channels"),
    [
        (True, True, False, (Channel((1, 2), True),)),
        (False, False, True, (Channel((1, 2), False),)),
        (False, False, False, (Channel((1,), False), Channel((2,), False))),
        (False, True, False, (Channel((1,), False), Channel((2,), True))),
        (True, False, False, (Channel((1,), True), Channel((2,), False))),
    ],
)
def test_what_is_a_terminal_stays_one(
    stdout_tty: bool, stderr_tty: bool, same_file: bool, channels: tuple[Channel, ...]
) -> None:
    planned = plan_channels(stdout_tty=stdout_tty, stderr_tty=stderr_tty, same_file=same_file)
    assert planned == channels


def test_log_keeps_everything_while_it_is_small(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "output.log", head_bytes=10, tail_bytes=20)
    log.append(b"a" * 25)
    log.append(b"b" * 25)
    log.close()
    assert log.path.read_bytes() == b"a" * 25 + b"b" * 25


def test_log_keeps_both_ends_of_a_long_output(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "output.log", head_bytes=10, tail_bytes=40)
    pieces = [b"%04d\n" % number for number in range(1000)]
    for piece in pieces:
        log.append(piece)
    log.close()
    kept, everything = log.path.read_bytes(), b"".join(pieces)
    assert kept.startswith(everything[:10])
    assert kept.endswith(everything[-40:])
    assert len(kept) <= 10 + 2 * 40 + 100
    assert b"bytes left out" in kept


def test_log_that_is_closed_takes_no_more(tmp_path: Path) -> None:
    log = OutputLog(tmp_path / "output.log")
    log.close()
    log.append(b"late")
    log.close()
    assert log.path.read_bytes() == b""
