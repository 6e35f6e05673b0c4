"""Keras trainings that stand still: why is found out, and a restart goes on to the same bits."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pitstop.events import AttemptEnded, RestartPlanned, Restored, TrainingStalled, WorkerDied
from tests.integration.compare import assert_identical
from tests.integration.keras_run import Ended, KerasRun
from tests.integration.supervisor import launch

pytestmark = pytest.mark.xdist_group("hangs")
_GATE, _WEIGHTS = "gate", "out.npz"


def _run(folder: Path, way: str, *options: str) -> KerasRun:
    return KerasRun(folder, "hangs.py", (way, _GATE, _WEIGHTS), ("--hang-after", "2s", *options))


@pytest.fixture(scope="module", params=["lock"])
def undisturbed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The weights of the same training without the standstill; `lock` stands for all callbacks."""
    folder = tmp_path_factory.mktemp("undisturbed")
    (folder / _GATE).touch()
    ended = _run(folder, request.param).attempt()
    assert ended.returncode == 0, ended.stderr
    return folder / _WEIGHTS


def _assert_goes_on(folder: Path, way: str, undisturbed: Path) -> TrainingStalled:
    """It stands still once, is started again, and ends with the bits of the undisturbed one."""
    run = _run(folder, way, "--on-hang", "restart", "--restarts", "2")
    ended: Ended = launch.finish(run.start())
    assert ended.returncode == 0, ended.stderr
    assert [each.state for each in run.events(AttemptEnded)] == ["failed", "completed"]
    assert [each.cause for each in run.events(RestartPlanned)] == ["hang_or_stall"]
    restored = run.last(Restored)
    assert restored.level in ("exact", "exact_by_replay"), restored
    assert run.processes() == []
    assert_identical(undisturbed, folder / _WEIGHTS)
    (stall,) = run.events(TrainingStalled)
    assert "hangs.py" in (folder / "run" / stall.stacks_file).read_text()
    return stall


@pytest.mark.timeout(240)
def test_a_killed_training_is_started_again_and_ends_with_the_same_bits(
    tmp_path: Path, undisturbed: Path
) -> None:
    run = _run(tmp_path, "killed", "--restarts", "1")
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(RestartPlanned).cause == "user_code_error"
    assert_identical(undisturbed, tmp_path / _WEIGHTS)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("undisturbed", ["input"], indirect=True)
def test_an_input_that_sleeps_for_ever(tmp_path: Path, undisturbed: Path) -> None:
    stall = _assert_goes_on(tmp_path, "input", undisturbed)
    assert (stall.doing, stall.phase) == ("input", "train")
    assert "in rows()" in stall.place


@pytest.mark.timeout(240)
def test_a_deadlock_in_a_callback(tmp_path: Path, undisturbed: Path) -> None:
    stall = _assert_goes_on(tmp_path, "lock", undisturbed)
    assert stall.doing == "callback"
    assert "in wait_for_ever()" in stall.place


@pytest.mark.timeout(240)
def test_native_code_that_holds_the_interpreter(tmp_path: Path, undisturbed: Path) -> None:
    stall = _assert_goes_on(tmp_path, "gil", undisturbed)
    assert stall.doing == "callback"
    assert "in hold_the_interpreter()" in stall.place


@pytest.mark.timeout(240)
def test_a_data_worker_that_is_dead_is_found_within_seconds(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "hangs.py", ("worker", _GATE), ("--on-hang", "kill"))
    ended = run.attempt()
    (stall,), (died,) = run.events(TrainingStalled), run.events(WorkerDied)
    assert ended.returncode == 137
    assert died.signal == "SIGKILL"
    assert stall.doing == "worker"
    assert stall.workers == [f"process {died.pid}, ended by SIGKILL"]
    assert stall.seconds < 30  # the floor is a minute; a busy machine may look late
    why = json.loads(run.pitstop("why", "--json").stdout)
    assert why["cause"] == "hang_or_stall"
    assert str(died.pid) in why["summary"]


@pytest.mark.timeout(240)
def test_a_thread_that_keeps_the_process_alive_behind_the_last_line(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "hangs.py", ("exit", _GATE), ("--hang-after", "2s"))
    process = run.start()
    (stall,) = launch.until(lambda: run.events(TrainingStalled))
    assert stall.doing == "exit"
    assert run.pitstop("stop", "--now").returncode == 0
    launch.finish(process)


@pytest.mark.timeout(240)
@pytest.mark.parametrize("script", ["slow_compile.py", "slow_validation.py"])
def test_what_only_takes_long_is_no_standstill(tmp_path: Path, script: str) -> None:
    run = KerasRun(tmp_path, script, (), ("--hang-after", "4s", "--on-hang", "kill"))
    ended = run.attempt()
    assert run.events(TrainingStalled) == []
    assert ended.returncode == 0, ended.stderr
