"""Serves the pages over HTTP: who is let in, documents, their changes as events, the buttons."""

import contextlib
import hmac
import json
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, urlencode, urlsplit

from pitstop.errors import PitstopError
from pitstop.machine.addresses import LOCAL, address_of, is_loopback
from pitstop.plain_text import plain
from pitstop.record import Frozen
from pitstop.report.page.element import policy
from pitstop.watch.actions import ACTIONS
from pitstop.watch.live_page import EVERY_SECONDS, SCRIPTS, LivePage, Pages


class Rules(Frozen):
    """Which requests are served."""

    token: str  # required in every request
    hosts: frozenset[str] = frozenset()  # allowed host names, besides addresses and localhost
    can_control: bool = True  # whether requests may act


NotAdmitted = tuple[HTTPStatus, str]
"""What is answered to a request that is not served, and why."""


def refusal(
    rules: Rules, method: str, headers: Mapping[str, str], query: Mapping[str, str]
) -> NotAdmitted | None:
    """Why a request is not served; None where it is.

    A page of somebody else in the same browser can send requests here, under a name that DNS says
    is this machine, or across origins; another user can connect.  None of them knows the token.
    """
    given = {name.lower(): value for name, value in headers.items()}
    host, origin = given.get("host", ""), given.get("origin", "")
    name = _name(host)
    # DNS cannot forge an address, only a name.
    if not (name == LOCAL or name in rules.hosts or address_of(name) is not None):
        reason = "This host name is not allowed; use `pitstop watch --allow-host NAME`."
        return HTTPStatus.MISDIRECTED_REQUEST, reason
    if not _is_own(origin, host, rules) if origin else method == "POST":
        return HTTPStatus.FORBIDDEN, "Another page sent this request."
    if not hmac.compare_digest(query.get("token", "").encode(), rules.token.encode()):
        return HTTPStatus.FORBIDDEN, "Use the link that `pitstop watch` shows."
    if method == "POST" and not rules.can_control:
        return HTTPStatus.FORBIDDEN, "This page is read-only: it is not on loopback."
    return None


def _is_own(origin: str, host: str, rules: Rules) -> bool:
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https"):
        return False
    return parts.netloc.lower() == host.lower() or _name(parts.netloc) in rules.hosts


def _name(host: str) -> str:
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


_MOST_REQUESTS = 64
_REQUEST_SECONDS = 10.0
_SILENT_SECONDS = 15.0
_HEADERS = {
    "Content-Security-Policy": policy(SCRIPTS) + "; frame-ancestors 'self'",
    "Cache-Control": "no-store",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class PageServer(ThreadingHTTPServer):
    """Listens; one thread for each request, up to a limit."""

    request_queue_size = 32

    def __init__(self, root: Path, host: str, port: int, names: frozenset[str]) -> None:
        """Raises `OSError` where it cannot listen there."""
        family, *_ = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        self.address_family = family
        self.rules = Rules(secrets.token_urlsafe(24), names, is_loopback(host))
        self.pages = Pages(root, self.rules.token, can_control=self.rules.can_control)
        self.closing = threading.Event()
        self.acting = threading.Lock()
        self._free = threading.BoundedSemaphore(_MOST_REQUESTS)
        super().__init__((host, port), PageRequest)

    @property
    def link(self) -> str:
        host, port = self.server_address[:2]
        name = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{name}:{port}/?" + urlencode({"token": self.rules.token})

    def server_bind(self) -> None:
        """As the base class, without its DNS lookup."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        if self._free.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        threading.current_thread().name = "pitstop-page"
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Does not report clients that have disconnected."""

    def server_close(self) -> None:
        self.closing.set()
        super().server_close()


class PageRequest(BaseHTTPRequestHandler):
    timeout = _REQUEST_SECONDS

    def do_GET(self) -> None:
        query = self._admitted()
        if query is None:
            return
        page = self._server.pages.page(query.get("run"))
        if page is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is no such run.")
        elif query.get("view") == "events":
            self._events(page)
        else:
            self._answer(HTTPStatus.OK, page.html(), "text/html")

    def do_POST(self) -> None:
        query = self._admitted()
        if query is None:
            return
        run = self._server.pages.run(query.get("run"))
        action = ACTIONS.get(query.get("do", ""))
        if run is None or action is None:
            self._answer(HTTPStatus.NOT_FOUND, "There is no such run.")
        elif not self._server.acting.acquire(blocking=False):
            self._answer(HTTPStatus.TOO_MANY_REQUESTS, "Another action is in progress.")
        else:
            try:
                answer = HTTPStatus.OK, action(run.folder)
            except PitstopError as error:
                answer = HTTPStatus.CONFLICT, f"{error.message} {error.remedy}".strip()
            finally:
                # Before the answer: the client may ask for the next action as soon as it has it.
                self._server.acting.release()
            self._answer(*answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Logs nothing: the line of a request contains the token."""

    @property
    def _server(self) -> PageServer:
        return cast("PageServer", self.server)

    def _admitted(self) -> dict[str, str] | None:
        query = dict(parse_qsl(urlsplit(self.path).query, max_num_fields=10))
        hosts = self.headers.get_all("Host") or []
        refused = refusal(self._server.rules, str(self.command), dict(self.headers.items()), query)
        if len(hosts) != 1:
            refused = HTTPStatus.BAD_REQUEST, "A request must name one host."
        if refused is not None:
            self._answer(*refused)
            return None
        return query

    def _events(self, page: LivePage) -> None:
        self._begin(HTTPStatus.OK, "text/event-stream", {"X-Accel-Buffering": "no"})
        seen: dict[str, int] = {}
        told = time.monotonic()
        while not self._server.closing.is_set():
            page.refresh()
            lines = []
            for part in page.changed(seen):
                seen[part.id] = part.version
                data = json.dumps({"id": part.id, "html": part.html})
                lines.append(f"event: part\ndata: {data}\n\n")
            now = time.monotonic()
            if lines or now - told > _SILENT_SECONDS:
                self.wfile.write("".join(lines or [": still here\n\n"]).encode())
                told = now
            self._server.closing.wait(EVERY_SECONDS)

    def _answer(self, status: HTTPStatus, text: str, kind: str = "text/plain") -> None:
        body = (text if kind == "text/html" else plain(text)).encode(errors="replace")
        self._begin(status, kind, {"Content-Length": str(len(body))})
        self.wfile.write(body)

    def _begin(self, status: HTTPStatus, kind: str, more: dict[str, str]) -> None:
        self.send_response_only(status)
        for name, value in {"Content-Type": f"{kind}; charset=utf-8", **more, **_HEADERS}.items():
            self.send_header(name, value)
        self.end_headers()


def serve(server: PageServer) -> None:
    with contextlib.suppress(KeyboardInterrupt):
        server.serve_forever(poll_interval=0.2)
    server.server_close()
