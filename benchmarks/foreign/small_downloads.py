"""Small data sets of noise, in the files that scripts download, under their names."""

from __future__ import annotations

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
from PIL import Image

JENA = "jena_climate_2009_2016.csv"
FLOWERS = ("daisy", "dandelion", "roses", "sunflowers", "tulips")
WORDS = (
    "the",
    "a",
    "king",
    "queen",
    "sun",
    "moon",
    "river",
    "walks",
    "speaks",
    "under",
    "and",
    "red",
)


def write_downloads(folder: Path, samples: int) -> None:
    """All of them in one folder."""
    folder.mkdir(parents=True)
    source = np.random.default_rng(8)
    _write_tables(folder, source, samples)
    _write_series(folder, source, samples)
    _write_texts(folder, source, samples)
    pictures = {
        f"flower_photos/{kind}/{number}.jpg": _picture(source, brighter)
        for brighter, kind in enumerate(FLOWERS)
        for number in range(max(8, samples // 20))
    }
    _write_tar(folder / "flower_photos.tgz", pictures)
    (folder / "592px-Red_sunflower.jpg").write_bytes(_picture(source, 3))


def _write_tables(folder: Path, source: np.random.Generator, samples: int) -> None:
    noise = source.random
    cars = 1 + 9 * noise((samples, 8))
    cars[:, 7] = source.integers(1, 4, samples)
    lines = [" ".join(f"{value:.1f}" for value in row) + '\t"a car"' for row in cars]
    (folder / "auto-mpg.data").write_text("\n".join(lines) + "\n")
    _write_numbers(folder / "abalone_train.csv", noise((samples, 8)))
    cells = pd.DataFrame(noise((samples, 30)))
    cells.insert(0, "diagnosis", source.choice(["M", "B"], samples))
    cells.insert(0, "id", range(samples))
    cells.to_csv(folder / "wdbc.data", header=False, index=False)
    _write_numbers(
        folder / "ecg.csv", np.column_stack([noise((samples, 140)), noise(samples).round()])
    )
    names = [f"V{number}" for number in range(1, 29)]
    cards = pd.DataFrame(noise((4 * samples, 29)), columns=[*names, "Amount"])
    cards.insert(0, "Time", range(4 * samples))
    cards["Class"] = (noise(4 * samples) < 0.1).astype(int)
    cards.to_csv(folder / "creditcard.csv", index=False)
    for name in ("FordA_TRAIN.tsv", "FordA_TEST.tsv"):
        table = np.column_stack([source.choice([-1, 1], samples), noise((samples, 500))])
        np.savetxt(folder / name, table, delimiter="\t")
    hearts = pd.DataFrame(source.integers(0, 5, (samples, 14)), columns=_HEART)
    hearts["thal"] = source.choice(["fixed", "normal", "reversible"], samples)
    hearts["target"] = source.integers(0, 2, samples)
    hearts.to_csv(folder / "heart.csv", index=False)


_HEART = [
    "age", "sex", "cp", "trestbps", "chol", "fbs", "restecg", "thalach", "exang", "oldpeak",
    "slope", "ca", "thal", "target",
]  # fmt: skip


def _write_series(folder: Path, source: np.random.Generator, samples: int) -> None:
    rows = 40 * samples
    weather = pd.DataFrame(280 + source.normal(size=(rows, 14)).cumsum(axis=0) / 50, columns=_JENA)
    minutes = pd.date_range("2009-01-01 00:10", periods=rows, freq="10min")
    weather.insert(0, "Date Time", minutes.strftime("%d.%m.%Y %H:%M:%S"))
    text = weather.to_csv(index=False, float_format="%.3f")
    (folder / JENA).write_text(text)
    with zipfile.ZipFile(folder / f"{JENA}.zip", "w") as archive:
        archive.writestr(JENA, text)
    days = pd.DataFrame({"timestamp": pd.date_range("2014-04-01", periods=4032, freq="5min")})
    days["value"] = source.random(4032)
    for name in ("art_daily_small_noise.csv", "art_daily_jumpsup.csv"):
        days.to_csv(folder / name, index=False)
    frames = source.integers(0, 255, (20, max(10, samples // 10), 64, 64)).astype("uint8")
    np.save(folder / "mnist_test_seq.npy", frames)


_JENA = [
    "p (mbar)", "T (degC)", "Tpot (K)", "Tdew (degC)", "rh (%)", "VPmax (mbar)", "VPact (mbar)",
    "VPdef (mbar)", "sh (g/kg)", "H2OC (mmol/mol)", "rho (g/m**3)", "wv (m/s)", "max. wv (m/s)",
    "wd (deg)",
]  # fmt: skip


def _write_texts(folder: Path, source: np.random.Generator, samples: int) -> None:
    def sentence(length: int) -> str:
        return " ".join(source.choice(WORDS, length))

    prose = "\n".join(f"{sentence(9)}." for _ in range(4 * samples))
    for name in ("shakespeare.txt", "nietzsche.txt", "input.txt"):
        (folder / name).write_text(prose)
    lines = [f"{sentence(3)}.\t{sentence(4)} !\tby nobody" for _ in range(samples)]
    with zipfile.ZipFile(folder / "fra-eng.zip", "w") as archive:
        archive.writestr("fra.txt", "\n".join(lines))
    reviews = {
        f"aclImdb/{part}/{kind}/{number}_9.txt": sentence(30).encode()
        for part in ("train", "test")
        for kind in ("pos", "neg")
        for number in (*range(samples), 1181)
    }
    _write_tar(folder / "aclImdb_v1.tar.gz", {**reviews, "aclImdb/train/unsup/0_0.txt": b"x"})
    (folder / "train.csv").write_text(_titanic(source, samples))


def _titanic(source: np.random.Generator, samples: int) -> str:
    choices: Mapping[str, Sequence[object]] = {
        "survived": [0, 1],
        "sex": ["male", "female"],
        "age": [20.0, 31.0, 42.5],
        "n_siblings_spouses": [0, 1, 2],
        "parch": [0, 1],
        "fare": [7.25, 30.0, 71.3],
        "class": ["First", "Second", "Third"],
        "deck": ["C", "unknown"],
        "embark_town": ["Cherbourg", "Southampton"],
        "alone": ["y", "n"],
    }
    columns = {name: source.choice(np.array(values), samples) for name, values in choices.items()}
    return str(pd.DataFrame(columns).to_csv(index=False))


def _write_numbers(path: Path, table: np.ndarray) -> None:
    np.savetxt(path, table, delimiter=",")


def _picture(source: np.random.Generator, brighter: int) -> bytes:
    pixels = source.integers(0, 128, (60, 60, 3)).astype("uint8")
    pixels[10 * brighter : 10 * brighter + 10] += 100
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, "JPEG")
    return stream.getvalue()


def _write_tar(path: Path, members: Mapping[str, bytes]) -> None:
    with gzip.open(path, "wb", 1) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for name, content in members.items():
            about = tarfile.TarInfo(name)
            about.size = len(content)
            archive.addfile(about, io.BytesIO(content))
