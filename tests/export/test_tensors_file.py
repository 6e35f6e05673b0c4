"""A checkpoint's variables as one safetensors file, read by the safetensors library."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import safe_open
from safetensors.numpy import load_file

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.values.python_state import Encoder
from pitstop.export import tensors_file
from pitstop.store.manifest import CheckpointInfo

INFO = CheckpointInfo(
    step=7,
    epoch=1,
    step_in_epoch=3,
    fit=0,
    milestone="",
    attempt=1,
    reason="stop",
    level="exact",
    created_seconds=1.0,
    versions={"keras": "3.15.1"},
)


def variable(index: int, path: str, dtype: str, shape: list[int]) -> dict[str, Any]:
    tensor = f"variables/{index:05d}/{path}"
    return {"index": index, "path": path, "dtype": dtype, "shape": shape, "tensor": tensor}


def export(path: Path, saved: SavedState) -> None:
    tensors = tensors_file.tensors_of(saved)
    tensors_file.write(path, tensors, tensors_file.metadata_of("1f", "00000007", INFO, tensors))


def saved_of(variables: list[dict[str, Any]], arrays: list[Any], **more: Any) -> SavedState:
    tensors = {
        each["tensor"]: memoryview(array.tobytes())
        for each, array in zip(variables, arrays, strict=True)
    }
    return SavedState({"variables": variables, **more}, tensors)


def test_variables_have_their_paths_for_names(tmp_path: Path) -> None:
    kernel = np.arange(6, dtype=np.float32).reshape(2, 3)
    step = np.array(7, np.int64)
    described = [
        variable(0, "dense/kernel", "float32", [2, 3]),
        variable(4, "adam/iteration", "int64", []),
        variable(5, "dense/kernel", "float32", [2, 3]),
    ]
    out = tmp_path / "model.safetensors"
    export(out, saved_of(described, [kernel, step, kernel + 1]))
    found = load_file(out)
    assert found.keys() == {"dense/kernel", "adam/iteration", "dense/kernel.2"}
    assert found["dense/kernel"].tobytes() == kernel.tobytes()
    assert found["dense/kernel.2"].tobytes() == (kernel + 1).tobytes()
    assert found["adam/iteration"] == 7


def test_the_header_says_where_it_comes_from(tmp_path: Path) -> None:
    out = tmp_path / "model.safetensors"
    export(out, saved_of([variable(0, "a", "float32", [1])], [np.ones(1, np.float32)]))
    with safe_open(out, "np") as file:
        metadata = file.metadata()
    assert metadata["step"] == "7"
    assert metadata["checkpoint"] == "00000007"
    assert json.loads(metadata["versions"]) == {"keras": "3.15.1"}


def test_a_type_that_safetensors_does_not_know_is_told_beside_its_bytes(tmp_path: Path) -> None:
    value = np.array([1 + 2j, 3], np.complex64)
    out = tmp_path / "model.safetensors"
    export(out, saved_of([variable(0, "phase", "complex64", [2])], [value]))
    with safe_open(out, "np") as file:
        assert json.loads(file.metadata()["forms"]) == {"phase": "complex64[2]"}
        assert file.get_tensor("phase").tobytes() == value.tobytes()


def test_arrays_of_a_loop_are_there_too(tmp_path: Path) -> None:
    encoder = Encoder("python/")
    state = {"weights:0": np.ones(3), "words": ["no array"]}
    described = encoder.encode(state)
    arrays = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
    loop = {"objects": {"session": described, "model": None}}
    out = tmp_path / "model.safetensors"
    export(out, SavedState({"variables": [], "loop": loop}, arrays))
    found = load_file(out)
    assert found.keys() == {"objects/session/weights:0"}
    assert found["objects/session/weights:0"].tobytes() == np.ones(3).tobytes()
