"""What a command does to its own process, undone in the process of the tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)


@pytest.fixture(autouse=True)
def handlers() -> Iterator[None]:
    """`pitstop run` takes these signals over for as long as its process lives."""
    before = {each: signal.getsignal(each) for each in _SIGNALS}
    yield
    for each, handler in before.items():
        signal.signal(each, handler)
