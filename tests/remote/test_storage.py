"""Objects through the real libraries: files, and a server that is out of order."""

from __future__ import annotations

import errno
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import botocore.exceptions
import pytest

from pitstop.remote.storage import LocalFileGone, Storage, StorageFault, explain


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    return Storage(f"file://{tmp_path}/mirror")


def test_objects_are_written_read_listed_and_removed(storage: Storage) -> None:
    storage.write("a/b.json", b"one")
    storage.write("a/b.json", b"two")
    storage.write("c", b"")
    assert storage.read("a/b.json") == b"two"
    assert storage.sizes() == {"a/b.json": 3, "c": 0}
    assert storage.folders() == ["a"]
    for _ in range(2):
        storage.remove("c")
    assert storage.sizes() == {"a/b.json": 3}


def test_what_is_not_there(storage: Storage, tmp_path: Path) -> None:
    assert storage.read("a") is None
    assert not storage.download("a", tmp_path / "a")
    assert not (tmp_path / "a").exists()
    assert storage.sizes() == {}
    assert storage.folders() == []


def test_files_are_sent_and_fetched(storage: Storage, tmp_path: Path) -> None:
    (tmp_path / "here").write_bytes(bytes(range(256)))
    storage.upload(tmp_path / "here", "x/there")
    assert storage.download("x/there", tmp_path / "back")
    assert (tmp_path / "back").read_bytes() == bytes(range(256))


def test_a_file_that_was_pruned_meanwhile(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(LocalFileGone):
        storage.upload(tmp_path / "gone", "x")


def test_a_library_that_is_not_there() -> None:
    with pytest.raises(StorageFault, match="need a library") as raised:
        Storage("nosuch://host/folder")
    assert raised.value.needs_user


class _OutOfOrder(BaseHTTPRequestHandler):
    """Answers everything as S3 does when it is asked too much."""

    def do_HEAD(self) -> None:
        self.send_error(503)

    def log_message(self, format: str, *args: object) -> None:
        del format, args


@pytest.fixture
def out_of_order() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _OutOfOrder) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def test_a_server_that_is_out_of_order(out_of_order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", out_of_order)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "key")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    with pytest.raises(StorageFault, match="Service Unavailable") as raised:
        Storage("s3://bucket/cnn").read("run.json")
    assert not raised.value.needs_user


_URL = "s3://bucket/cnn"


class _HttpError(Exception):
    """As gcsfs raises it."""

    code = 403


@pytest.mark.parametrize(
    ("error", "needs_user", "words"),
    [
        (PermissionError("Forbidden"), True, "Access to s3://bucket/cnn is denied: Forbidden."),
        (_HttpError("no"), True, "is denied: no."),
        (botocore.exceptions.NoCredentialsError(), True, "no valid credentials"),
        (FileNotFoundError("no such bucket"), True, "no such bucket"),
        (botocore.exceptions.EndpointConnectionError(endpoint_url="x"), False, "be reached"),
        (OSError(errno.EBUSY, "Please reduce your request rate."), False, "request rate"),
        (OSError(errno.ENOSPC, "No space left on device"), False, "the disk is full"),
        (TimeoutError(), False, "TimeoutError"),
    ],
)
def test_what_an_error_means(error: Exception, needs_user: bool, words: str) -> None:
    fault = explain(error, _URL)
    assert fault.needs_user is needs_user
    assert words in fault.message
    assert fault.message.endswith(".")
    assert not fault.message.endswith("..")
    assert fault.remedy
