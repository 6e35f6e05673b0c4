"""The peak of this process, and that it can be forgotten."""

from __future__ import annotations

from pathlib import Path

from pitstop.machine import resident

_SIZE = 96 << 20


def test_a_peak_is_seen_and_forgotten() -> None:
    before = resident.present_bytes()
    held = bytearray(b"x") * _SIZE
    peak = resident.peak_bytes()
    assert peak - before > 0.9 * _SIZE
    del held
    assert resident.peak_bytes() >= 0.9 * peak
    resident.forget_peak()
    assert resident.peak_bytes() < peak - _SIZE // 2
    assert 0 < resident.mapped_files_bytes() < peak


def test_without_the_files_nothing_is_known(tmp_path: Path) -> None:
    resident.forget_peak(tmp_path)
    assert resident.peak_bytes(tmp_path) == 0
