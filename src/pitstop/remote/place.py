"""The URL of a mirror, and the local folder that it mirrors.  Pure."""

import re
from pathlib import Path

from pitstop.errors import UserError
from pitstop.record import Frozen

_URL = re.compile(r"([a-z][a-z0-9+.-]*)://(.*)", re.DOTALL)
_RUNS = Path("runs")


class PlaceInvalid(UserError):
    """The URL names no folder that a run can be mirrored to."""


class RemotePlace(Frozen):
    """A folder at a URL, without a slash at its end."""

    url: str

    def __str__(self) -> str:
        return self.url

    @property
    def name(self) -> str:
        return self.url.rpartition("/")[2]

    @property
    def working_copy(self) -> Path:
        """Where the run lies on this machine unless another place is named."""
        return _RUNS / self.name


def is_url(text: str) -> bool:
    return _URL.fullmatch(text) is not None


def parse(text: str) -> RemotePlace:
    """The place that a URL names; `PlaceInvalid` of a bucket or a host without a folder in it."""
    match = _URL.fullmatch(text)
    scheme, path = match.groups() if match else ("", "")
    parts = path.rstrip("/").split("/")
    # The path of a file URL begins at the root; elsewhere the first part is a bucket or host.
    if len(parts) < 2 or parts[-1] in ("", ".", "..") or (scheme != "file" and not parts[0]):
        raise PlaceInvalid(
            f"{text} does not name a folder for a run.",
            "Give a folder in the bucket, such as s3://bucket/runs/cnn.",
        )
    return RemotePlace(text.rstrip("/"))
