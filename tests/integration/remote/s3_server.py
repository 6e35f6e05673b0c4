"""A real S3 server: `rclone serve s3`, a process of its own that keeps objects in a folder."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from pathlib import Path

KEY, SECRET = "PITSTOPKEY", "pitstop-secret"
BUCKET = "bucket"
_RCLONE = Path(sys.executable).parent / "rclone"
_START_SECONDS = 20.0


class S3Server:
    """One server on a port of its own, which it keeps when it is stopped and started."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        (folder / BUCKET).mkdir(parents=True)
        self.port = _free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> dict[str, str]:
        """What a client needs to know."""
        return {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def start(self, secret: str = SECRET) -> None:
        """Starts it, and waits until it listens."""
        address = f"127.0.0.1:{self.port}"
        words = [str(_RCLONE), "serve", "s3", "--auth-key", f"{KEY},{secret}", "--addr", address]
        self._process = subprocess.Popen(
            [*words, "--config", "", str(self.folder)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        give_up_at = time.monotonic() + _START_SECONDS
        while not self._listens():
            assert self._process.poll() is None, "the server has ended"
            assert time.monotonic() < give_up_at, "the server does not listen"
            time.sleep(0.02)

    def stop(self) -> None:
        """Kills it; what it holds stays in its folder."""
        if self._process is not None:
            self._process.kill()
            self._process.wait(10)
            self._process = None

    def objects(self) -> set[str]:
        """The keys in its bucket."""
        bucket = self.folder / BUCKET
        return {path.relative_to(bucket).as_posix() for path in bucket.rglob("*") if path.is_file()}

    def _listens(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", self.port)) == 0


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
