"""What generated programs share: interpreters, undisturbed runs, and the count at the end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import pytest

from tests.integration.interpreters import forking
from tests.integration.programs.runner import COMMAND, Runner

OUTCOME = "program"


@pytest.fixture(scope="session")
def runner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runner]:
    """Runs programs in forks: nothing but the script itself takes time."""
    folder = tmp_path_factory.mktemp("programs")
    with forking("tensorflow", "keras") as python, forking("pitstop.cli.main") as tools:
        yield Runner(folder, (python,), (tools, str(COMMAND)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    verdicts = Counter(
        str(value)
        for outcome in ("passed", "failed")
        for report in terminalreporter.getreports(outcome)
        for name, value in report.user_properties
        if name == OUTCOME and report.when == "call"
    )
    if verdicts:
        counts = ", ".join(f"{count} {verdict}" for verdict, count in verdicts.most_common())
        terminalreporter.write_line(f"{verdicts.total()} programs: {counts}")
