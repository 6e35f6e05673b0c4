"""One training that is stopped and resumed hundreds of times: the same weights, and nothing leaks.

Most cycles are those of a small trainer that speaks the protocol with the real arena and beacon,
since the import of TensorFlow would be all that is repeated; the others are Keras'.
"""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pitstop.events import AttemptEnded, Restored
from pitstop.journal import read
from pitstop.store.catalog import Catalog
from pitstop.store.manifest import Manifest
from pitstop.store.reader import read_tensor
from pitstop.store.run_folder import RunFolder, open_existing
from tests.integration.chain import STEPS, Chain, interrupt_everywhere
from tests.integration.conftest import CYCLES, Baseline
from tests.integration.supervisor.launch import TRAINER, finish, start, until_line

PROTOCOL_CYCLES = 500
KERAS_CYCLES = 40
_EPOCHS = 4
_MARK = "PITSTOP_TEST_MARK"
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, None)
"""By turns; None is a stop file."""

pytestmark = pytest.mark.torture


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder for the runs, and one beside it for everything that they open."""
    (tmp_path / "runtime").mkdir()
    return tmp_path


def _start(place: Path, folder: str, steps: int) -> subprocess.Popen[bytes]:
    runtime = str(place / "runtime")
    command = ("--", sys.executable, TRAINER, "--step-seconds", 0.002)
    variables = {
        _MARK: str(place),
        "SAMPLE_STEPS": str(steps),
        "XDG_RUNTIME_DIR": runtime,
        "TMPDIR": runtime,
    }
    return start(place, "run", "--run-dir", folder, *command, **variables)


def _stop(place: Path, number: signal.Signals | None, after_step: int) -> None:
    process = _start(place, "run", 1_000_000)
    until_line(process, b"step %d\n" % (after_step + 2))
    if number is None:
        (place / "run" / "stop").touch()
    else:
        process.send_signal(number)
    ended = finish(process)
    assert ended.returncode == 75, ended.stderr
    assert [each for each in (place / "runtime").rglob("*") if not each.is_dir()] == []


def _newest(folder: RunFolder) -> tuple[Path, Manifest]:
    entry = Catalog(folder.checkpoints).entries()[0]
    assert entry.manifest is not None
    return entry.path, entry.manifest


def _tensors(folder: RunFolder) -> dict[str, bytes]:
    """What the newest checkpoint holds, in however many files."""
    path, manifest = _newest(folder)
    return {name: read_tensor(path, manifest, name) for name in manifest.tensors}


def _leaked(place: Path) -> list[str]:
    """Processes of these runs that live, and shared memory of ours that they hold."""
    return [name for process in psutil.process_iter() for name in _held_by(process, place)]


def _held_by(process: psutil.Process, place: Path) -> list[str]:
    try:
        if process.environ().get(_MARK) != str(place):
            return []
        links = [str(each.readlink()) for each in Path(f"/proc/{process.pid}/fd").iterdir()]
    except (psutil.Error, OSError):
        return []
    return [str(process), *(link for link in links if "memfd:" in link)]


@pytest.mark.timeout(3000)
def test_hundreds_of_stops_end_with_the_same_state_and_leak_nothing(
    place: Path, record_property: Callable[[str, object], None]
) -> None:
    shared_before = set(Path("/dev/shm").iterdir())
    step = 0
    for cycle in range(PROTOCOL_CYCLES):
        _stop(place, _SIGNALS[cycle % len(_SIGNALS)], step)
        folder = open_existing(place / "run")
        before, step = step, _newest(folder)[1].info.step
        assert step >= before + 2
    assert _leaked(place) == []
    assert set(Path("/dev/shm").iterdir()) <= shared_before
    _check_journal(folder)
    _check_files(folder)

    total = step + 10
    for name in ("run", "uninterrupted"):
        ended = finish(_start(place, name, total))
        assert ended.returncode == 0, ended.stderr
    expected = _tensors(open_existing(place / "uninterrupted"))
    assert "chain" in expected
    assert _tensors(folder) == expected
    record_property(CYCLES, PROTOCOL_CYCLES)


def _check_journal(folder: RunFolder) -> None:
    """Every attempt went on exactly where the one before had stopped."""
    events = [entry.event for entry in read(folder.journal).entries]
    ends = [event for event in events if isinstance(event, AttemptEnded)]
    restored = [event for event in events if isinstance(event, Restored)]
    assert {(end.state, end.exit_code) for end in ends} == {("stopped", 75)}
    assert all(end.checkpoint_step == end.step for end in ends)
    assert [event.step for event in restored] == [end.step for end in ends[:-1]]
    assert {event.lost_steps for event in restored} == {0}


def _check_files(folder: RunFolder) -> None:
    """Attempts have all the same files, and the other folders do not grow."""
    attempts = [path for path in (folder.path / "attempts").iterdir() if path.is_dir()]
    names = {frozenset(path.name for path in each.iterdir()) for each in attempts}
    assert len(attempts) == PROTOCOL_CYCLES
    assert len(names) == 1, names
    kept = [path for path in folder.checkpoints.iterdir() if not path.name.startswith(".")]
    assert len(kept) <= 10
    assert all(json.loads((each / "manifest.json").read_text()) for each in kept)
    assert len(list(folder.path.iterdir())) <= 10


@pytest.mark.timeout(3000)
def test_a_stop_at_every_second_step_of_a_fit(
    tmp_path: Path, baseline: Baseline, record_property: Callable[[str, object], None]
) -> None:
    points = " ".join(f"stop@batch:{step}" for step in range(1, STEPS * _EPOCHS, 2))
    arguments = ("--input", "tfdata-shuffle", "--validation", "--epochs", str(_EPOCHS))
    chain = Chain(arguments, points)
    assert len(chain.parsed()) == KERAS_CYCLES
    interrupt_everywhere(chain, tmp_path, baseline(arguments))
    record_property(CYCLES, KERAS_CYCLES)
