"""Who may see a page, and who may press its buttons.  Pure.

A web page of somebody else, open in the same browser, can send requests here: under a name of its
own that it lets DNS say is this machine, or across origins.  Another user of the machine can
connect.  None of them knows the token.
"""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Mapping
from http import HTTPStatus
from urllib.parse import urlsplit

from pitstop.record import record

_LOCAL = "localhost"


@record
class Rules:
    """What is let in.

    Attributes:
        token: that every request has to carry.
        hosts: names, besides addresses and localhost, by which the page may be asked for.
        can_control: whether anybody may press buttons here.
    """

    token: str
    hosts: frozenset[str] = frozenset()
    can_control: bool = True


@record
class NotAdmitted:
    """A request that is not served, and why."""

    status: HTTPStatus
    reason: str


def refusal(
    rules: Rules, method: str, headers: Mapping[str, str], query: Mapping[str, str]
) -> NotAdmitted | None:
    """Why a request is not served; None where it is."""
    given = {name.lower(): value for name, value in headers.items()}
    host, origin = given.get("host", ""), given.get("origin", "")
    name = _name(host)
    # An address is no name that DNS could lie about.
    if not (name == _LOCAL or name in rules.hosts or _address(name) is not None):
        reason = "This host name is not allowed; use `pitstop watch --allow-host NAME`."
        return NotAdmitted(HTTPStatus.MISDIRECTED_REQUEST, reason)
    if not _is_own(origin, host, rules) if origin else method == "POST":
        return NotAdmitted(HTTPStatus.FORBIDDEN, "Another page sent this request.")
    if not hmac.compare_digest(query.get("token", "").encode(), rules.token.encode()):
        return NotAdmitted(HTTPStatus.FORBIDDEN, "Use the link that `pitstop watch` shows.")
    if method == "POST" and not rules.can_control:
        return NotAdmitted(HTTPStatus.FORBIDDEN, "This page is read-only: it is not on loopback.")
    return None


def is_loopback(host: str) -> bool:
    """Whether an address that is listened to can be reached from this machine only."""
    address = _address(host)
    return host == _LOCAL if address is None else address.is_loopback


def _is_own(origin: str, host: str, rules: Rules) -> bool:
    parts = urlsplit(origin)
    if parts.scheme not in ("http", "https"):
        return False
    return parts.netloc.lower() == host.lower() or _name(parts.netloc) in rules.hosts


def _name(host: str) -> str:
    """`Host` without its port, in lower case; empty for what is none."""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return None
