"""The few pieces of Protocol Buffers' wire format that an event file needs."""

from __future__ import annotations

import struct

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_WIDTHS = {_FIXED64: 8, _FIXED32: 4}


def integer(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def double(field: int, value: float) -> bytes:
    return _varint(field << 3 | _FIXED64) + struct.pack("<d", value)


def real(field: int, value: float) -> bytes:
    """A number of 32 bits; one that is too large for that is infinite."""
    try:
        packed = struct.pack("<f", value)
    except OverflowError:
        packed = struct.pack("<f", float("inf") if value > 0 else float("-inf"))
    return _varint(field << 3 | _FIXED32) + packed


def message(field: int, data: bytes) -> bytes:
    """A message inside of another one, or bytes."""
    return _varint(field << 3 | _BYTES) + _varint(len(data)) + data


def text(field: int, value: str) -> bytes:
    return message(field, value.encode())


def integers(data: bytes) -> dict[int, int]:
    """The whole numbers of a message by their fields; other fields are passed over."""
    found: dict[int, int] = {}
    at = 0
    while at < len(data):
        key, at = _read_varint(data, at)
        kind = key & 7
        if kind == _VARINT:
            found[key >> 3], at = _read_varint(data, at)
        elif kind == _BYTES:
            length, at = _read_varint(data, at)
            at += length
        else:
            at += _WIDTHS[kind]
    return found


def _varint(value: int) -> bytes:
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while data[at] & 0x80:
        value |= (data[at] & 0x7F) << shift
        shift += 7
        at += 1
    return value | data[at] << shift, at + 1
