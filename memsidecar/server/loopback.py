"""Which addresses no other machine reaches. Apart from what listens on them, so that the configuration can be checked
without gRPC."""

from __future__ import annotations

import ipaddress


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
