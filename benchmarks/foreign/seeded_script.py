"""Runs a script as `python SCRIPT` would, with fixed seeds; then prints what it ended with.

What it ended with are its global variables: models, histories, arrays and numbers.
"""

from __future__ import annotations

import atexit
import hashlib
import json
import os
import random
import sys
import types
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import keras
import numpy as np
import tensorflow as tf
from keras.src.backend import config
from keras.src.utils import file_utils

SHOWN = (int, float, np.ndarray, np.generic, list, tuple, dict)
TRAINED = (tf.Module, keras.Layer, keras.Optimizer)
CIFAR = ("cifar10", "cifar100")


def main() -> None:
    """Takes the place of the script's interpreter."""
    path, *words = sys.argv[1:]
    sys.argv = [path, *words]
    sys.path[0] = str(Path(path).parent)
    sys.path += filter(None, [os.environ.get("FOREIGN_PACKAGES")])
    _seed()
    _call_keras_by_its_old_name()
    _serve_small_data()
    main_module = types.ModuleType("__main__")
    main_module.__dict__.update(__file__=path, __builtins__=__builtins__)
    sys.modules["__main__"] = main_module
    atexit.register(_print_finals, main_module.__dict__)
    exec(compile(Path(path).read_bytes(), path, "exec"), main_module.__dict__)


def _seed() -> None:
    random.seed(0)
    np.random.seed(0)
    tf.random.set_seed(0)


def _call_keras_by_its_old_name() -> None:
    """Keras 3 was called `keras_core` before it came out."""
    parts = {name: part for name, part in sys.modules.items() if name.split(".")[0] == "keras"}
    sys.modules.update({f"keras_core{name[len('keras') :]}": part for name, part in parts.items()})


def _serve_small_data() -> None:
    datasets = keras.datasets
    # The small data sets have other checksums than the real ones.
    file_utils.validate_file = lambda *_arguments, **_options: True
    if os.environ.get("TF_USE_LEGACY_KERAS"):
        import tf_keras  # type: ignore[import-untyped]

        datasets = tf_keras.datasets
        tf_keras.src.utils.data_utils.validate_file = file_utils.validate_file
    # The interpreter that was forked has read it from its own home.
    config._KERAS_DIR = str(Path.home() / ".keras")
    setattr(urllib.request, "urlopen", _urlopen)  # noqa: B010
    # Pictures of models need a program that is no package of Python.
    keras.utils.plot_model = lambda *_arguments, **_options: None
    samples = int(os.environ["FOREIGN_SAMPLES"])
    # The loaders of these know the true sizes.
    for number, name in enumerate(CIFAR):
        getattr(datasets, name).load_data = lambda *_, classes=10 ** (number + 1): tuple(
            _small_cifar(count, classes) for count in (samples, samples // 6)
        )


_opened = urllib.request.urlopen


def _urlopen(request: Any, *arguments: Any, **options: Any) -> Any:
    """A file of the folder of downloads in the place of what a URL names."""
    url = request if isinstance(request, str) else request.full_url
    file = Path(os.environ["FOREIGN_DOWNLOADS"], Path(urlsplit(url).path).name)
    return _opened(file.as_uri(), *arguments, **options)


def _small_cifar(count: int, classes: int) -> tuple[Any, Any]:
    source = np.random.default_rng(count)
    images = source.integers(0, 256, (count, 32, 32, 3)).astype("uint8")
    return images, source.integers(0, classes, (count, 1)).astype("uint8")


def _print_finals(namespace: Mapping[str, Any]) -> None:
    for name, text in _finals(namespace):
        print("FINAL", name, hashlib.sha256(text).hexdigest()[:12], flush=True)


def _finals(namespace: Mapping[str, Any]) -> Iterator[tuple[str, bytes]]:
    for name, value in sorted(namespace.items()):
        if name.startswith("_") or "time" in name:
            continue
        if isinstance(value, (*SHOWN, *TRAINED)) or _is_history(value):
            yield name, _text(value)


def _is_history(value: Any) -> bool:
    return type(value).__name__ == "History"


def _text(value: Any) -> bytes:
    return json.dumps(value, default=_carried, skipkeys=True).encode()


def _carried(value: Any) -> Any:
    if _is_history(value):
        return [value.epoch, value.history]
    if isinstance(value, TRAINED):
        return [_carried(np.asarray(each)) for each in value.variables]
    if isinstance(value, np.ndarray) and value.dtype != object:
        return hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
    return float(value) if isinstance(value, np.generic | tf.Tensor) and not value.shape else ""


if __name__ == "__main__":
    main()
