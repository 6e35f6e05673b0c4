"""The table of a restore image: the saved state, and where in which file every tensor's bytes are.

A restore image is some descriptors: of this table first, then of the checkpoint's tensors files,
which have been verified and are mapped as they are.  A table is eight bytes with the length of a
JSON object, that object, and the state.  It lives for one resume; no file has this format.

This module is imported inside the trainer: standard library only.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from pitstop.errors import InternalFault
from pitstop.record import record

_LENGTH_BYTES = 8

Range = tuple[int, int, int]
"""Some bytes of a tensor: the number of the file among the image's, an offset, and a size."""


@record
class RestoreTable:
    """The ranges of each tensor, in the order of its bytes, and the JSON text of the state."""

    ranges: Mapping[str, Sequence[Range]]
    state: bytes


def pack_table(table: RestoreTable) -> bytes:
    members = {"ranges": table.ranges, "state_bytes": len(table.state)}
    text = json.dumps(members, separators=(",", ":")).encode()
    return len(text).to_bytes(_LENGTH_BYTES, "little") + text + table.state


def parse_table(data: memoryview) -> RestoreTable:
    """The table in some bytes; `InternalFault` where it is not a whole one."""
    text_end = _LENGTH_BYTES + int.from_bytes(data[:_LENGTH_BYTES], "little")
    try:
        members = json.loads(bytes(data[_LENGTH_BYTES:text_end]))
    except ValueError as error:
        raise InternalFault("The table of a restore image is damaged.") from error
    state = bytes(data[text_end:])
    if len(state) != members["state_bytes"]:
        raise InternalFault("The table of a restore image is not whole.")
    return RestoreTable(members["ranges"], state)
