"""Everything under tests/integration carries the `integration` mark; Hypothesis has no clock."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

_INTEGRATION = Path(__file__).parent / "integration"

# A busy machine is slow: no example fails for it.  `make torture` tries more of them.
settings.register_profile("quick", max_examples=30, deadline=None)
settings.register_profile("torture", max_examples=300, deadline=None)
settings.load_profile("quick")

# `nohup` ignores the one, a shell the other for what it runs with `&`; children inherit that.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(_INTEGRATION):
            item.add_marker(pytest.mark.integration)
