"""How far two floating-point numbers are apart, counted in numbers between them.  Pure.

Two numbers of one format are n units in the last place apart when n - 1 other
numbers of that format lie between them.  IEEE 754 orders the bit patterns of
numbers of one sign as integers, so that the count is a subtraction.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass

_LARGEST_FLOAT32 = 3.4028234663852886e38


@dataclass(frozen=True)
class Ulps:
    """A distance: how many steps, in which format ("float32" or "float64")."""

    count: int
    format: str


def ulps_apart(one: float, other: float) -> Ulps | None:
    """The distance of two numbers; None when one of them is not finite.

    Numbers that float32 can hold both are taken for float32, which is what a
    loss nearly always was before it was stored as float64.
    """
    if not (math.isfinite(one) and math.isfinite(other)):
        return None
    if _is_float32(one) and _is_float32(other):
        return Ulps(abs(_place(one, "<f", "<i") - _place(other, "<f", "<i")), "float32")
    return Ulps(abs(_place(one, "<d", "<q") - _place(other, "<d", "<q")), "float64")


def _is_float32(value: float) -> bool:
    if abs(value) > _LARGEST_FLOAT32:
        return False
    return bool(struct.unpack("<f", struct.pack("<f", value))[0] == value)


def _place(value: float, real: str, integer: str) -> int:
    magnitude = int(struct.unpack(integer, struct.pack(real, abs(value)))[0])
    return -magnitude if value < 0 else magnitude
