"""Settings travel in a message without change."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.settings import Settings

SETTINGS = st.builds(
    Settings,
    overhead=st.floats(0.0001, 1),
    every_steps=st.integers(0, 10**9),
    every_seconds=st.floats(0, 1e6),
    snapshot_memory_bytes=st.integers(0, 2**50),
    force=st.booleans(),
)


@given(SETTINGS)
def test_there_and_back(settings: Settings) -> None:
    assert Settings.from_json(json.loads(json.dumps(settings.to_json()))) == settings
