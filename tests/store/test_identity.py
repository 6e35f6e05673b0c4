"""The content of run.json."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.errors import FormatTooNew
from pitstop.store.run_folder import RunIdentity, decode_identity, encode_identity

TEXTS = st.text(max_size=10)
IDENTITIES = st.builds(
    RunIdentity, TEXTS, st.lists(TEXTS, max_size=4).map(tuple), TEXTS, st.floats(0, 1e11)
)
SAMPLE = RunIdentity("ab12", ("python", "train.py"), "/home/me", 1.5, "cd34")


@given(IDENTITIES)
def test_decoding_gives_what_was_encoded(identity: RunIdentity) -> None:
    assert decode_identity(encode_identity(identity)) == identity


@pytest.mark.parametrize(
    ("member", "value", "reason"),
    [
        ("format", "other", "its format is not"),
        ("version", None, "version None"),
        ("run_id", 7, "run_id"),
        ("command", "python", "command"),
        ("command", [1], "command"),
        ("cwd", None, "cwd"),
        ("created_seconds", "now", "created_seconds"),
        ("created_seconds", True, "created_seconds"),
    ],
)
def test_a_wrong_member_is_named(member: str, value: Any, reason: str) -> None:
    record = {**json.loads(encode_identity(SAMPLE)), member: value}
    with pytest.raises(ValueError, match=reason):
        decode_identity(json.dumps(record).encode())


def test_a_newer_format_is_told_apart() -> None:
    record = {**json.loads(encode_identity(SAMPLE)), "version": 2}
    with pytest.raises(FormatTooNew, match="version 2"):
        decode_identity(json.dumps(record).encode())


def test_members_of_a_later_writer_are_ignored() -> None:
    record = {**json.loads(encode_identity(SAMPLE)), "later": 1}
    assert decode_identity(json.dumps(record).encode()) == SAMPLE
