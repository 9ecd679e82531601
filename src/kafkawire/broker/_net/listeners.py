"""The listeners of the broker, and the addresses that it advertises.

Rules:
- `listeners` and `advertised.listeners` are Kafka's: NAME://host:port, separated by commas. Those of a controller are
  ignored. The protocol of a listener is that of its name in `listener.security.protocol.map`. A map that is given
  replaces the default one. A listener that is not in it is refused. Names are in upper case.
- A host and a port that are given separately override those of the first listener.
- A client gets the advertised address of the listener that it connected to. A broker has different names inside and
  outside of a network of containers.
- Without `advertised.listeners` the listening host is advertised, or 127.0.0.1 if the broker listens on all interfaces.
  That address works on this machine.
"""

from __future__ import annotations

import errno
import re
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._security.peer import SecurityProtocol
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from kafkawire.broker._config.settings import BrokerConfig

PLAINTEXT: Final = "PLAINTEXT"
DEFAULT_HOST: Final = "127.0.0.1"
DEFAULT_PORT: Final = 9092
EVERYWHERE: Final = frozenset({"", "0.0.0.0", "::"})
_LISTENER: Final = re.compile(r"(?P<name>[A-Za-z0-9_]+)://(?:\[(?P<six>[^\]]*)\]|(?P<host>[^:\[\]]*)):(?P<port>[0-9]+)")


class Endpoint(NamedTuple):
    """A host and a port.

    >>> str(Endpoint("localhost", 9092)), str(Endpoint("::1", 9092))
    ('localhost:9092', '[::1]:9092')
    """

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


class CannotListenError(KafkaWireError):
    """An address where nothing can be listened on, and what to do about it."""

    def __init__(self, place: Endpoint, error: OSError) -> None:
        words = {
            errno.EADDRINUSE: "another process listens there; stop it, or choose another port (0 is any free one)",
            errno.EADDRNOTAVAIL: "the host is not an address of this machine",
            errno.EACCES: "ports below 1024 need more rights; choose a higher one",
        }
        super().__init__(f"cannot listen on {place}: {words.get(error.errno or 0, error.strerror or error)}")


def parse_listeners(config: BrokerConfig, name: str) -> dict[str, Endpoint]:
    """The listeners in a setting, by name.

    >>> from kafkawire.broker._config.settings import BrokerConfig
    >>> parse_listeners(BrokerConfig({"listeners": "CONTROLLER://:9093,PLAINTEXT://localhost:9092"}), "listeners")
    {'PLAINTEXT': Endpoint(host='localhost', port=9092)}
    """
    controllers = {text.strip().upper() for text in config.text("controller.listener.names").split(",")}
    known = protocols(config)
    found: dict[str, Endpoint] = {}
    for text in filter(None, (text.strip() for text in config.text(name).split(","))):
        match = _LISTENER.fullmatch(text)
        if match is None or int(match["port"]) > 65535:
            raise InvalidConfigError(f"{name}: expected NAME://host:port, found {text!r}")
        listener = match["name"].upper()
        if listener in controllers:
            continue
        if listener not in known:
            listed = ", ".join(known)
            raise InvalidConfigError(f"{name}: {listener} is not in listener.security.protocol.map, which has {listed}")
        if listener in found:
            raise InvalidConfigError(f"{name}: {listener} occurs more than once; give each listener a name of its own")
        found[listener] = Endpoint(match["six"] or match["host"] or "", int(match["port"]))
    return found


def protocols(config: BrokerConfig) -> dict[str, SecurityProtocol]:
    """The security protocol of each listener name.

    >>> from kafkawire.broker._config.settings import BrokerConfig
    >>> protocols(BrokerConfig({"listener.security.protocol.map": "OUT:sasl_ssl"}))
    {'OUT': <SecurityProtocol.SASL_SSL: 'SASL_SSL'>}
    """
    setting = "listener.security.protocol.map"
    found = {}
    for pair in filter(None, (pair.strip() for pair in config.text(setting).split(","))):
        listener, _, protocol = pair.rpartition(":")
        if not listener or protocol.strip().upper() not in SecurityProtocol.__members__:
            expected = ", ".join(SecurityProtocol.__members__)
            raise InvalidConfigError(f"{setting}: expected NAME:PROTOCOL, where PROTOCOL is {expected}; found {pair!r}")
        found[listener.strip().upper()] = SecurityProtocol[protocol.strip().upper()]
    return found


def listening(config: BrokerConfig, host: str | None, port: int | None) -> dict[str, Endpoint]:
    """The listeners: `host` and `port` if given, else those of `listeners`, else any free port of 127.0.0.1."""
    found = parse_listeners(config, "listeners") if "listeners" in config.given else {}
    found = found or {PLAINTEXT: Endpoint(DEFAULT_HOST, 0)}
    first, place = next(iter(found.items()))
    found[first] = Endpoint(place.host if host is None else host, place.port if port is None else port)
    return found


def advertised(config: BrokerConfig, places: dict[str, Endpoint]) -> dict[str, Endpoint]:
    """The advertised address of each listener; `places` are the addresses that they listen on."""
    named = parse_listeners(config, "advertised.listeners")
    for name, place in named.items():
        if name not in places:
            raise InvalidConfigError(f"advertised.listeners: {name} is none of the listeners {', '.join(places)}")
        if place.host in ("0.0.0.0", "::"):
            raise InvalidConfigError(f"advertised.listeners: no client can connect to {place.host}; name an address")
    return {
        name: Endpoint(
            named[name].host if name in named and named[name].host else _reachable(place.host),
            named[name].port if name in named and named[name].port else place.port,
        )
        for name, place in places.items()
    }


def _reachable(host: str) -> str:
    return DEFAULT_HOST if host in EVERYWHERE else host
