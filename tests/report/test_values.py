"""Values, durations and times in a person's words."""

from __future__ import annotations

from datetime import UTC, timedelta, timezone

import pytest

from pitstop.report.timeline import Unit, clock, value_text


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.123456, Unit.PLAIN, "0.1235"),
        (3_900_000_000, Unit.BYTES, "3.9 GB"),
        (1023.6, Unit.COUNT, "1,024"),
        (1.8, Unit.SHARE, "180%"),
        (12.345, Unit.PER_SECOND, "12.3/s"),
        (1234.5, Unit.PER_SECOND, "1,234/s"),
    ],
)
def test_values(value: float, unit: Unit, text: str) -> None:
    assert value_text(value, unit) == text


def test_a_time_names_its_zone() -> None:
    assert clock(1_764_000_000.0, UTC) == "2025-11-24 16:00:00 UTC"
    cet = timezone(timedelta(hours=1), "CET")
    assert clock(1_764_000_000.0, cet) == "2025-11-24 17:00:00 CET"
