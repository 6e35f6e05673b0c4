"""The address of a host as it stands in a URL or in the settings of a cluster."""

import contextlib
import ipaddress

LOCAL = "localhost"


def address_of(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """None where it is a name; an IPv6 address may stand in brackets."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host.strip("[]"))
    return None


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine can use the address."""
    address = address_of(host)
    return host == LOCAL if address is None else address.is_loopback
