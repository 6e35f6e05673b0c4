"""Sweeps that leave out what they have results of, killed again and again."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from pitstop.events import LevelKnown, Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.supervisor.launch import run_alone

KINDS = ("grid", "repeats", "folds", "random")
LIBRARIES = ("optuna", "keras_tuner")
STEPS_OF_A_TRIAL = 24  # of a fold, and 36 of the others
KILLED_IN_TORTURE = 17
MOST_ATTEMPTS = 6


def killed_sweep(
    folder: Path,
    kind: str,
    steps: tuple[int, ...],
    interpreter: Interpreter,
    **environment: str,
) -> bytes:
    """What a sweep prints in the end that was killed at these steps of its attempts."""
    options = ("--every", "5steps")
    run = KerasRun(folder, "sweep.py", (kind,), options, environment, interpreter=interpreter)
    for step in steps:
        if run.attempt("--die-at-step", str(step)).returncode == 0:
            break
    for _ in range(MOST_ATTEMPTS):
        ended = run.attempt()
        if ended.returncode == 0:
            return (folder / "results.json").read_bytes()
    raise AssertionError(ended.stderr)


def expected_results(folder: Path, kind: str, interpreter: Interpreter) -> object:
    run_alone(folder, *interpreter, SCRIPTS / "sweep.py", kind)
    return json.loads((folder / "results.json").read_bytes())


@pytest.mark.timeout(300)
def test_a_sweep_that_leaves_out_finished_trials_is_not_mixed_up(
    tmp_path: Path, forked: Interpreter
) -> None:
    """The second trial is the first call of the second attempt."""
    plain, supervised = tmp_path / "plain", tmp_path / "supervised"
    plain.mkdir()
    supervised.mkdir()
    expected = expected_results(plain, "repeats", forked)
    assert json.loads(killed_sweep(supervised, "repeats", (50, 85), forked)) == expected


@pytest.mark.timeout(300)
def test_a_sampler_that_begins_anew_after_an_interruption_is_not_exact(
    tmp_path: Path, forked: Interpreter
) -> None:
    """The interrupted trial is never gone on with: another one is trained in its place."""
    run = KerasRun(tmp_path, "sweep.py", ("sampler",), ("--every", "5steps"), interpreter=forked)
    assert run.attempt("--die-at-step", "50").returncode != 0
    assert run.attempt().returncode == 0
    assert "does not continue" in run.events(LevelKnown, 2)[0].reason
    assert {event.level for event in run.events(LevelKnown, 2)} == {"not_exact"}


@pytest.mark.timeout(300)
def test_a_trial_that_was_killed_in_its_first_step_is_known_again(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "sweep.py", ("repeats",), interpreter=forked)
    assert run.attempt("--die-at-step", "73").returncode != 0
    assert run.attempt().returncode == 0
    assert {event.level for event in run.events(LevelKnown, 2)} == {"exact"}


@pytest.mark.timeout(300)
def test_a_trial_that_was_killed_before_its_weights_were_saved(
    tmp_path: Path, forked: Interpreter
) -> None:
    """Its state is that before the first step, which makes the weights."""
    plain, supervised = tmp_path / "plain", tmp_path / "supervised"
    plain.mkdir()
    supervised.mkdir()
    run_alone(plain, *forked, SCRIPTS / "search.py")
    run = KerasRun(supervised, "search.py", options=("--every", "24steps"), interpreter=forked)
    # The second trial begins at step 24.
    assert run.attempt("--die-at-step", "26").returncode != 0
    assert run.attempt().returncode == 0
    assert run.last(Restored, 2).step == 24
    assert (supervised / "results.json").read_bytes() == (plain / "results.json").read_bytes()
    assert {event.level for event in run.events(LevelKnown, 2)} == {"exact"}


@pytest.mark.timeout(300)
def test_what_a_sweep_has_lost_from_memory_is_named(tmp_path: Path, forked: Interpreter) -> None:
    """The best of the trials that it leaves out."""
    run = KerasRun(tmp_path, "sweep.py", ("best",), ("--every", "5steps"), interpreter=forked)
    assert run.attempt("--die-at-step", "50").returncode != 0
    assert run.attempt().returncode == 0
    known = run.events(LevelKnown, 2)
    assert {event.level for event in known} == {"not_exact"}
    assert known[0].reason.endswith(": best.")


@pytest.mark.timeout(300)
def test_what_a_finished_training_left_in_an_object_that_is_not_restored_is_missed(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "sweep.py", ("noted",), ("--every", "5steps"), interpreter=forked)
    assert run.attempt("--die-at-step", "50").returncode != 0
    assert run.attempt().returncode == 0
    assert "StringIO" in run.events(LevelKnown, 2)[-1].reason


@pytest.mark.timeout(300)
def test_trials_that_are_left_out_behind_one_that_is_repeated_are_missed(
    tmp_path: Path, forked: Interpreter
) -> None:
    """They have drawn random numbers that nobody draws now."""
    run = KerasRun(tmp_path, "sweep.py", ("pretrained",), interpreter=forked)
    assert run.attempt("--die-at-step", "73").returncode != 0
    assert run.attempt().returncode == 0
    assert {event.level for event in run.events(LevelKnown, 2)} == {"not_exact"}


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("kind", KINDS)
def test_killed_sweeps_lose_no_trial(tmp_path: Path, kind: str, forked: Interpreter) -> None:
    """Killed in the middle of trials, twice, and sometimes between two of them."""
    plain = tmp_path / "plain"
    plain.mkdir()
    expected = expected_results(plain, kind, forked)
    choice = random.Random(kind)
    for number in range(KILLED_IN_TORTURE):
        folder = tmp_path / str(number)
        folder.mkdir()
        steps = tuple(sorted(choice.sample(range(3, 3 * STEPS_OF_A_TRIAL), 2)))
        behind = choice.choice(("0", "1", "2"))
        found = json.loads(killed_sweep(folder, kind, steps, forked, KILLED_BEHIND=behind))
        assert found == expected, (kind, steps, behind)


@pytest.mark.torture
@pytest.mark.timeout(7200)
@pytest.mark.parametrize("library", LIBRARIES)
def test_killed_sweeps_of_a_library_lose_no_trial(
    tmp_path: Path, library: str, forked: Interpreter
) -> None:
    """Each trial that it has came to what its own settings come to, when they are trained alone."""
    found = pytest.importorskip(library)
    words = (library, str(Path(found.__file__).parents[1]))
    choice = random.Random(library)
    for number in range(KILLED_IN_TORTURE):
        folder = tmp_path / str(number)
        folder.mkdir()
        options = ("--every", "5steps")
        run = KerasRun(folder, "library_sweep.py", words, options, interpreter=forked)
        for step in sorted(choice.sample(range(3, 3 * STEPS_OF_A_TRIAL), 2)):
            run.attempt("--die-at-step", str(step))
        ended = run.attempt()
        assert ended.returncode == 0, ended.stderr
        script = SCRIPTS / "library_sweep.py"
        checked = run_alone(folder, *forked, script, *words, "--check")
        assert int(checked.stdout.split()[-1]) == 3, (library, number)
