"""Ports for brokers that are stopped and come back."""

from __future__ import annotations

import os
import socket
from contextlib import suppress

FIRST, LAST = 20_000, 32_000
"""Below what systems hand out to those who ask for any port, so that nobody is given one while its broker is away."""


def lasting_port() -> int:
    """A port that is free now and stays ours."""
    for port in range(FIRST + os.getpid() * 97 % 10_000, LAST):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise OSError(f"no port is free below {LAST}")
