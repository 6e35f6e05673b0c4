"""NaN and infinite numbers in a snapshot are seen in the bytes that pass, and only in weights."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from pitstop.link.beacon import Beacon
from pitstop.snapshot.arena import write_slot
from pitstop.snapshot.saving import FiniteSource, Saver
from pitstop.store.catalog import Catalog
from pitstop.store.image import DTYPE_CODES, Image, TensorSpec, plan_image
from tests.snapshot.samples import new_arena

Arrays = Mapping[str, np.ndarray]


class Bytes:
    """A source of bytes that are all there."""

    def __init__(self, data: bytes) -> None:
        self._data = data

    def read_into(self, target: memoryview, offset_bytes: int) -> None:
        target[:] = self._data[offset_bytes : offset_bytes + len(target)]


def _image(arrays: Arrays) -> tuple[Image, list[memoryview]]:
    specs = [
        TensorSpec(name, DTYPE_CODES[array.dtype.name], array.shape)
        for name, array in arrays.items()
    ]
    image = plan_image(specs)
    data = [memoryview(arrays[each.spec.name].tobytes()) for each in image.placements]
    return image, data


def _bad(arrays: Arrays, names: Sequence[str], piece_bytes: int = 1 << 20) -> set[str]:
    image, data = _image(arrays)
    source = FiniteSource(Bytes(image.header + b"".join(data)), image, names)
    for start in range(0, image.size_bytes, piece_bytes):
        buffer = bytearray(min(piece_bytes, image.size_bytes - start))
        source.read_into(memoryview(buffer), start)
    return source.bad


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
@pytest.mark.parametrize("value", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("piece_bytes", [8, 64, 1 << 20])
def test_one_bad_number_is_seen(dtype: str, value: float, piece_bytes: int) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype) if dtype == "bfloat16" else dtype)
    good = np.linspace(-3e4, 3e4, 41).astype(kind)
    bad = good.copy()
    bad[-1] = value
    assert _bad({"a": good, "b": bad, "c": good}, "abc", piece_bytes) == {"b"}


def test_the_largest_numbers_are_finite() -> None:
    largest = np.full(9, np.finfo("float32").max, "float32")
    half = np.full(9, 3.3895314e38, ml_dtypes.bfloat16)
    assert not _bad({"a": largest, "b": -largest, "c": half}, "abc")


def test_what_is_no_weight_may_hold_anything() -> None:
    mask = np.full((4, 4), -np.inf, "float32")
    assert not _bad({"mask": mask, "count": np.arange(3)}, ["count"])


@pytest.mark.parametrize(("trainable", "named"), [(True, ("dense/kernel",)), (False, ())])
def test_a_checkpoint_names_its_bad_weights(
    tmp_path: Path, trainable: bool, named: tuple[str, ...]
) -> None:
    arrays = {
        "variables/00000/dense/kernel": np.array([1.0, np.nan], "float32"),
        "variables/00001/dense/bias": np.array([1.0], "float32"),
    }
    image, data = _image(arrays)
    state = {
        "position": {"step": 4, "fit": 0, "epoch": 0, "step_in_epoch": 4, "milestone": ""},
        "level": {"level": "exact"},
        "versions": {},
        "variables": [
            {"tensor": name, "path": name[16:], "trainable": trainable} for name in arrays
        ],
    }
    (tmp_path / "checkpoints").mkdir()
    beacon, arena = Beacon.create(), new_arena(tmp_path)
    saver = Saver(tmp_path / "checkpoints", beacon, attempt=1)
    saver.use_arena(os.dup(arena.fd))
    with arena.slot(0, 1) as slot:
        write_slot(slot, 1, 4, image, data, json.dumps(state).encode())
    committed = saver.save_newest("cadence")
    arena.close()
    assert committed is not None
    assert tuple(committed.non_finite) == named
    (entry,) = Catalog(tmp_path / "checkpoints").entries()
    assert entry.manifest is not None
    assert entry.manifest.info.non_finite == named
