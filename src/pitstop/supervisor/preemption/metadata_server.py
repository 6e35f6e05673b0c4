"""One question to the metadata server of a cloud: plain HTTP, no proxy, no patience."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from urllib.parse import urlsplit

from pitstop.errors import EnvironmentFault
from pitstop.record import record

TIMEOUT_SECONDS = 5.0
_MOST_BYTES = 1 << 16


class MetadataUnavailable(EnvironmentFault):
    """The metadata server does not answer, or not as documented."""


@record
class MetadataAnswer:
    """The HTTP status, the text, cut at 64 KiB, and the headers by name in lower case."""

    status: int
    body: str
    headers: Mapping[str, str] = field(default_factory=dict)


class MetadataServer:
    """A metadata server at an address such as `http://169.254.169.254`."""

    def __init__(self, url: str) -> None:
        self._address = urlsplit(url).netloc

    def ask(
        self, path: str, headers: Mapping[str, str], method: str = "GET", said: str = ""
    ) -> MetadataAnswer:
        """The answer, whatever its status; `MetadataUnavailable` where there is none."""
        import http.client

        connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(
                method, path, said.encode() or None, {**headers, "Connection": "close"}
            )
            response = connection.getresponse()
            body = response.read(_MOST_BYTES).decode(errors="replace")
        except (OSError, http.client.HTTPException) as error:
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            raise MetadataUnavailable(f"{self._address} does not answer ({reason})") from error
        finally:
            connection.close()
        found = {name.lower(): value for name, value in response.getheaders()}
        return MetadataAnswer(response.status, body, found)
