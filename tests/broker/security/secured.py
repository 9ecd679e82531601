"""Brokers with TLS listeners, and sockets to them."""

from __future__ import annotations

import socket
import ssl
from functools import cache
from typing import TYPE_CHECKING, Any

from tests.broker.raw_connection import Peer

from kafkawire.broker._security.development_certificates import DevelopmentAuthority

if TYPE_CHECKING:
    from pathlib import Path

    from kafkawire.testing import RunningBroker

HOSTS = ("localhost", "127.0.0.1")


@cache
def authority() -> DevelopmentAuthority:
    """The authority of all tests of this process."""
    return DevelopmentAuthority.create()


def tls_settings(directory: Path, protocol: str = "SSL", **more: str) -> dict[str, str]:
    """The settings of a broker with one listener with TLS; its certificate is in `server.pem`."""
    (directory / "server.pem").write_text(authority().issue("broker", HOSTS).both)
    (directory / "ca.pem").write_text(authority().certificate)
    return {
        "listeners": f"{protocol}://127.0.0.1:0",
        "ssl.keystore.location": str(directory / "server.pem"),
        "ssl.truststore.location": str(directory / "ca.pem"),
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def trusting(directory: Path, certificate: str = "") -> ssl.SSLContext:
    """The context of a client that trusts the authority; `certificate` is the key and certificate that it presents."""
    context = ssl.create_default_context(cadata=authority().certificate)
    if certificate:
        file = directory / "client.pem"
        file.write_text(certificate)
        context.load_cert_chain(file)
    return context


class TlsPeer(Peer):
    """A TLS socket that sends only on demand."""

    def __init__(self, broker: RunningBroker, context: ssl.SSLContext, timeout: float = 60.0) -> None:
        super().__init__(broker, timeout)
        plain = self.socket
        try:
            self.socket = context.wrap_socket(plain, server_hostname="127.0.0.1")
        except BaseException:
            plain.close()
            raise

    def peer_certificate(self) -> Any:
        assert isinstance(self.socket, ssl.SSLSocket)
        return self.socket.getpeercert()


def plain_socket(broker: RunningBroker) -> socket.socket:
    host, _, port = broker.bootstrap_servers.rpartition(":")
    return socket.create_connection((host, int(port)), 60)


def principals(broker: RunningBroker) -> set[str]:
    """The principals of the connections of a broker."""
    return {str(each.peer.principal) for each in broker.call(lambda: list(broker.broker.server.connections))}
