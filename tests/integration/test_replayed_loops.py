"""Custom loops without a line of Pitstop end with the bits of the uninterrupted script."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pitstop.events import LevelKnown, Notice, Restored, TrainerStopped
from pitstop.link.settings import ENV_ENTROPY
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import OUT, REAL, SCRIPTS, Ended, KerasRun
from tests.integration.supervisor.launch import PITSTOP, run_alone

_SCRIPT = "loop_plain.py"
_EXIT_CODES = {"kill": 128 + 9, "stop": 75}

LOOPS = {
    "tape": "kill@batch:13 stop@batch:24",
    "batches": "stop@batch:3 kill@batch:27",
    "gan": "kill@batch:7 stop@critic:22",
    "iterator": "kill@batch:4 stop@batch:12",
}
MANY = {
    "tape": "kill@batch:1 stop@batch:2 kill@epoch:1 stop@epoch:2 kill@batch:29 kill@epoch:3",
    "batches": "kill@batch:1 kill@batch:11 stop@batch:20 kill@batch:21 kill@batch:30",
    "gan": "stop@critic:1 kill@critic:2 kill@batch:2 stop@batch:17 stop@critic:29 kill@batch:30",
    "turns": "kill@batch:5 kill@batch:14 stop@batch:16 stop@batch:25 kill@batch:28",
    "iterator": "kill@batch:1 stop@batch:5 kill@batch:6 stop@batch:14 kill@batch:15",
    "devices": "kill@batch:2 stop@batch:9 kill@batch:10 stop@batch:26",
}


def _run_of(
    folder: Path, loop: str, faults: str, interpreter: Interpreter = REAL, *, unseeded: bool = False
) -> KerasRun:
    environment = {
        ENV_ENTROPY: "5eed",
        "FAULTS": faults,
        "FAULTS_DONE": str(folder / "faults"),
        "STOP_COMMAND": f"{' '.join(PITSTOP)} stop run --no-wait",
    }
    arguments = (OUT, "--loop", loop, *(["--unseeded"] if unseeded else []))
    options = ("--every", "1steps")
    return KerasRun(folder, _SCRIPT, arguments, options, environment, interpreter=interpreter)


def _alone(folder: Path, loop: str, interpreter: Interpreter) -> tuple[Path, list[bytes]]:
    """What the script writes, and prints, without Pitstop."""
    out = folder / f"alone-{OUT}"
    ended = run_alone(folder, *interpreter, SCRIPTS / _SCRIPT, out, "--loop", loop)
    return out, _printed(ended)


def _printed(ended: Ended) -> list[bytes]:
    return [line for line in ended.stdout.splitlines() if line.startswith(b"step ")]


def _interrupt(folder: Path, loop: str, faults: str, interpreter: Interpreter) -> None:
    expected, lines = _alone(folder, loop, interpreter)
    run = _run_of(folder, loop, faults, interpreter)
    for attempt, fault in enumerate(faults.split(), start=1):
        ended = run.attempt()
        assert ended.returncode == _EXIT_CODES[fault.partition("@")[0]], (fault, ended.stderr)
        _check_resumed(run, attempt)
        _check_printed(lines, _printed(ended))
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    _check_resumed(run, len(faults.split()) + 1)
    printed = _printed(ended)
    assert printed == lines[len(lines) - len(printed) :]
    assert_identical(expected, folder / OUT)
    assert run.processes() == []


def _check_printed(lines: list[bytes], printed: list[bytes]) -> None:
    """An attempt prints a part of what the script prints alone, the same bits."""
    start = lines.index(printed[0]) if printed else 0
    assert printed == lines[start : start + len(printed)]


def _check_resumed(run: KerasRun, attempt: int) -> None:
    """An attempt goes on at what was saved, and nowhere else."""
    saved = run.saved_step(attempt - 1)
    resumed = [event.step for event in run.events(Restored, attempt)]
    assert resumed[-1:] == ([] if saved is None else [saved])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    "loop", ["batches", "gan", "iterator", pytest.param("tape", marks=pytest.mark.fast)]
)
def test_a_loop_that_is_killed_and_stopped(loop: str, tmp_path: Path, forked: Interpreter) -> None:
    _interrupt(tmp_path, loop, LOOPS[loop], forked)


@pytest.mark.timeout(300)
def test_a_loop_that_seeds_nothing(tmp_path: Path, forked: Interpreter) -> None:
    """Weights, the order of its batches and its noise are those of its run."""
    outs = []
    for name, faults in (("whole", ""), ("cut", "kill@batch:13 stop@batch:24")):
        folder = tmp_path / name
        folder.mkdir()
        run = _run_of(folder, "tape", faults, forked, unseeded=True)
        codes = [run.attempt().returncode for _ in range(1 + len(faults.split()))]
        assert codes[-1] == 0, codes
        assert run.last(LevelKnown).level == "exact_by_replay", run.last(LevelKnown)
        outs.append(folder / OUT)
    assert_identical(*outs)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize("loop", MANY)
def test_a_loop_that_is_interrupted_again_and_again(
    loop: str, tmp_path: Path, forked: Interpreter
) -> None:
    _interrupt(tmp_path, loop, MANY[loop], forked)


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_a_stop_while_the_script_is_repeated(tmp_path: Path) -> None:
    run = _run_of(tmp_path, "batches", "stop@batch:9 stop@batch:4")
    assert run.attempt().returncode == 75
    saved = run.saved_step(1)
    ended = run.attempt()
    assert ended.returncode == 75, ended.stderr
    assert run.events(Restored, 2) == []
    assert run.last(TrainerStopped, 2).step == saved
    assert run.saved_step(2) == saved


@pytest.mark.torture
@pytest.mark.timeout(300)
def test_another_loop_is_not_resumed(tmp_path: Path) -> None:
    assert _run_of(tmp_path, "batches", "stop@batch:9").attempt().returncode == 75
    changed = _run_of(tmp_path, "gan", "")
    ended = changed.attempt()
    assert ended.returncode == 2, ended.stderr
    assert b"a different command (the arguments: --loop batches -> --loop gan)" in ended.stderr
    ended = changed.attempt("--take", "all")
    assert ended.returncode == 2, ended.stderr
    assert b"its first step gives other values" in ended.stderr
    assert b"pitstop.start" in ended.stderr
    assert [each.code for each in changed.events(Notice, 2)][-1] == "resume_refused"
    assert changed.saved_step(2) == changed.saved_step(1)


@pytest.mark.torture
@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("loop", "reason"),
    [
        ("eager", "gradients are applied outside any tf.function"),
        ("replicas", "gradients are applied outside any tf.function"),
        ("many", "reads its own input"),
    ],
)
def test_a_loop_that_cannot_be_repeated_says_so(loop: str, reason: str, tmp_path: Path) -> None:
    run = _run_of(tmp_path, loop, "stop@batch:4")
    ended = run.attempt()
    assert ended.returncode == 75, ended.stderr
    known = run.last(LevelKnown)
    assert known.level == "not_exact"
    assert reason in known.reason
    assert "pitstop.start and run.steps" in known.reason
    assert run.saved_step(1) is None


FORMS = {"manager": (5, 25, 44), "restore_or_initialize": (25,), "latest": (25,)}


def _manager(folder: Path, forked: Interpreter, form: str, **variables: str) -> KerasRun:
    script = "loop_manager.py"
    return KerasRun(folder, script, (form,), environment=variables, interpreter=forked)


@pytest.mark.parametrize("form", FORMS)
def test_a_loop_that_looks_for_its_own_checkpoints_is_repeated(
    tmp_path: Path, forked: Interpreter, form: str
) -> None:
    run = _manager(tmp_path, forked, form)
    for step in FORMS[form]:
        assert run.attempt("--halt-at-step", str(step)).returncode == 75
    assert run.last(LevelKnown).level == "exact_by_replay"
    resumed = run.attempt()
    assert resumed.returncode == 0, resumed.stderr
    assert b"own checkpoints, such as those in" in resumed.stderr
    assert run.last(Restored).level == "exact_by_replay"
    (tmp_path / "alone").mkdir()
    alone = run_alone(tmp_path / "alone", *forked, SCRIPTS / "loop_manager.py", form)
    assert _last_line(resumed) == _last_line(alone)
    assert _names(tmp_path / "saved") == _names(tmp_path / "alone/saved")


def _last_line(ended: Ended) -> bytes:
    return ended.stdout.splitlines()[-1]


def _names(folder: Path) -> list[str]:
    return sorted(each.name for each in folder.iterdir())


def test_a_loop_that_began_with_its_own_checkpoint_goes_on_by_itself(
    tmp_path: Path, forked: Interpreter
) -> None:
    run_alone(tmp_path, *forked, SCRIPTS / "loop_manager.py", "manager")
    run = _manager(tmp_path, forked, "manager")
    assert run.attempt("--halt-at-step", "25").returncode == 75
    known = run.last(LevelKnown)
    assert known.level == "not_exact"
    assert "looks for its own checkpoints" in known.reason


def test_own_checkpoints_of_another_loop_are_not_left_out_silently(
    tmp_path: Path, forked: Interpreter
) -> None:
    assert _manager(tmp_path, forked, "manager").attempt("--halt-at-step", "25").returncode == 75
    before = _names(tmp_path / "saved")
    ended = _manager(tmp_path, forked, "manager", SCALE="2").attempt()
    assert ended.returncode == 2, ended.stderr
    assert b"were hidden from it" in ended.stderr
    assert _names(tmp_path / "saved") == before


def test_checkpoints_that_the_script_has_saved_alone_are_restored(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = _manager(tmp_path, forked, "manager")
    assert run.attempt("--halt-at-step", "25").returncode == 75
    later_seconds = time.time() + 60
    os.utime(tmp_path / "saved/checkpoint", (later_seconds, later_seconds))
    assert run.attempt().returncode == 0
    assert "the script resumes by itself" in run.last(LevelKnown).reason


def test_an_edited_loop_restores_its_own_checkpoints(tmp_path: Path, forked: Interpreter) -> None:
    script = tmp_path / "loop_edited.py"
    text = (SCRIPTS / "loop_manager.py").read_text()
    script.write_text(text)
    run = KerasRun(tmp_path, str(script), ("manager",), interpreter=forked)
    assert run.attempt("--halt-at-step", "25").returncode == 75
    script.write_text(text.replace("0.001", "0.0005"))
    assert run.attempt().returncode == 0
    known = run.last(LevelKnown)
    assert known.level == "not_exact"
    assert "the script resumes by itself" in known.reason


def test_a_loop_that_removes_its_own_checkpoints_is_repeated(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "loop_manager.py", ("removes",), interpreter=forked)
    assert run.attempt("--halt-at-step", "25").returncode == 75
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(Restored).level == "exact_by_replay"
