"""A spare process: started once its imports are listed, taken while it lives, never leaking."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.supervisor.attempt.spare import Spare, SparePlan

_WAITS = """
import os, socket
number = int(os.environ["PITSTOP_SPARE"].partition(":")[0])
with socket.socket(fileno=number) as supervisor:
    supervisor.send(b".")
    supervisor.recv(1)
"""
_SECONDS = 20.0
_LOOK_SECONDS = 0.02


@pytest.fixture
def plan(tmp_path: Path) -> SparePlan:
    imports = tmp_path / "imports.json"
    imports.touch()
    command = (sys.executable, "-S", "-c", _WAITS)
    return SparePlan(command, imports, dict(os.environ), {"script": "a"})


@pytest.fixture
def spare(monkeypatch: pytest.MonkeyPatch) -> Iterator[Spare]:
    monkeypatch.setattr("pitstop.supervisor.attempt.spare.available_bytes", lambda: 1 << 40)
    found = Spare(sys.executable, frozenset())
    yield found
    found.close()


def _until_ready(spare: Spare, plan: SparePlan) -> None:
    now = time.monotonic()
    for looks in range(int(_SECONDS / _LOOK_SECONDS)):
        if list(spare.look(plan, now + 2.0 * looks)):
            return
        time.sleep(_LOOK_SECONDS)
    pytest.fail("it is never ready")


def _open_files() -> set[str]:
    return {path.name for path in Path("/proc/self/fd").iterdir()}


def test_one_that_is_ready_is_taken(spare: Spare, plan: SparePlan) -> None:
    _until_ready(spare, plan)
    pid = spare.pid
    output = spare.take(plan.environment, plan.fingerprint)
    assert output
    assert spare.release() == pid
    assert os.waitpid(pid, 0)[1] == 0
    for _, source, sink in output:
        os.close(source)
        os.close(sink)


def test_one_that_is_not_ready_is_taken(spare: Spare, plan: SparePlan) -> None:
    list(spare.look(plan, time.monotonic()))
    pid = spare.pid
    output = spare.take(plan.environment, plan.fingerprint)
    assert output
    assert spare.release() == pid
    assert os.waitpid(pid, 0)[0] == pid
    for _, source, sink in output:
        os.close(source)
        os.close(sink)


def test_one_that_died_behind_its_word_is_not_taken(spare: Spare, plan: SparePlan) -> None:
    _until_ready(spare, plan)
    os.kill(spare.pid, signal.SIGKILL)
    os.waitpid(spare.pid, 0)
    assert spare.take(plan.environment, plan.fingerprint) == ()
    assert spare.release() == 0


def test_one_for_another_script_is_not_taken(spare: Spare, plan: SparePlan) -> None:
    _until_ready(spare, plan)
    assert spare.take(plan.environment, {"script": "b"}) == ()
    assert spare.pid == 0


def test_one_that_the_machine_refuses_leaves_nothing_open(
    monkeypatch: pytest.MonkeyPatch, plan: SparePlan
) -> None:
    monkeypatch.setattr("pitstop.supervisor.attempt.spare.available_bytes", lambda: 1 << 40)
    spare = Spare("/no/such/program", frozenset())
    before = _open_files()
    assert list(spare.look(plan, time.monotonic())) == []
    # Files of other tests may be closed meanwhile.
    assert (spare.pid, _open_files() - before) == (0, set())
