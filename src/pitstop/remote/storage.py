"""The objects below a URL, through fsspec, and what an error of a storage library means.

The libraries behind fsspec have no common class of errors, and are not imported here.  So errors
that are not OSErrors are known by the names of their classes.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec

from pitstop.errors import EnvironmentFault
from pitstop.store import disk_fault

_CREDENTIALS = frozenset(
    {
        "ClientAuthenticationError",  # azure.core
        "CredentialRetrievalError",  # botocore, and the next five
        "NoAuthTokenError",
        "NoCredentialsError",
        "PartialCredentialsError",
        "TokenRetrievalError",
        "UnauthorizedSSOTokenError",
        "DefaultCredentialsError",  # google.auth, and the next
        "RefreshError",
    }
)
_REFUSALS = frozenset({401, 403})
_ACCESS_REMEDY = (
    "Check the credentials and that they allow to list, read, write and delete there; for s3://: "
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or ~/.aws."
)
_OF_OUR_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS})
_MOST_CHARACTERS = 200


class StorageFault(EnvironmentFault):
    """The storage behind a URL cannot be used, for a while or until the user acts."""

    def __init__(self, message: str, remedy: str = "", *, needs_user: bool = False) -> None:
        super().__init__(message, remedy)
        self.needs_user = needs_user


def explain(error: Exception, url: str) -> StorageFault:
    names = {cls.__name__ for cls in type(error).__mro__}
    if names & _CREDENTIALS:
        message = f"There are no valid credentials for {url}: {_first_line(error)}."
        return StorageFault(message, _ACCESS_REMEDY, needs_user=True)
    if isinstance(error, PermissionError) or getattr(error, "code", None) in _REFUSALS:
        message = f"Access to {url} is denied: {_first_line(error)}."
        return StorageFault(message, _ACCESS_REMEDY, needs_user=True)
    if isinstance(error, OSError) and error.errno in _OF_OUR_DISK:
        fault = disk_fault.explain(error)
        return StorageFault(f"{url} cannot be fetched: {fault.cause}.", fault.remedy)
    if isinstance(error, FileNotFoundError):
        message = f"{url} cannot be written: {_first_line(error)}."
        return StorageFault(message, "Create the bucket, or fix the URL.", needs_user=True)
    return StorageFault(
        f"{url} cannot be reached: {_first_line(error)}.", "Check the network and the server."
    )


def _first_line(error: Exception) -> str:
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:_MOST_CHARACTERS].rstrip(". ")


# Waits and retries are ours: within the library they would be neither seen nor ended.
_OPTIONS: dict[str, dict[str, Any]] = {
    "s3": {
        "config_kwargs": {
            "connect_timeout": 10,
            "read_timeout": 60,
            "retries": {"max_attempts": 1},
        },
        # Each part of a large file is held in memory while it is sent.
        "max_concurrency": 3,
    },
    "file": {"auto_mkdir": True},
}


class LocalFileGone(Exception):
    """The file that was to be sent no longer exists: the checkpoint was pruned."""


class Storage:
    """The objects of one mirror, by their keys; every method may raise `StorageFault`."""

    def __init__(self, url: str) -> None:
        """Loads the library for the URL, or raises `StorageFault`."""
        self.url = url
        protocol = url.partition("://")[0]
        options = _OPTIONS.get(protocol, {})
        with self._failures_explained():
            try:
                self._filesystem, self._root = fsspec.url_to_fs(
                    url, use_listings_cache=False, **options
                )
            except (ImportError, ValueError) as error:
                raise StorageFault(
                    f"URLs that start with {protocol}:// need a library: {error}.",
                    "Install it: `pip install 'pitstop[remote]'` for s3://, gcsfs for gs://.",
                    needs_user=True,
                ) from error

    def read(self, key: str) -> bytes | None:
        with self._failures_explained():
            try:
                return bytes(self._filesystem.cat_file(self._path(key)))
            except FileNotFoundError:
                return None

    def write(self, key: str, data: bytes, *, new: bool = False) -> None:
        """With `new` only if it does not exist; not every server obeys that: read it again."""
        with self._failures_explained():
            mode = "create" if new else "overwrite"
            self._make_parent(key)
            self._filesystem.pipe_file(self._path(key), data, mode=mode)

    def upload(self, path: Path, key: str) -> None:
        """Sends a file; raises `LocalFileGone` where it is not there any more."""
        with self._failures_explained():
            try:
                self._make_parent(key)
                self._filesystem.put_file(str(path), self._path(key))
            except FileNotFoundError:
                if path.exists():
                    raise
                raise LocalFileGone(str(path)) from None

    def download(self, key: str, path: Path) -> bool:
        """Fetches an object into a new file, synced; False when there is none."""
        with self._failures_explained():
            try:
                self._filesystem.get_file(self._path(key), str(path))
            except FileNotFoundError:
                path.unlink(missing_ok=True)
                return False
            with path.open("rb") as file:
                os.fsync(file.fileno())
            return True

    def remove(self, key: str) -> None:
        with self._failures_explained(), contextlib.suppress(FileNotFoundError):
            self._filesystem.rm_file(self._path(key))

    def sizes(self) -> dict[str, int]:
        """All objects: their sizes in bytes, by key."""
        with self._failures_explained():
            found = self._filesystem.find(self._root, detail=True)
            return {self._key(path): int(info["size"]) for path, info in found.items()}

    def folders(self) -> list[str]:
        with self._failures_explained():
            try:
                rows = self._filesystem.ls(self._root, detail=True)
            except FileNotFoundError:
                return []
            return [self._key(row["name"]) for row in rows if row["type"] == "directory"]

    def _path(self, key: str) -> str:
        return f"{self._root}/{key}"

    def _key(self, path: str) -> str:
        return path.rstrip("/").removeprefix(self._root).lstrip("/")

    def _make_parent(self, key: str) -> None:
        # Object stores have no folders; asking some for one would make a bucket.
        if "file" in self._filesystem.protocol:
            parent = self._path(key).rpartition("/")[0]
            self._filesystem.makedirs(parent, exist_ok=True)

    @contextlib.contextmanager
    def _failures_explained(self) -> Iterator[None]:
        try:
            yield
        except (StorageFault, LocalFileGone):
            raise
        except Exception as error:
            # The exceptions of the libraries behind fsspec have no base in common.
            raise explain(error, self.url) from error
