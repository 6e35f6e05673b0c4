"""How a run's first training begins, compared with the attempt that began the run."""

from __future__ import annotations

import os
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pitstop.engine.files.earlier_files import EarlierFiles
from pitstop.engine.session import first_training
from pitstop.engine.trainings.identity import Identity
from pitstop.events import AttemptStarted, FitStarted
from pitstop.journal import Entry, encode

_FIRST = {"code": "1", "random numbers of numpy": "2", "y": "3", "value of scale": "4"}
_STARTED, _STARTED_AGAIN, _BEGAN = 1.6e9, 1.62e9, 1.65e9


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> EarlierFiles:
    found = EarlierFiles()
    monkeypatch.setattr(first_training, "EARLIER", found)
    found.listen()
    return found


def session(
    folder: Path, *, newest: Any = None, kernel: bool = False, first_to_train: int = 1
) -> Any:
    started = [
        AttemptStarted(each, ["python"], 1, 2, "host", started_seconds=seconds)
        for each, seconds in ((1, _STARTED), (2, _STARTED_AGAIN))
    ]
    entries = [
        *(Entry(each.started_seconds, each.attempt, each) for each in started),
        Entry(_BEGAN, first_to_train, FitStarted(0, 1, 1, began_with=_FIRST)),
        Entry(1.8e9, 2, FitStarted(0, 1, 1, began_with={"code": "8", "y": "9"})),
    ]
    (folder / "run").mkdir()
    (folder / "run" / "journal.jsonl").write_bytes(b"".join(map(encode, entries)))
    trainings = SimpleNamespace(newest=newest)
    attempt_dir = folder / "run" / "attempts" / "3"
    return SimpleNamespace(kernel=kernel, trainings=trainings, attempt_dir=attempt_dir)


def prepared(folder: Path, files: EarlierFiles, seconds: float = _STARTED + 1) -> None:
    files.note(str(written(folder, seconds)))


def written(folder: Path, seconds: float) -> Path:
    path = folder / "prepared"
    path.touch()
    os.utime(path, (seconds, seconds))
    return path


@pytest.mark.parametrize("name", ["random numbers of numpy", "y"])
def test_what_is_drawn_or_given_otherwise_is_told(name: str, tmp_path: Path) -> None:
    assert f"({name})" in first_training.deviation(session(tmp_path), {**_FIRST, name: "7"})


def test_a_value_is_told_where_a_prepared_file_was_read(
    tmp_path: Path, files: EarlierFiles
) -> None:
    now = {**_FIRST, "value of scale": "7"}
    run = session(tmp_path)
    assert not first_training.deviation(run, now)
    prepared(tmp_path, files)
    assert "scale" in first_training.deviation(run, now)


def test_changed_code_may_draw_otherwise(tmp_path: Path, files: EarlierFiles) -> None:
    now = {"code": "8", "random numbers of numpy": "9", "y": "9"}
    run = session(tmp_path)
    assert not first_training.deviation(run, now)
    prepared(tmp_path, files)
    assert "(random numbers of numpy)" in first_training.deviation(run, now)


@pytest.mark.parametrize(
    "now",
    [_FIRST, {**_FIRST, "new": "5"}, {"code": "1"}, {}],
    ids=["same", "more", "fewer", "none"],
)
def test_these_are_no_other_begin(now: dict[str, str], tmp_path: Path) -> None:
    assert not first_training.deviation(session(tmp_path), now)


@pytest.mark.parametrize("known", [{"newest": 1}, {"kernel": True}], ids=str)
def test_a_saved_state_and_a_kernel_have_more(known: dict[str, Any], tmp_path: Path) -> None:
    assert not first_training.deviation(session(tmp_path, **known), {**_FIRST, "y": "7"})


@pytest.mark.parametrize(
    ("seconds", "is_told"), [(_STARTED - 1, False), (_STARTED + 1, True), (_BEGAN + 1, False)]
)
def test_only_what_was_prepared_before_the_run_trained_is_not_made_again(
    seconds: float, is_told: bool, tmp_path: Path, files: EarlierFiles
) -> None:
    prepared(tmp_path, files, seconds)
    run = session(tmp_path)
    before, now = Identity(names={"scale": "1", "x": "2"}), Identity(names={"scale": "3", "x": "2"})
    assert bool(first_training.not_made_again(run, before, now)) is is_told
    assert not first_training.not_made_again(run, before, before)


@pytest.mark.parametrize(
    ("seconds", "first_to_train", "is_told"),
    [
        (_STARTED + 1, 2, True),
        (_STARTED + 1, 1, False),
        (_STARTED - 1, 2, False),
        (_STARTED_AGAIN + 1, 2, False),
    ],
)
@pytest.mark.parametrize("use", ["read", "look"])
def test_what_was_prepared_by_an_attempt_that_never_trained_is_told(
    seconds: float, first_to_train: int, is_told: bool, use: str, tmp_path: Path, files: Any
) -> None:
    path = written(tmp_path, seconds)
    files.looks.begin()
    try:
        path.read_bytes() if use == "read" else path.exists()
        run = session(tmp_path, first_to_train=first_to_train)
        assert bool(first_training.deviation(run, _FIRST)) is is_told
    finally:
        files.looks.end()


def test_what_another_process_of_the_attempt_prepared_is_of_no_earlier_one(
    tmp_path: Path, files: EarlierFiles
) -> None:
    """Such as the connection file of a kernel, which `jupyter` writes."""
    run = session(tmp_path)
    run.attempt_dir = run.attempt_dir.with_name("1")
    started = AttemptStarted(1, ["jupyter"], 1, 2, "host", started_seconds=_STARTED)
    (tmp_path / "run" / "journal.jsonl").write_bytes(encode(Entry(_STARTED, 1, started)))
    prepared(tmp_path, files)
    assert not first_training.deviation(run, _FIRST)


def test_a_file_that_the_script_writes_anew_is_not_prepared(tmp_path: Path, files: Any) -> None:
    path = written(tmp_path, _STARTED + 1)
    files.looks.begin()
    try:
        assert path.exists()
        path.write_text("a new log")
        assert not first_training.deviation(session(tmp_path, first_to_train=2), _FIRST)
    finally:
        files.looks.end()


@pytest.mark.parametrize(("before", "is_told"), [("[1]", True), ("[]", False), ("", False)])
def test_shuffles_are_read_as_often_as_before(before: str, is_told: bool, tmp_path: Path) -> None:
    told = first_training.not_made_again(
        session(tmp_path), Identity(shuffles=before), Identity(shuffles="[]")
    )
    assert bool(told) is is_told


def test_each_draw_is_another_digest() -> None:
    streams = {"own": random.Random(1).getstate(), "global": np.random.RandomState(1).get_state()}
    identity = Identity(program="code")
    before = first_training.digests(identity, streams)
    assert first_training.digests(identity, streams) == before
    drawn = random.Random(1)
    drawn.random()
    other = np.random.RandomState(1)
    other.random_sample()
    moved = {"own": drawn.getstate(), "global": other.get_state()}
    after = first_training.digests(identity, moved)
    names = {name for name in after if after[name] != before[name]}
    assert names == {"random numbers of own", "random numbers of global"}
