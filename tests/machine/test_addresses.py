"""Which addresses only this machine can use."""

from __future__ import annotations

import pytest

from pitstop.machine.addresses import is_loopback


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.7", False), ("box.example", False), ("", False)],
)  # fmt: skip
def test_what_is_loopback(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback
