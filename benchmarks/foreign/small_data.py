"""Small data sets in the files in which the loaders of Keras and scikit-learn keep theirs."""

from __future__ import annotations

import gzip
import json
import struct
from pathlib import Path

import joblib  # type: ignore[import-untyped]
import numpy as np
from numpy.typing import NDArray

WORDS = 2000
SENTENCE = 60
KERAS, SKLEARN, FASHION = ".keras/datasets", "scikit_learn_data", "fashion-mnist"

Images = NDArray[np.uint8]


def write_data_sets(home: Path, samples: int) -> None:
    """Below a home folder of their own; a sixth as many samples to test with."""
    folder = home / KERAS
    folder.mkdir(parents=True)
    _write_digits(folder / "mnist.npz", samples)
    _write_fashion(folder / FASHION, samples)
    _write_sentences(folder, samples)
    _write_houses(folder, samples)
    _write_districts(home / SKLEARN, samples)


def _pictures(count: int, seed: int) -> tuple[Images, Images]:
    """Noise with a brighter band for each of ten classes, so that there is something to learn."""
    source = np.random.default_rng(seed)
    labels = source.integers(0, 10, count).astype("uint8")
    images = source.integers(0, 128, (count, 28, 28)).astype("uint8")
    for image, label in zip(images, labels, strict=True):
        image[2 * label : 2 * label + 3] += 100
    return images, labels


def _write_digits(path: Path, samples: int) -> None:
    (x_train, y_train), (x_test, y_test) = (
        _pictures(count, n) for n, count in enumerate((samples, samples // 6))
    )
    np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)


def _write_fashion(folder: Path, samples: int) -> None:
    folder.mkdir()
    for name, count in (("train", samples), ("t10k", samples // 6)):
        images, labels = _pictures(count, 5)
        head = struct.pack(">4i", 2051, count, 28, 28)
        with gzip.open(folder / f"{name}-images-idx3-ubyte.gz", "wb") as file:
            file.write(head + images.tobytes())
        with gzip.open(folder / f"{name}-labels-idx1-ubyte.gz", "wb") as file:
            file.write(struct.pack(">2i", 2049, count) + labels.tobytes())


def _write_sentences(folder: Path, samples: int) -> None:
    source = np.random.default_rng(5)
    for name, classes in (("imdb", 2), ("reuters", 46)):
        count = samples + samples // 6
        y = source.integers(0, classes, count)
        x = np.empty(count, object)
        for number, kind in enumerate(y):
            length = SENTENCE + int(source.integers(0, 20))
            x[number] = [*source.integers(4, WORDS, length).tolist(), 4 + int(kind)]
        path = folder / f"{name}.npz"
        if name == "reuters":
            np.savez(path, x=x, y=y)
        else:
            x_train, y_train, x_test, y_test = x[:samples], y[:samples], x[samples:], y[samples:]
            np.savez(path, x_train=x_train, y_train=y_train, x_test=x_test, y_test=y_test)
        index = {f"word{number}": number for number in range(1, WORDS)}
        (folder / f"{name}_word_index.json").write_text(json.dumps(index))


def _write_houses(folder: Path, samples: int) -> None:
    source = np.random.default_rng(6)
    for name, columns in (("boston_housing", 13), ("california_housing", 8)):
        x = source.random((samples, columns))
        np.savez(folder / f"{name}.npz", x=x, y=x.sum(axis=1))


def _write_districts(folder: Path, samples: int) -> None:
    """California's housing, as scikit-learn keeps it: what is asked for stands first."""
    folder.mkdir()
    table = 1 + 9 * np.random.default_rng(7).random((samples, 9))
    joblib.dump(table, folder / "cal_housing_py3.pkz", compress=6)
