"""Files in a folder that is named by the time follow the script into its new one."""

from __future__ import annotations

import os
from pathlib import Path

import keras
import pytest

from pitstop.engine.files.made_folders import MADE, is_moved, moved
from pitstop.keras.callbacks import open_files
from pitstop.keras.callbacks.open_files import Followed
from tests.keras.callbacks.test_callback_nodes import described_of, restored

_OLD, _NEW = "exp-20250131-120000", "exp-20250201-080000"


def _checkpoint(folder: Path, name: str) -> keras.callbacks.ModelCheckpoint:
    return keras.callbacks.ModelCheckpoint(str(folder / name), save_weights_only=True)


@pytest.mark.parametrize(
    ("name", "written", "kept"),
    [
        ("best.weights.h5", ["best.weights.h5", "notes.txt"], ["best.weights.h5"]),
        (
            "at-{epoch:02d}-{loss:.2f}.weights.h5",
            ["at-01-0.50.weights.h5", "at-02-0.40.weights.h5", "other.weights.h5"],
            ["at-01-0.50.weights.h5", "at-02-0.40.weights.h5"],
        ),
    ],
)
def test_what_a_callback_has_written_is_copied(
    tmp_path: Path, name: str, written: list[str], kept: list[str]
) -> None:
    (tmp_path / _OLD).mkdir()
    for each in written:
        (tmp_path / _OLD / each).write_text(each)
    described, _ = described_of([_checkpoint(tmp_path / _OLD, name)])
    now = _checkpoint(tmp_path / _NEW, name)
    assert not restored([now], described)
    assert now.filepath == str(tmp_path / _NEW / name)
    copied = open_files.follow([now], {"callbacks": described}).copied
    assert sorted(copied) == [tmp_path / _NEW / each for each in kept]
    assert [each.read_text() for each in sorted(copied)] == kept
    # What the script has written since is not replaced.
    (tmp_path / _OLD / kept[0]).write_text("changed")
    assert open_files.follow([now], {"callbacks": described}) == Followed()


def test_a_path_that_differs_in_more_than_numbers_is_not_followed(tmp_path: Path) -> None:
    for folder, other in (("small", "large"), ("run-1/a", "run-2/b"), (_OLD, _OLD)):
        assert not is_moved(str(tmp_path / folder), str(tmp_path / other))
    assert not is_moved("7", "8")


def test_attributes_of_the_scripts_own_callbacks_follow_too(tmp_path: Path) -> None:
    class Best(keras.callbacks.Callback):
        def __init__(self, path: Path) -> None:
            super().__init__()
            self.path, self.least = str(path), 0.5

    before, now = Best(tmp_path / _OLD / "best.txt"), Best(tmp_path / _NEW / "best.txt")
    before.least = 0.25
    (tmp_path / _OLD).mkdir()
    Path(before.path).write_text("0.25")
    described, _ = described_of([before])
    assert not restored([now], described)
    assert (now.path, now.least) == (str(tmp_path / _NEW / "best.txt"), 0.25)
    found = open_files.follow([now], {"callbacks": described})
    assert found.copied == (Path(now.path),)


def test_folders_that_the_script_makes_are_paired_by_place_form_and_order(tmp_path: Path) -> None:
    def made(*names: str) -> list[str]:
        return [str(tmp_path / name) for name in names]

    before = made("results", _OLD, f"{_OLD}/plots", "tmpab_3xyz9", "a-2025-01-31_12-00-00")
    now = made(_NEW, "tmpq1w2e3r4", f"{_NEW}/plots", "a-2025-02-01_08-30-00", "other")
    found = [(old.name, new.name) for old, new in moved(before, now)]
    assert found == [
        (_OLD, _NEW),
        ("tmpab_3xyz9", "tmpq1w2e3r4"),
        ("a-2025-01-31_12-00-00", "a-2025-02-01_08-30-00"),
    ]


def test_folders_of_several_trials_are_not_mixed_up(tmp_path: Path) -> None:
    """The second attempt of a sweep skips the trials that are done."""
    trials = [str(tmp_path / f"trial-{number}") for number in range(4)]
    assert moved(trials[:3], trials[2:]) == []
    times = [str(tmp_path / f"trial-2025013{day}-120000") for day in range(3)]
    assert moved(times, times[2:]) == []


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("run-0b4fa8d2-13aa-4e0b-9c3e-1d2f3a4b5c6d", "run-1c5fb9e3-24bb-4f1c-8d4f-2e3a4b5c6d7e"),
        ("1738324800", "1738411200"),
        ("digest-0a1b2c3d", "digest-4e5f6a7b"),
    ],
)
def test_names_that_chance_or_time_makes(tmp_path: Path, before: str, now: str) -> None:
    assert is_moved(str(tmp_path / now), str(tmp_path / before))


