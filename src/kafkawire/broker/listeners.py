"""Where the broker listens, and where it tells clients to connect.

Rules:
- `listeners` and `advertised.listeners` are Kafka's: NAME://host:port, of which the first is used.
- A host and port given by themselves go before `listeners`.
- Clients are told the listening host, or 127.0.0.1 where every interface is listened on: an address that works on this
  machine. For other machines `advertised.listeners` says which name they know it by.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from kafkawire.broker.configs import BrokerConfig

DEFAULT_HOST: Final = "127.0.0.1"
EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})
_LISTENER: Final = re.compile(r"(?P<name>[A-Za-z0-9_]+)://(?:\[(?P<six>[^\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]+)")


def parse_listener(text: str, name: str) -> tuple[str, int]:
    """Host and port of the first listener in a list.

    >>> parse_listener("PLAINTEXT://localhost:9092,CONTROLLER://:9093", "listeners")
    ('localhost', 9092)
    """
    first = text.split(",")[0].strip()
    match = _LISTENER.fullmatch(first)
    if match is None or int(match["port"]) > 65535:
        raise InvalidConfigError(f"{name}: expected NAME://host:port, found {first!r}")
    return match["six"] or match["host"] or "", int(match["port"])


def listening(config: BrokerConfig, host: str | None, port: int | None) -> tuple[str, int]:
    """Where to listen: what was given by itself, else `listeners`, else Kafka's port on this machine alone."""
    if "listeners" not in config.given:
        return DEFAULT_HOST if host is None else host, 9092 if port is None else port
    set_host, set_port = parse_listener(config.text("listeners"), "listeners")
    return set_host if host is None else host, port if port else set_port


def advertised(config: BrokerConfig, host: str, port: int) -> tuple[str, int]:
    """Where clients are told to connect."""
    text = config.text("advertised.listeners")
    if text:
        named, named_port = parse_listener(text, "advertised.listeners")
        return named or DEFAULT_HOST, named_port or port
    return (DEFAULT_HOST if host in EVERYWHERE else host), port
