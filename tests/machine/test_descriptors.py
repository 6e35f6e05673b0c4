"""Waiting for descriptors of high numbers."""

from __future__ import annotations

import fcntl
import os
import resource
from collections.abc import Iterator

import pytest

from pitstop.machine.descriptors import readable

HIGH = 1024


@pytest.fixture
def high_pipe() -> Iterator[tuple[int, int]]:
    """A pipe whose reading end has a number that `select.select` does not take."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard <= HIGH:
        pytest.skip("the hard limit of open files is too low")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, HIGH + 8), hard))
    reads, writes = os.pipe()
    high = fcntl.fcntl(reads, fcntl.F_DUPFD_CLOEXEC, HIGH)
    os.close(reads)
    try:
        yield high, writes
    finally:
        os.close(high)
        os.close(writes)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_high_number_is_waited_for_like_any_other(high_pipe: tuple[int, int]) -> None:
    high, writes = high_pipe
    assert readable([high]) == []
    os.write(writes, b"x")
    assert readable([high], 10.0) == [high]


def test_an_end_that_is_closed_is_readable() -> None:
    reads, writes = os.pipe()
    os.close(writes)
    assert readable([reads]) == [reads]
    os.close(reads)
    assert readable([]) == []
