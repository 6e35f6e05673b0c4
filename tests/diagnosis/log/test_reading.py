"""Logs of all sizes and encodings."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from pitstop.diagnosis.log.log import HEAD_BYTES, read_log

LINE = "Epoch 1/9 - 12ms/step - loss: 0.5 - café\n"
END = 'Traceback (most recent call last):\n  File "a.py", line 1\nValueError: ü\n'


def written(path: Path, text: str, encoding: str) -> Path:
    path.write_bytes(text.encode(encoding))
    return path


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
@pytest.mark.parametrize("count", [3, 40_000])
def test_an_encoding_is_recognized(tmp_path: Path, encoding: str, count: int) -> None:
    log = read_log(written(tmp_path / "a.log", LINE * count + END, encoding))
    assert log.lines[0].text == LINE.rstrip()
    (found,) = log.tracebacks
    assert found.raised.message == "ü"
    assert found.title == count + 3


def test_bytes_that_are_no_text_do_not_matter(tmp_path: Path) -> None:
    path = tmp_path / "a.log"
    path.write_bytes(b"caf\xe9 \0\0 \xff\n" + END.encode())
    assert read_log(path).tracebacks[0].raised.name == "ValueError"


@pytest.mark.parametrize("place", [0.1, 0.9])
def test_an_error_far_from_the_end_is_found_at_its_line(tmp_path: Path, place: float) -> None:
    count = 60_000
    before = int(count * place)
    text = LINE * before + END + "keepalive\n" * (count - before)
    log = read_log(written(tmp_path / "a.log", text, "utf-8"))
    assert [found.title for found in log.tracebacks] == [before + 3]


def test_an_anchor_on_the_border_of_two_chunks_is_found(tmp_path: Path) -> None:
    chunk = 4 << 20
    for shift in (1, 10, 30):
        filler = "x" * (HEAD_BYTES + chunk - shift - 1) + "\n"
        text = filler + END + "keepalive\n" * 100_000
        log = read_log(written(tmp_path / "a.log", text, "utf-8"))
        assert [found.title for found in log.tracebacks] == [4]


def test_memory_does_not_grow_with_the_log(tmp_path: Path) -> None:
    path = written(tmp_path / "a.log", LINE * 600_000 + END, "utf-8")
    tracemalloc.start()
    read_log(path)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert path.stat().st_size > 24_000_000
    assert peak < 20_000_000
