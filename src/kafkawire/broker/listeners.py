"""Where the broker listens, and where it tells clients to connect.

Rules:
- `listeners` and `advertised.listeners` are Kafka's: NAME://host:port, of which the first that is not a controller's is
  used. One that stands for anything but PLAINTEXT is refused: nobody should believe in protection that is not there.
- A host and port given by themselves go before `listeners`.
- Clients are told the listening host, or 127.0.0.1 where every interface is listened on: an address that works on this
  machine. For other machines `advertised.listeners` says which name they know it by.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from kafkawire.broker.configs import BrokerConfig

PLAINTEXT: Final = "PLAINTEXT"
DEFAULT_HOST: Final = "127.0.0.1"
EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})
_LISTENER: Final = re.compile(r"(?P<name>[A-Za-z0-9_]+)://(?:\[(?P<six>[^\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]+)")


class CannotListenError(KafkaWireError):
    """An address where nothing can be listened on, and what to do about it."""

    def __init__(self, host: str, port: int, error: OSError) -> None:
        words = {
            errno.EADDRINUSE: "another process listens there; stop it, or choose another port (0 is any free one)",
            errno.EADDRNOTAVAIL: "the host is no address of this machine",
            errno.EACCES: "ports below 1024 need more rights; choose a higher one",
        }
        super().__init__(f"cannot listen on {host}:{port}: {words.get(error.errno or 0, error.strerror or error)}")


def parse_listener(config: BrokerConfig, name: str) -> tuple[str, int]:
    """Host and port of the first listener in a setting.

    >>> from kafkawire.broker.configs import BrokerConfig
    >>> parse_listener(BrokerConfig({"listeners": "CONTROLLER://:9093,PLAINTEXT://localhost:9092"}), "listeners")
    ('localhost', 9092)
    """
    texts = [text.strip() for text in config.text(name).split(",")]
    controllers = {text.strip() for text in config.text("controller.listener.names").split(",")}
    first = next((text for text in texts if text.partition(":")[0] not in controllers), texts[0])
    match = _LISTENER.fullmatch(first)
    if match is None or int(match["port"]) > 65535:
        raise InvalidConfigError(f"{name}: expected NAME://host:port, found {first!r}")
    pairs = (pair.partition(":") for pair in config.text("listener.security.protocol.map").split(","))
    protocols = {listener.strip(): protocol.strip() for listener, _, protocol in pairs}
    protocol = protocols.get(match["name"], match["name"])
    if protocol != PLAINTEXT:
        raise InvalidConfigError(f"{name}: {first} means {protocol}, and only {PLAINTEXT} is served")
    return match["six"] or match["host"] or "", int(match["port"])


def listening(config: BrokerConfig, host: str | None, port: int | None) -> tuple[str, int]:
    """Where to listen: what was given by itself, else `listeners`, else Kafka's port on this machine alone."""
    if "listeners" not in config.given:
        return DEFAULT_HOST if host is None else host, 9092 if port is None else port
    set_host, set_port = parse_listener(config, "listeners")
    return set_host if host is None else host, port if port else set_port


def advertised(config: BrokerConfig, host: str, port: int) -> tuple[str, int]:
    """Where clients are told to connect."""
    if config.text("advertised.listeners"):
        named, named_port = parse_listener(config, "advertised.listeners")
        return named or DEFAULT_HOST, named_port or port
    return (DEFAULT_HOST if host in EVERYWHERE else host), port
