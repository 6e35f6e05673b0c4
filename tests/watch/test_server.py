"""The page over HTTP: what is served, to whom, and what others cannot do."""

from __future__ import annotations

import http.client
import json
import socket
import threading
from collections.abc import Iterator
from contextlib import closing
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from pitstop.events import ExceptionRaised
from pitstop.watch.server import PageRequest, PageServer, Rules, refusal
from tests.report.page.parsed import Page
from tests.watch.made_run import ENDED, make_run

_HOSTILE = "</script></style><script>alert(1)</script><img src=x onerror=alert(1)>"


class Client:
    """Asks a server; its own link, unless something else is given."""

    def __init__(self, server: PageServer) -> None:
        parts = urlsplit(server.link)
        self.host, self.port = str(parts.hostname), int(parts.port or 0)
        self.token = server.rules.token

    def ask(
        self, query: str = "", method: str = "GET", path: str = "/", **headers: str
    ) -> tuple[int, str]:
        with closing(http.client.HTTPConnection(self.host, self.port, timeout=10)) as connection:
            connection.request(method, f"{path}?token={self.token}{query}", headers=headers)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    @property
    def origin(self) -> str:
        return f"http://{self.host}:{self.port}"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    make_run(tmp_path / "runs" / "one")
    make_run(tmp_path / "runs" / "two")
    make_run(tmp_path / "secret")
    return tmp_path / "runs"


def serving(root: Path, host: str = "127.0.0.1") -> PageServer:
    server = PageServer(root, host, 0, frozenset())
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    return server


@pytest.fixture
def server(root: Path) -> Iterator[PageServer]:
    server = serving(root)
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def client(server: PageServer) -> Client:
    return Client(server)


def test_the_runs_and_each_run_are_shown(client: Client) -> None:
    status, text = client.ask()
    assert status == 200
    assert text.count("<tr>") == 3
    assert "run=one" in text
    status, text = client.ask("&run=two")
    assert status == 200
    for wanted in ("20% of 500 steps", "How it went", "user_code_error", ">All runs<"):
        assert wanted in text


def test_nothing_is_loaded_from_anywhere(client: Client) -> None:
    for query in ("", "&run=one"):
        text = client.ask(query)[1]
        assert "http://" not in text
        assert "https://" not in text
        assert " src=" not in text


def test_events_bring_what_is_on_the_page_and_then_what_changes(client: Client) -> None:
    with socket.create_connection((client.host, client.port), 10) as connection:
        line = f"GET /?token={client.token}&run=one&view=events HTTP/1.1\r\nHost: localhost\r\n\r\n"
        connection.sendall(line.encode())
        answer = connection.makefile("rb")
        told = {}
        while "output" not in told and "curves" not in told:
            text = answer.readline()
            if text.startswith(b"data: "):
                part = json.loads(text[6:])
                told[part["id"]] = part["html"]
    assert "one, attempt 1" in told["now"]


@pytest.mark.parametrize(
    "name", ["../secret", "..", "/", "one/../../secret", "%00", "one/", "x" * 5000, "missing"]
)
def test_only_runs_below_the_folder_have_a_page(client: Client, name: str) -> None:
    assert client.ask(f"&run={quote(name, safe='')}")[0] == 404


@pytest.mark.parametrize("path", ["//evil.example/", "/../../etc/passwd", "/runs/one/run.json"])
def test_paths_lead_nowhere(client: Client, path: str) -> None:
    status, text = client.ask("", path=path)
    assert status in (200, 404)
    assert "identity" not in text
    assert "root:" not in text


def test_another_user_is_not_let_in(client: Client) -> None:
    client.token = "guess"
    assert client.ask()[0] == 403
    assert client.ask("&run=one&view=events")[0] == 403
    assert client.ask("&run=one&do=stop", "POST", Origin=client.origin)[0] == 403


def test_a_name_that_dns_says_is_this_machine_is_not_served(client: Client) -> None:
    status, text = client.ask(Host="evil.example")
    assert status == 421
    assert "one" not in text.replace("known", "")


def test_another_page_of_the_browser_cannot_press_a_button(client: Client) -> None:
    asked = "&run=one&do=stop"
    assert client.ask(asked, "POST")[0] == 403
    assert client.ask(asked, "POST", Origin="http://evil.example")[0] == 403
    assert client.ask(asked, "GET")[1].startswith("<!doctype html>")
    status, text = client.ask(asked, "POST", Origin=client.origin)
    assert status == 409
    assert "is not running" in text