@pytest.mark.parametrize(
    ("before", "now"),
    [("3/100000000", "4/200000000"), ("{}/model-3.h5", "{}/model-4.h5"), ("{}/v1/a", "{}/v2/a")],
)
def test_counters_are_values_and_not_such_names(tmp_path: Path, before: str, now: str) -> None:
    assert not is_moved(now.format(tmp_path), before.format(tmp_path))


def test_a_disk_is_not_filled_with_copies(tmp_path: Path) -> None:
    (tmp_path / _OLD).mkdir()
    (tmp_path / _OLD / "best.weights.h5").write_bytes(bytes(100))
    before = _checkpoint(tmp_path / _OLD, "best.weights.h5")
    described, _ = described_of([before])
    now = _checkpoint(tmp_path / _NEW, "best.weights.h5")
    found = open_files.follow([now], {"callbacks": described}, most_bytes=99)
    assert found == Followed(left=(tmp_path / _OLD / "best.weights.h5",))
    assert not (tmp_path / _NEW).exists()


def test_files_of_such_a_folder_are_copied_with_their_times(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / _OLD, tmp_path / _NEW
    (old / "deep").mkdir(parents=True)
    for name in ("deep/best.txt", "log.txt", "events.out.tfevents.1.host"):
        (old / name).write_text("old")
        os.utime(old / name, (1000, 1000))
    new.mkdir()
    (new / "log.txt").write_text("new")
    monkeypatch.setattr(MADE, "paths", [str(new)])
    (copied,) = open_files.follow([], {"callbacks": [], "folders": [str(old)]}).copied
    assert copied == new / "deep/best.txt"
    assert (copied.read_text(), copied.stat().st_mtime) == ("old", 1000)
    assert (new / "log.txt").read_text() == "new"


@pytest.mark.parametrize(
    ("before", "now", "pairs"),
    [
        (["exp000"], ["exp001"], [("exp000", "exp001")]),
        (["run_9", "run_10"], ["run_11", "run_12"], [("run_9", "run_11"), ("run_10", "run_12")]),
        (["exp1"], ["exp2", "exp3"], []),
        (["exp1"], ["other2"], []),
    ],
)
def test_folders_that_get_the_next_free_number(
    tmp_path: Path, before: list[str], now: list[str], pairs: list[tuple[str, str]]
) -> None:
    old, new = ([str(tmp_path / each) for each in names] for names in (before, now))
    assert [(one.name, other.name) for one, other in moved(old, new)] == pairs


def test_what_is_in_the_folder_of_another_number_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = tmp_path / "exp0", tmp_path / "exp1"
    for folder in (old, new):
        folder.mkdir()
    (old / "best.weights.h5").write_text("old")
    monkeypatch.setattr(MADE, "paths", [str(new)])
    monkeypatch.setattr(MADE, "followed", {})
    assert not is_moved(str(new / "log.csv"), str(old / "log.csv"))
    found = open_files.follow([], {"callbacks": [], "folders": [str(old)]})
    assert found.copied == (new / "best.weights.h5",)
    assert is_moved(str(new / "log.csv"), str(old / "log.csv"))
    assert is_moved(new / "log.csv", old / "log.csv")
    assert not is_moved(str(new / "log.csv"), str(old / "other.csv"))


def test_a_log_with_the_next_free_number_goes_on_with_what_was_written(tmp_path: Path) -> None:
    (tmp_path / "log-0.csv").write_text("0,1.5\nlate\n")
    kept = open_files.KeptFile("", tmp_path / "log-0.csv", 6, b"0,1.5\n")
    with (tmp_path / "log-1.csv").open("w") as log, (tmp_path / "notes").open("w") as other:
        assert open_files.put_back([], [log, other], [kept]) == []
    assert (tmp_path / "log-1.csv").read_text() == "0,1.5\n"
    assert (tmp_path / "notes").read_text() == ""
    with (tmp_path / "log-0.csv").open("w") as log, (tmp_path / "log-1.csv").open("w") as other:
        open_files.put_back([], [other, log], [kept])
    assert (tmp_path / "log-0.csv").read_text() == "0,1.5\n"
    assert (tmp_path / "log-1.csv").read_text() == ""
