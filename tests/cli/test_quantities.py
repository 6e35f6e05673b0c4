"""Amounts as a person writes them."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pitstop.cli.quantities import (
    Interval,
    parse_bytes,
    parse_flight,
    parse_interval,
    parse_name,
    parse_seconds,
    parse_share,
)
from pitstop.link.beacon import MOST_NAME_BYTES


@pytest.mark.parametrize(
    ("parse", "text", "value"),
    [
        (parse_seconds, "30", 30.0),
        (parse_seconds, "30s", 30.0),
        (parse_seconds, "1.5h", 5400.0),
        (parse_seconds, "10 min", 600.0),
        (parse_seconds, "3h50m", 13800.0),
        (parse_seconds, "1d 2H 30s", 93630.0),
        (parse_bytes, "2GB", 2 * 10**9),
        (parse_bytes, "512MiB", 512 << 20),
        (parse_bytes, "4096", 4096),
        (parse_share, "1%", 0.01),
        (parse_share, "0.05", 0.05),
        (parse_flight, "off", 0.0),
        (parse_flight, "10s", 10.0),
        (parse_interval, "500steps", Interval(steps=500)),
        (parse_interval, "1 step", Interval(steps=1)),
        (parse_interval, "10min", Interval(seconds=600.0)),
        (parse_name, "before-lr_2.change", "before-lr_2.change"),
        (parse_name, "x" * MOST_NAME_BYTES, "x" * MOST_NAME_BYTES),
    ],
)
def test_amounts(parse: Callable[[str], object], text: str, value: object) -> None:
    assert parse(text) == value


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (parse_seconds, "soon"),
        (parse_seconds, "5GB"),
        (parse_seconds, "-1s"),
        (parse_seconds, "3h50"),
        (parse_seconds, "3h5x"),
        (parse_bytes, "2 parsecs"),
        (parse_share, "0%"),
        (parse_share, "80%"),
        (parse_share, "5s"),
        (parse_flight, "0"),
        (parse_flight, "on"),
        (parse_interval, "500"),
        (parse_interval, "0steps"),
        (parse_interval, "1.5steps"),
        (parse_interval, "5GB"),
        (parse_name, ""),
        (parse_name, "0123"),
        (parse_name, "a/b"),
        (parse_name, ".hidden"),
        (parse_name, "x" * (MOST_NAME_BYTES + 1)),
    ],
)
def test_nonsense_is_refused_with_an_example(parse: Callable[[str], object], text: str) -> None:
    with pytest.raises(ValueError, match=r"; examples?: "):
        parse(text)
