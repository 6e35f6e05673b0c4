"""A resume computes with as many threads as the attempts before."""

from __future__ import annotations

import pytest

from pitstop.events import JsonValue
from pitstop.supervisor.records.fingerprint import THREADS_VARIABLE, Threads, choose_threads


@pytest.mark.parametrize(
    ("environment", "before", "expected"),
    [
        ({}, {}, Threads(4, 4)),
        ({}, {"cpus": 4}, Threads(4, 4)),
        ({}, {"cpus": 2}, Threads(2, 4, kept=True)),
        ({}, {"cpus": 4, "intra_op_threads": 2}, Threads(2, 4, kept=True)),
        ({}, {"cpus": 1, "intra_op_threads": 4}, Threads(4, 4)),
        ({THREADS_VARIABLE: "3"}, {"cpus": 2}, Threads(3, 4)),
        ({THREADS_VARIABLE: "0"}, {"cpus": 2}, Threads(2, 4, kept=True)),
        ({THREADS_VARIABLE: "many"}, {}, Threads(4, 4)),
    ],
)
def test_the_number_of_threads(
    environment: dict[str, str], before: dict[str, JsonValue], expected: Threads
) -> None:
    assert choose_threads(4, environment, before) == expected


def test_only_a_number_that_is_kept_is_set() -> None:
    assert Threads(2, 4, kept=True).variables == {THREADS_VARIABLE: "2"}
    assert Threads(4, 4).variables == {}


def test_the_user_is_told_both_numbers() -> None:
    notice = Threads(2, 8, kept=True).notice
    assert "2 threads" in notice.message
    assert "8 CPUs" in notice.message
