"""HTTP servers that behave like the metadata servers of the clouds."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar

NAME = "trainer-7"
"""What Azure calls the machine."""


@dataclass
class Metadata:
    """What the server says, and what it was asked.

    Attributes:
        said: of Google "FALSE" or "TRUE", of Amazon "" or an action, of Azure a list of events.
        maintenance: of Google, what is to become of the machine.
        asked: method and path of every request, in their order.
        tokens: of Amazon, those that are valid.
    """

    said: str
    maintenance: str = "NONE"
    url: str = ""
    asked: list[str] = field(default_factory=list)
    tokens: list[str] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    metadata: ClassVar[Metadata]

    def do_GET(self) -> None:
        self.metadata.asked.append(f"GET {self.path}")
        self.answer()

    def do_PUT(self) -> None:
        self.metadata.asked.append(f"PUT {self.path}")
        self.answer()

    def answer(self) -> None:
        raise NotImplementedError

    def say(self, status: int, text: str, **headers: str) -> None:
        body = text.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


class Google(_Handler):
    def answer(self) -> None:
        if self.headers.get("Metadata-Flavor") != "Google":
            self.say(403, "Missing Metadata-Flavor:Google header.")
        elif self.path == "/computeMetadata/v1/instance/preempted":
            self.say(200, self.metadata.said, Metadata_Flavor="Google")
        elif self.path == "/computeMetadata/v1/instance/maintenance-event":
            self.say(200, self.metadata.maintenance, Metadata_Flavor="Google")
        else:
            self.say(404, "", Metadata_Flavor="Google")


class Amazon(_Handler):
    def answer(self) -> None:
        tokens = self.metadata.tokens
        if self.command == "PUT" and self.path == "/latest/api/token":
            if not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
                self.say(400, "Bad Request")
                return
            tokens.append(f"token-{len(self.metadata.asked)}")
            self.say(200, tokens[-1])
        elif self.headers.get("X-aws-ec2-metadata-token") not in tokens:
            self.say(401, "Unauthorized")
        elif self.path == "/latest/meta-data/spot/instance-action" and self.metadata.said:
            self.say(200, self.metadata.said)
        else:
            self.say(404, "Not Found")


class Azure(_Handler):
    def answer(self) -> None:
        path, _, query = self.path.partition("?")
        if self.headers.get("Metadata") != "true" or "api-version=" not in query:
            self.say(400, '{"error": "Bad request"}')
        elif path == "/metadata/instance/compute/name":
            self.say(200, NAME)
        elif path == "/metadata/scheduledevents":
            self.say(200, f'{{"DocumentIncarnation": 1, "Events": {self.metadata.said}}}')
        else:
            self.say(404, "")


@contextmanager
def serving(handler: type[_Handler], said: str) -> Iterator[Metadata]:
    """A metadata server on a port of this machine."""
    metadata = Metadata(said)
    bound = type(handler.__name__, (handler,), {"metadata": metadata})
    with ThreadingHTTPServer(("127.0.0.1", 0), bound) as server:
        metadata.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield metadata
        finally:
            server.shutdown()
            thread.join()
