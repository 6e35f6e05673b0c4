"""Entries come back from a record as they went in, and equal ones cost a header."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.replay import record
from pitstop.replay.record import LoopRecord, RecordEntry, RecordFull, RecordKind, read

HEADER_BYTES = 14


def entry(
    name: str = "step", data: bytes = b"abcd", *, kind: RecordKind = RecordKind.CALL
) -> RecordEntry:
    return RecordEntry(kind, name, ("array", "uint8", (len(data),)), memoryview(data))


def kept(made: LoopRecord) -> list[RecordEntry]:
    tensor, described = made.hold()
    data = tensor.read()
    assert (tensor.spec.name, tensor.spec.shape) == (record.TENSOR, (len(data),))
    return list(read(data, json.loads(json.dumps(described))))


@given(
    st.lists(
        st.builds(
            RecordEntry,
            st.sampled_from(RecordKind),
            st.sampled_from(["step", "test", "rate"]),
            st.integers(0, 3).map(lambda size: ("array", "uint8", (size,))),
            st.just(memoryview(b"")),
            st.booleans(),
            st.integers(0, 2**32 - 1),
        ),
        max_size=40,
    ),
    st.integers(0, 255),
)
def test_entries_come_back(entries: list[RecordEntry], value: int) -> None:
    made = LoopRecord()
    for each in entries:
        data = bytes([value]) * each.form[2][0]
        made.append(RecordEntry(each.kind, each.name, each.form, memoryview(data), each.traced, 5))
    back = kept(made)
    assert [(e.kind, e.name, e.form, e.traced, e.given) for e in back] == [
        (e.kind, e.name, e.form, e.traced, 5) for e in entries
    ]
    assert all(bytes(e.data) == bytes([value]) * e.form[2][0] for e in back)


def test_the_same_bytes_again_cost_a_header() -> None:
    made = LoopRecord()
    for data in (b"weights!", b"weights!", b"weights?", b"weights!"):
        made.append(entry("weights", data, kind=RecordKind.READ))
    assert made.size_bytes == 4 * HEADER_BYTES + 3 * 8
    assert [bytes(each.data) for each in kept(made)][1] == b"weights!"


def test_a_cut_is_not_changed_by_what_follows() -> None:
    made = LoopRecord()
    made.append(entry(data=b"1"))
    tensor, described = made.hold()
    for number in range(9000):
        made.append(entry(data=b"%d" % number))
    assert [bytes(each.data) for each in read(tensor.read(), described)] == [b"1"]
    assert made.entries == len(kept(made)) == 9001


def test_a_record_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "LARGEST_RECORD_BYTES", 2 * (HEADER_BYTES + 4))
    made = LoopRecord()
    made.append(entry(data=b"abcd"))
    made.append(entry(data=b"efgh"))
    with pytest.raises(RecordFull, match=r"last entry: step"):
        made.append(entry(data=b"ijkl"))
    assert len(kept(made)) == 2
