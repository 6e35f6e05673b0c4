"""Saved weights by the forms they come in."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.engine.snapshots.weights_file import Format, WeightsFile, WeightsUnusable, identify


def touch(path: Path, text: str = "") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("model.keras", Format.KERAS),
        ("model.weights.h5", Format.WEIGHTS_H5),
        ("old.h5", Format.WEIGHTS_H5),
        ("model.safetensors", Format.SAFETENSORS),
    ],
)
def test_files_are_known_by_their_suffix(tmp_path: Path, name: str, form: Format) -> None:
    path = touch(tmp_path / name)
    assert identify(path) == WeightsFile(form, path)


def test_a_saved_model_is_known_by_its_file(tmp_path: Path) -> None:
    touch(tmp_path / "saved_model.pb")
    assert identify(tmp_path) == WeightsFile(Format.SAVED_MODEL, tmp_path)


def test_a_prefix_may_be_given_with_its_index(tmp_path: Path) -> None:
    index = touch(tmp_path / "model.ckpt-7.index")
    expected = WeightsFile(Format.TF_CHECKPOINT, tmp_path / "model.ckpt-7")
    assert identify(tmp_path / "model.ckpt-7") == expected
    assert identify(index) == expected


def test_a_folder_stands_for_the_checkpoint_that_it_names(tmp_path: Path) -> None:
    touch(tmp_path / "ckpt-1.index")
    touch(tmp_path / "ckpt-2.index")
    touch(tmp_path / "checkpoint", 'model_checkpoint_path: "ckpt-1"\n')
    assert identify(tmp_path).path == tmp_path / "ckpt-1"


def test_a_folder_that_was_moved_still_stands_for_it(tmp_path: Path) -> None:
    touch(tmp_path / "ckpt-2.index")
    touch(tmp_path / "checkpoint", 'model_checkpoint_path: "/gone/ckpt-2"\n')
    assert identify(tmp_path).path == tmp_path / "ckpt-2"


def test_a_folder_without_a_state_file_stands_for_its_only_checkpoint(tmp_path: Path) -> None:
    touch(tmp_path / "model-5.index")
    assert identify(tmp_path).path == tmp_path / "model-5"
    touch(tmp_path / "model-6.index")
    with pytest.raises(WeightsUnusable, match="weights in a supported format"):
        identify(tmp_path)


def test_a_run_of_ours_has_to_be_exported_first(tmp_path: Path) -> None:
    touch(tmp_path / "run.json")
    with pytest.raises(WeightsUnusable, match="pitstop export"):
        identify(tmp_path)


def test_what_is_missing_or_unknown_is_named(tmp_path: Path) -> None:
    with pytest.raises(WeightsUnusable, match="There are no saved weights"):
        identify(tmp_path / "absent")
    with pytest.raises(WeightsUnusable, match="weights in a supported format"):
        identify(touch(tmp_path / "weights.pickle"))
