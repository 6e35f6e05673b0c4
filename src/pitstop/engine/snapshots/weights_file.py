"""Saved weights by the forms they come in, told apart without a framework."""

from enum import Enum
from pathlib import Path

from pitstop.errors import UserError
from pitstop.record import Frozen

STARTED_FROM = "started_from"  # code of the notice that says which weights a run has begun with

_KERAS_SUFFIXES = (".keras", ".h5")
_SAFETENSORS_SUFFIX = ".safetensors"
_INDEX_SUFFIX = ".index"
_RUN_FILE = "run.json"
_FORMATS = (
    "Supported: .keras, .weights.h5 and .safetensors files, folders of SavedModel and "
    "tf.train.Checkpoint, and the prefix of a checkpoint's files (model-100)."
)


class Format(Enum):
    """What `pitstop export` writes; the values are those of its option `--to`."""

    KERAS = "keras"
    WEIGHTS_H5 = "weights_h5"
    SAVED_MODEL = "saved_model"
    TF_CHECKPOINT = "tf_checkpoint"
    V1_SAVER = "v1_saver"
    SAFETENSORS = "safetensors"


class WeightsUnusable(UserError):
    """The saved weights are missing, of an unknown form, or do not fit the model."""


class WeightsFile(Frozen):
    """Saved weights that a run begins with.

    Files of a v1 Saver count as `TF_CHECKPOINT` until somebody has looked into them. `path`: the
    file, the folder of a SavedModel, or the prefix of a checkpoint.
    """

    format: Format
    path: Path


def identify(path: Path) -> WeightsFile:
    """Finds out what is at a path; raises `WeightsUnusable` where it is nothing that is known."""
    if path.is_dir():
        return _identify_folder(path)
    if path.is_file() and path.suffix in _KERAS_SUFFIXES:
        return WeightsFile(Format.KERAS if path.suffix == ".keras" else Format.WEIGHTS_H5, path)
    if path.is_file() and path.suffix == _SAFETENSORS_SUFFIX:
        return WeightsFile(Format.SAFETENSORS, path)
    prefix = path.with_suffix("") if path.suffix == _INDEX_SUFFIX else path
    if _index_of(prefix).is_file():
        return WeightsFile(Format.TF_CHECKPOINT, prefix)
    if path.exists():
        raise WeightsUnusable(f"{path} does not contain weights in a supported format.", _FORMATS)
    raise WeightsUnusable(f"There are no saved weights at {path}.", _FORMATS)


def _identify_folder(path: Path) -> WeightsFile:
    if (path / "saved_model.pb").is_file():
        return WeightsFile(Format.SAVED_MODEL, path)
    if (path / _RUN_FILE).is_file():
        raise WeightsUnusable(
            f"{path} is a Pitstop run.",
            f"Export its weights first: `pitstop export {path} --to safetensors FILE`.",
        )
    newest = _newest_prefix(path)
    if newest is None:
        raise WeightsUnusable(f"{path} does not contain weights in a supported format.", _FORMATS)
    return WeightsFile(Format.TF_CHECKPOINT, newest)


def _newest_prefix(folder: Path) -> Path | None:
    state = folder / "checkpoint"
    lines = state.read_text(encoding="utf-8").splitlines() if state.is_file() else []
    for line in lines:
        key, _, value = line.partition(":")
        if key == "model_checkpoint_path":
            named = folder / value.strip().strip('"')
            # The file in a folder that was moved names the old place.
            beside = folder / named.name
            return next((each for each in (named, beside) if _index_of(each).is_file()), None)
    found = sorted(folder.glob(f"*{_INDEX_SUFFIX}"))
    return found[0].with_suffix("") if len(found) == 1 else None


def _index_of(prefix: Path) -> Path:
    return prefix.with_name(prefix.name + _INDEX_SUFFIX)
