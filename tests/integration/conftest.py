"""What the integration tests share: uninterrupted runs to compare with, and a count of cycles."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.chain import train_alone

CYCLES = "cycles"

Baseline = Callable[[tuple[str, ...]], Path]


@pytest.fixture(scope="session")
def baseline(tmp_path_factory: pytest.TempPathFactory) -> Baseline:
    """The outcome of `train.py` without Pitstop, trained once for each list of arguments."""
    trained: dict[tuple[str, ...], Path] = {}

    def outcome(arguments: tuple[str, ...]) -> Path:
        if arguments not in trained:
            trained[arguments] = train_alone(tmp_path_factory.mktemp("baseline"), arguments)
        return trained[arguments]

    return outcome


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("passed")
    cycles = sum(
        value for report in reports for name, value in report.user_properties if name == CYCLES
    )
    if cycles:
        terminalreporter.write_line(f"{cycles} interruptions, each resumed to the same bits")
