"""`pitstop compare` on real run folders."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pitstop.cli.main import main
from tests.comparison.runs import float32, make_run, records, save_arrays

KERNEL = "variables/00000/dense/kernel"


def _compare(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str]:
    with pytest.raises(SystemExit) as exit_:
        main(["compare", *map(str, arguments)])
    return int(exit_.value.code or 0), capsys.readouterr().out


def _make(path: Path, losses: dict[int, float], kernel: float) -> Path:
    folder = make_run(path, records(12, 1, losses))
    save_arrays(folder, 12, {KERNEL: float32(1.0, kernel)})
    return path


def test_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = _make(tmp_path / "a", {}, 2.0), _make(tmp_path / "b", {}, 2.0)
    code, text = _compare(capsys, a, b)
    assert code == 0
    assert "bit for bit" in text


def test_different(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a, b = _make(tmp_path / "a", {}, 2.0), _make(tmp_path / "b", {8: 0.25}, 2.5)
    code, text = _compare(capsys, a, b, "--json")
    found = json.loads(text)
    assert code == 1
    assert (found["same"], found["step"]["step"]) == (False, 8)
    assert found["checkpoint"]["tensors"] == [
        {
            "name": KERNEL,
            "what": "values",
            "differing": 1,
            "elements": 2,
            "max_abs_difference": 0.5,
        }
    ]


def test_nothing_to_compare(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    a = _make(tmp_path / "a", {}, 2.0)
    assert _compare(capsys, a, tmp_path / "absent")[0] == 2
