"""The table of a restore image says the same after it was packed, or is refused."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import InternalFault
from pitstop.snapshot.restore_table import RestoreTable, pack_table, parse_table

_NUMBERS = st.integers(0, 1 << 50)
_TABLES = st.builds(
    RestoreTable,
    st.dictionaries(st.text(), st.lists(st.tuples(_NUMBERS, _NUMBERS, _NUMBERS).map(list))),
    st.binary(),
)


@given(_TABLES)
def test_what_was_packed_is_parsed(table: RestoreTable) -> None:
    assert parse_table(memoryview(pack_table(table))) == table


@given(_TABLES, st.data())
def test_a_table_that_was_cut_is_refused(table: RestoreTable, data: st.DataObject) -> None:
    whole = pack_table(table)
    cut = data.draw(st.integers(0, len(whole) - 1))
    with pytest.raises(InternalFault):
        parse_table(memoryview(whole)[:cut])
