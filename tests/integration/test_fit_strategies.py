"""`fit` under strategies: stopped, killed and resumed, to the same bits."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import psutil
import pytest

from pitstop.events import GangStopped, LevelKnown, Restored, TrainerStopped
from pitstop.exit_codes import EXIT_STOPPED
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import REAL, KerasRun
from tests.integration.supervisor import launch
from tests.integration.test_gangs import Gang, digests_of, ended, stop

pytest.importorskip("tf_keras", reason="Keras 2 comes in a package of its own")

SCRIPT = Path(__file__).parent / "scripts" / "fit_strategy.py"
EPOCHS = "4"
REPLAYED = {
    "arrays": "exact",
    "dataset": "exact_by_replay",
    "generator": "exact_by_replay",
}

pytestmark = pytest.mark.timeout(400)
needs_network = pytest.mark.skipif(os.geteuid() != 0, reason="a network namespace needs root")


@pytest.mark.torture
@pytest.mark.parametrize(
    ("package", "form", "level"),
    [
        *(("tf_keras", form, level) for form, level in REPLAYED.items()),
        ("keras", "dataset", "exact_by_replay"),
    ],
)
def test_on_two_devices(tmp_path: Path, package: str, form: str, level: str) -> None:
    words, variables = ("mirrored", form, "3", "0"), {"SAMPLE_KERAS": package}
    alone = launch.run_alone(
        tmp_path, "env", f"SAMPLE_KERAS={package}", sys.executable, SCRIPT, *words
    )
    run = KerasRun(tmp_path, SCRIPT.name, words, environment=variables)
    assert run.attempt("--halt-at-step", "13").returncode == EXIT_STOPPED
    assert run.attempt("--die-at-step", "25", "--every", "5steps").returncode == 128 + 9
    finished = run.attempt()
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.splitlines()[-1] == alone.stdout.splitlines()[-1]
    assert b"Pitstop failed" not in finished.stderr
    assert run.last(Restored, 2).step == 13
    assert run.last(Restored, 3).step >= 20
    assert run.last(LevelKnown, 3).level == level


@pytest.mark.parametrize(
    ("reader", "devices", "options", "level"),
    [
        ("validation", "2", (), "exact_by_replay"),
        ("callback", "1", (), "exact"),
        pytest.param("callback", "2", (), "not_exact", marks=pytest.mark.torture),
        pytest.param(
            "callback", "1", ("--input", "replay"), "not_exact", marks=pytest.mark.torture
        ),
    ],
)
def test_others_that_read_from_the_shuffle_of_the_training(
    tmp_path: Path,
    forked: Interpreter,
    reader: str,
    devices: str,
    options: tuple[str, ...],
    level: str,
) -> None:
    script, words = SCRIPT.with_name("shared_shuffle.py"), (reader, devices)
    alone = launch.run_alone(tmp_path, *forked, script, *words)
    run = KerasRun(tmp_path, script.name, words, options, interpreter=forked)
    assert run.attempt("--halt-at-step", "27").returncode == EXIT_STOPPED
    finished = run.attempt()
    assert finished.returncode == 0, finished.stderr
    assert run.last(Restored).level == level
    is_same = finished.stdout.splitlines()[-1] == alone.stdout.splitlines()[-1]
    assert is_same or level == "not_exact"


@needs_network
@pytest.mark.parametrize(
    "form",
    [
        "dropout",
        pytest.param("dataset", marks=pytest.mark.torture),
        pytest.param("arrays", marks=pytest.mark.torture),
        pytest.param("generator", marks=pytest.mark.torture),
    ],
)
def test_a_stop_of_one_worker_stops_all_at_one_step(
    tmp_path: Path, network: tuple[str, ...], forked_legacy: Interpreter, form: str
) -> None:
    expected, gang = _workers(tmp_path, network, forked_legacy, form, "0.2")
    started = gang.start()
    gang.until_step(13)
    stop(gang, started, 1)
    assert ended(started) == ([EXIT_STOPPED] * 2, [])
    [step] = set(gang.steps_of(GangStopped))
    assert gang.steps_of(TrainerStopped) == [step] * 2
    codes, digests = ended(gang.start())
    assert (codes, digests) == ([0, 0], expected)
    for run in gang.runs:
        restored = run.last(Restored)
        assert (restored.step, restored.level) == (step, REPLAYED.get(form, "exact_by_replay"))


@needs_network
@pytest.mark.torture
@pytest.mark.parametrize(("victim", "form"), [(0, "dataset"), (1, "dropout")])
def test_restarts_bring_all_workers_back(
    tmp_path: Path, network: tuple[str, ...], victim: int, form: str
) -> None:
    expected, gang = _workers(tmp_path, network, REAL, form, "0.3")
    started = gang.start_until_saved("--restarts", "2")
    psutil.Process(gang.runs[victim].status()["pid"]).kill()
    assert ended(started) == ([0, 0], expected)
    assert len(set(gang.steps_of(Restored))) == 1


def _workers(
    folder: Path, network: tuple[str, ...], python: Interpreter, form: str, pause_seconds: str
) -> tuple[list[str], Gang]:
    """Each worker's digest of a training without Pitstop, and the workers of another."""
    words = ("workers", form, EPOCHS)
    for name in ("plain", "gang"):
        (folder / name).mkdir()
    expected = digests_of(folder / "plain", str(SCRIPT), *words, "0", python=python)
    slow = (*words, pause_seconds)
    gang = Gang.of(folder / "gang", network, *slow, script=SCRIPT, python=python)
    return expected, gang
