"""Who is let in: DNS rebinding, requests across origins, and other users of the machine."""

from __future__ import annotations

from http import HTTPStatus

import pytest

from pitstop.watch.admission import Rules, is_loopback, refusal

_TOKEN = {"token": "secret"}
_RULES = Rules("secret", frozenset({"hub.example.org"}))


def status(method: str, headers: dict[str, str], query: dict[str, str] = _TOKEN) -> int:
    refused = refusal(_RULES, method, headers, query)
    return HTTPStatus.OK if refused is None else refused.status


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


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.7", False), ("box.example", False)],
)  # fmt: skip
def test_what_is_loopback(host: str, *, loopback: bool) -> None:
    assert is_loopback(host) is loopback
