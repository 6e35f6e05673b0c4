"""What the integration tests share: uninterrupted runs to compare with, and a count of cycles."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.integration.chain import train_alone
from tests.integration.interpreters import forking, forking_kernel
from tests.integration.keras_run import OUT
from tests.integration.supervisor import launch

CYCLES = "cycles"

Baseline = Callable[[tuple[str, ...]], Path]
Interpreter = tuple[str, ...]
"""The words before the path of a script."""


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test run, the same for all of its processes."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own


@pytest.fixture(scope="session")
def baseline(shared_folder: Path, forked: Interpreter) -> Baseline:
    """The outcome of `train.py` without Pitstop, trained once for each list of arguments."""

    def outcome(arguments: tuple[str, ...]) -> Path:
        name = hashlib.sha256("\0".join(arguments).encode()).hexdigest()[:16]
        folder = shared_folder / f"baseline-{name}"
        folder.mkdir(exist_ok=True)
        with (folder / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            trained = folder / OUT
            return trained if trained.exists() else train_alone(folder, arguments, forked)

    return outcome


@pytest.fixture(scope="session")
def forked() -> Iterator[Interpreter]:
    """A `python` whose scripts are forks that have imported the frameworks already.

    For tests that compare bits.  Its scripts have another parent than `pitstop run` expects: what
    looks at processes needs a real one.
    """
    with forking("tensorflow", "keras") as python:
        yield (python,)


@pytest.fixture(scope="session")
def forked_legacy() -> Iterator[Interpreter]:
    """The same with Keras 2, as a package of its own."""
    with forking("tensorflow", "tf_keras") as python:
        yield (python,)


@pytest.fixture(scope="session")
def forked_kernel() -> Iterator[Interpreter]:
    """The words that start a kernel which is such a fork."""
    pytest.importorskip("ipykernel")
    with forking_kernel() as words:
        yield words


@pytest.fixture(autouse=True)
def nothing_left(tmp_path: Path) -> Iterator[None]:
    """Ends what a test has started in its folder and not ended, also when the test fails."""
    yield
    launch.end_all_below(tmp_path)


@pytest.fixture
def network() -> Iterator[tuple[str, ...]]:
    """The words that run a command in a network of its own: TensorFlow's servers hear everybody."""
    hold = ["unshare", "-n", "sh", "-c", "ip link set lo up && echo up && exec sleep 600"]
    with subprocess.Popen(hold, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        try:
            assert holder.stdout.readline() == b"up\n"
            yield ("nsenter", "-n", "-t", str(holder.pid), "--")
        finally:
            holder.kill()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = terminalreporter.getreports("passed")
    cycles = sum(
        value for report in reports for name, value in report.user_properties if name == CYCLES
    )
    if cycles:
        terminalreporter.write_line(f"{cycles} interruptions, each resumed to the same bits")
