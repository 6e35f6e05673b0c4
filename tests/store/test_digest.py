"""Checksums span by span, however the stream is cut."""

from __future__ import annotations

from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st
from xxhash import xxh3_64_hexdigest

from pitstop.store.digest import Span, SpanHasher
from tests.store.samples import cut


@given(st.binary(max_size=60), st.lists(st.integers(0, 20)), st.lists(st.integers(0, 20)))
def test_any_cut_gives_the_checksums_of_the_parts(
    data: bytes, sizes: list[int], cuts: list[int]
) -> None:
    bounds = [bound for bound in accumulate(sizes, initial=0) if bound <= len(data)]
    spans = [Span(str(start), start, end) for start, end in pairwise(bounds)]
    hasher = SpanHasher(spans)
    # Empty spans share their start with the one behind: the last of a name counts.
    found: dict[str, str] = {}
    for chunk in cut(data, cuts):
        found.update(hasher.update(chunk))
    assert found == {
        span.name: xxh3_64_hexdigest(data[span.start_bytes : span.end_bytes]) for span in spans
    }
    assert hasher.whole() == xxh3_64_hexdigest(data)
    assert hasher.position_bytes == len(data)


def test_gaps_belong_to_no_span() -> None:
    hasher = SpanHasher([Span("a", 2, 4), Span("b", 6, 7)])
    assert hasher.update(memoryview(b"..aa..b..")) == {
        "a": xxh3_64_hexdigest(b"aa"),
        "b": xxh3_64_hexdigest(b"b"),
    }


def test_a_span_beyond_the_end_never_finishes() -> None:
    hasher = SpanHasher([Span("a", 0, 5)])
    assert hasher.update(memoryview(b"1234")) == {}
