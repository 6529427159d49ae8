"""Names and addresses of machines: pure."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    """Return whether an address, or a name, is reached from this machine only."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"
