"""The record of a loop: every recorded call since its first step, in order.

One tensor of a checkpoint holds the entries, each a header and a payload:

    u8  kind          Kind
    u8  flags         1: the call traced a function; 2: the same bytes as the last
                      entry of this name, and no payload
    u32 name          index into `names`: what was called, with what
    u32 form          index into `forms`: what it returned (see `values`)
    u32 given         checksum of what it was given, 0 where nothing was; of a RESULT the number
                      of its closure
    payload           the bytes of the value, as many as the form says

Names, forms and the lengths of payloads are few; they are the JSON beside it.
"""

import enum
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pitstop.engine.snapshots.state_capture import HeldTensor
from pitstop.replay.values import Form, as_form
from pitstop.store.image import TensorSpec

TENSOR = "loop/record"
LARGEST_RECORD_BYTES = 256 << 20
_CHUNK_BYTES = 1 << 16
_HEADER = struct.Struct("<BBIII")
_TRACED = 1
_SAME = 2


class RecordKind(enum.IntEnum):
    CALL = 1
    READ = 2
    END = 3
    RESULT = 4


@dataclass(frozen=True)
class RecordEntry:
    """One recorded call, or read of a variable, or the end of the loop, or a closure's result.

    `traced`: a graph was traced in it, so that it is executed on a resume too. `given`: checksum of
    the arguments; of a result the number of its closure.
    """

    kind: RecordKind
    name: str
    form: Form
    data: memoryview
    traced: bool = False
    given: int = 0


class RecordFull(ValueError):
    """The record would become too large."""


class LoopRecord:
    def __init__(self) -> None:
        self._sealed: list[bytes] = []
        self._open = bytearray()
        self.size_bytes = 0
        self._names: dict[str, int] = {}
        self._forms: dict[Form, int] = {}
        self._lengths: list[int] = []
        self._last: dict[int, tuple[int, bytes]] = {}
        self.entries = 0

    def append(self, entry: RecordEntry) -> None:
        """Adds an entry; raises `RecordFull` where the record becomes too large."""
        name = self._names.setdefault(entry.name, len(self._names))
        form = self._forms.setdefault(entry.form, len(self._forms))
        if form == len(self._lengths):
            self._lengths.append(len(entry.data))
        data = bytes(entry.data)
        same = bool(data) and self._last.get(name) == (form, data)
        flags = _TRACED * entry.traced | _SAME * same
        piece = _HEADER.pack(entry.kind, flags, name, form, entry.given) + (b"" if same else data)
        if self.size_bytes + len(piece) > LARGEST_RECORD_BYTES:
            raise RecordFull(
                f"the loop's record has reached {LARGEST_RECORD_BYTES >> 20} MB (last entry: "
                f"{entry.name})"
            )
        self._last[name] = (form, data)
        self._open += piece
        self.size_bytes += len(piece)
        self.entries += 1
        if len(self._open) >= _CHUNK_BYTES:
            self._sealed.append(bytes(self._open))
            self._open.clear()

    def hold(self) -> tuple[HeldTensor, dict[str, Any]]:
        chunks = (*self._sealed, bytes(self._open))
        spec = TensorSpec(TENSOR, "U8", (self.size_bytes,))
        described = {
            "entries": self.entries,
            "names": list(self._names),
            "forms": list(self._forms),
            "lengths": list(self._lengths),
        }
        return HeldTensor(spec, lambda: memoryview(b"".join(chunks))), described


def read(data: memoryview, described: Mapping[str, Any]) -> Iterator[RecordEntry]:
    names, lengths = described["names"], described["lengths"]
    forms = [as_form(form) for form in described["forms"]]
    last: dict[int, memoryview] = {}
    at = 0
    while at < len(data):
        kind, flags, name, form, given = _HEADER.unpack_from(data, at)
        at += _HEADER.size
        payload = last[name] if flags & _SAME else data[at : at + lengths[form]]
        at += 0 if flags & _SAME else lengths[form]
        last[name] = payload
        yield RecordEntry(
            RecordKind(kind), names[name], forms[form], payload, bool(flags & _TRACED), given
        )
