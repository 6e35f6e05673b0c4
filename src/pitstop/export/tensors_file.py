"""A checkpoint's variables as one safetensors file with readable names."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.variable_match import unique_names
from pitstop.engine.values.python_state import decode
from pitstop.record import Frozen
from pitstop.store.image import DTYPE_CODES, TensorSpec, plan_image
from pitstop.store.manifest import CheckpointInfo


class ExportedTensor(Frozen):
    """A tensor by its readable name; `form` is its type where safetensors has no code for it."""

    spec: TensorSpec
    data: memoryview
    form: str = ""


def tensors_of(saved: SavedState) -> list[ExportedTensor]:
    return [*_variables(saved), *_arrays(saved)]


def metadata_of(
    run_id: str, checkpoint: str, info: CheckpointInfo, tensors: list[ExportedTensor]
) -> dict[str, str]:
    forms = {each.spec.name: each.form for each in tensors if each.form}
    return {
        "writer": "pitstop",
        "run_id": run_id,
        "checkpoint": checkpoint,
        "step": str(info.step),
        "epoch": str(info.epoch),
        "versions": json.dumps(info.versions),
        **({"forms": json.dumps(forms)} if forms else {}),
    }


def write(path: Path, tensors: list[ExportedTensor], metadata: Mapping[str, str]) -> None:
    image = plan_image([each.spec for each in tensors], metadata)
    data = {each.spec.name: each.data for each in tensors}
    with path.open("xb") as file:
        file.write(image.header)
        for place in image.placements:
            file.write(data[place.spec.name])


def _variables(saved: SavedState) -> Iterator[ExportedTensor]:
    described = saved.state["variables"]
    names = unique_names(each["path"] for each in described)
    for name, each in zip(names, described, strict=True):
        data = saved.tensors[each["tensor"]]
        code = DTYPE_CODES.get(each["dtype"])
        if code is not None:
            yield ExportedTensor(TensorSpec(name, code, tuple(each["shape"])), data)
        else:
            form = f"{each['dtype']}{each['shape']}"
            yield ExportedTensor(TensorSpec(name, "U8", (len(data),)), data, form)


def _arrays(saved: SavedState) -> Iterator[ExportedTensor]:
    objects = saved.state.get("loop", {}).get("objects", {})
    for name, state in objects.items():
        for path, array in _walk(f"objects/{name}", decode(state, saved.tensors)):
            code = DTYPE_CODES.get(array.dtype.name)
            if code is not None:
                whole = np.ascontiguousarray(array)
                data = whole.reshape(-1).view(np.uint8).data
                yield ExportedTensor(TensorSpec(path, code, array.shape), data)


def _walk(name: str, value: Any) -> Iterator[tuple[str, np.ndarray[Any, Any]]]:
    if isinstance(value, np.ndarray):
        yield name, value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _walk(f"{name}/{key}", item)