def test_the_next_action_may_follow_an_answer_at_once(
    server: PageServer, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    acting: list[bool] = []
    answer = PageRequest._answer

    def _answer(request: PageRequest, *words: Any) -> None:
        acting.append(server.acting.locked())
        answer(request, *words)

    monkeypatch.setattr(PageRequest, "_answer", _answer)
    assert client.ask("&run=one&do=stop", "POST", Origin=client.origin)[0] == 409
    assert acting == [False]


def test_a_request_names_one_host(client: Client) -> None:
    with socket.create_connection((client.host, client.port), 10) as connection:
        head = f"GET /?token={client.token} HTTP/1.1\r\nHost: localhost\r\nHost: evil\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 400 " in connection.makefile("rb").readline()


def test_a_run_alone_is_the_page(root: Path) -> None:
    server = serving(root / "one")
    try:
        status, text = Client(server).ask()
    finally:
        server.shutdown()
        server.server_close()
    assert status == 200
    assert "attempt 1" in text
    assert "All runs" not in text


def test_on_another_address_the_page_only_shows(root: Path) -> None:
    server = serving(root, "0.0.0.0")
    client = Client(server)
    try:
        status, text = client.ask("&run=one")
        refused, _ = client.ask("&run=one&do=stop", "POST", Origin=client.origin)
    finally:
        server.shutdown()
        server.server_close()
    assert status == 200
    assert "<button" not in text
    assert refused == 403


def test_no_text_of_a_run_becomes_a_part_of_the_page(tmp_path: Path) -> None:
    raised = ExceptionRaised("Error", _HOSTILE, _HOSTILE, 1, _HOSTILE, "", "train", _HOSTILE)
    folder = make_run(tmp_path / "runs" / "<b onclick=alert(1)>x", events=(raised, *ENDED))
    folder.output_log(1).write_text(_HOSTILE, encoding="utf-8")
    server = serving(tmp_path / "runs")
    try:
        client = Client(server)
        overview = client.ask()[1]
        page = client.ask("&run=" + quote(folder.path.name))[1]
    finally:
        server.shutdown()
        server.server_close()
    for text in (overview, page):
        found = Page(text)
        assert not {"img", "b"} & set(found.tags)
        assert found.tags.count("script") <= 3
        assert not [name for name, _ in found.attributes if name.startswith("on")]
        assert folder.path.name in found.text
    assert _HOSTILE in Page(page).text


def test_the_browser_is_told_to_be_strict(client: Client) -> None:
    with closing(http.client.HTTPConnection(client.host, client.port, timeout=10)) as connection:
        connection.request("GET", f"/?token={client.token}")
        headers = dict(connection.getresponse().getheaders())
    policy = headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "script-src 'sha256-" in policy
    assert "unsafe-inline" not in policy.partition("script-src")[2]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in headers
    assert "Access-Control-Allow-Origin" not in headers


def test_a_flood_leaves_the_server_alive_and_its_threads_few(client: Client) -> None:
    before = threading.active_count()
    flood = [socket.create_connection((client.host, client.port), 10) for _ in range(300)]
    most = 0
    for each in flood:
        each.settimeout(0.05)
        most = max(most, threading.active_count())
    assert most - before <= 70
    for each in flood:
        each.close()
    # Those that wait for a request that never comes have gone when their connection has.
    for _ in range(100):
        try:
            if client.ask()[0] == 200:
                break
        except OSError:
            threading.Event().wait(0.1)
    assert client.ask()[0] == 200


@pytest.mark.parametrize(
    "sent",
    [b"\r\n\r\n", b"GET\r\n\r\n", b"\x00\xff" * 500, b"GET / HTTP/9.9\r\n\r\n",
     b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n", b"PUT / HTTP/1.1\r\nHost: localhost\r\n\r\n",
     b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 500 + b"\r\n",
     b"GET http://[ HTTP/1.1\r\nHost: [\r\n\r\n"],
)  # fmt: skip
def test_malformed_requests_do_no_harm(client: Client, sent: bytes) -> None:
    with socket.create_connection((client.host, client.port), 10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        assert b" 200 " not in connection.makefile("rb").readline()
    assert client.ask()[0] == 200


_TOKEN = {"token": "secret"}
_RULES = Rules("secret", frozenset({"hub.example.org"}))


def status(method: str, headers: dict[str, str], query: dict[str, str] = _TOKEN) -> int:
    refused = refusal(_RULES, method, headers, query)
    return HTTPStatus.OK if refused is None else refused[0]


@pytest.mark.parametrize(
    "host",
    [
        "localhost:8000",
        "LOCALHOST:9",
        "127.0.0.1:8000",
        "[::1]:8000",
        "10.0.0.7",
        "hub.example.org",
    ],
)
def test_a_name_that_dns_cannot_lie_about_is_let_in(host: str) -> None:
    assert status("GET", {"Host": host}) == HTTPStatus.OK


@pytest.mark.parametrize(
    "host",
    ["", "evil.example", "evil.example:8000", "localhost.evil.example", "127.0.0.1.evil.example",
     "localhost@evil.example", "evil.example#localhost", "[::1", "localhost, evil.example"],
)  # fmt: skip
def test_another_name_is_not(host: str) -> None:
    assert status("GET", {"Host": host}) == HTTPStatus.MISDIRECTED_REQUEST


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:8001", "file://localhost:8000", "x"]
)
def test_another_origin_is_refused(method: str, origin: str) -> None:
    headers = {"Host": "localhost:8000", "Origin": origin}
    assert status(method, headers) == HTTPStatus.FORBIDDEN


def test_a_button_needs_an_origin_and_a_page_does_not() -> None:
    host = {"Host": "localhost:8000"}
    assert status("POST", host) == HTTPStatus.FORBIDDEN
    assert status("GET", host) == HTTPStatus.OK
    assert status("POST", {**host, "Origin": "http://localhost:8000"}) == HTTPStatus.OK
    assert status("POST", {"host": "localhost", "origin": "https://localhost"}) == HTTPStatus.OK


def test_a_proxy_that_is_allowed_may_show_the_page_under_its_own_name() -> None:
    headers = {"Host": "127.0.0.1:8000", "Origin": "https://hub.example.org"}
    assert status("POST", headers) == HTTPStatus.OK


@pytest.mark.parametrize("query", [{}, {"token": ""}, {"token": "Secret"}, {"token": "sécret"}])
@pytest.mark.parametrize("method", ["GET", "POST"])
def test_nobody_is_let_in_without_the_token(method: str, query: dict[str, str]) -> None:
    headers = {"Host": "localhost", "Origin": "http://localhost"}
    assert status(method, headers, query) == HTTPStatus.FORBIDDEN


def test_a_page_that_others_can_reach_has_no_buttons() -> None:
    headers = {"Host": "10.0.0.7", "Origin": "http://10.0.0.7"}
    rules = Rules("secret", can_control=False)
    assert refusal(rules, "POST", headers, _TOKEN) is not None
    assert refusal(rules, "GET", headers, _TOKEN) is None
