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
