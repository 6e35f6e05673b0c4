"""A running S3 server for each test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.remote.s3_server import S3Server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[S3Server]:
    """A server with an empty bucket, gone when the test ends."""
    server = S3Server(tmp_path / "s3")
    server.start()
    yield server
    server.stop()
