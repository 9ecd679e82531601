"""`serve --secure`: a development authority, a server certificate, one SCRAM user, and the settings for clients.

Rules:
- All of it is in one directory: ca.pem, ca-key.pem, server.pem, client.properties and librdkafka.conf. Private files
  are readable only by their owner. Files that exist are used again, so that clients stay connected over restarts.
- The certificate is valid for localhost, the name of the machine, the listening host and the advertised hosts. It is
  issued again when one of them is missing, or when it expires within a month.
- The user is `admin`, with a random password, for SCRAM-SHA-512.
- This is for development. The key of the authority lies beside the certificates.
"""

from __future__ import annotations

import re
import secrets
import socket
import ssl
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker._net.listeners import parse_listeners
from kafkawire.broker._security.development_certificates import CA_FILE, DevelopmentAuthority, write_private
from kafkawire.broker._security.x509 import CertificateError, read_certificate
from kafkawire.messages.errors import InvalidConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from kafkawire.broker._config.settings import BrokerConfig

LISTENER: Final = "SASL_SSL"
MECHANISM: Final = "SCRAM-SHA-512"
USER: Final = "admin"
SERVER_FILE: Final = "server.pem"
CLIENT_FILE: Final = "client.properties"
LIBRDKAFKA_FILE: Final = "librdkafka.conf"
_SOON: Final = timedelta(days=30)
_PASSWORD: Final = re.compile(r'password="([^"\\]+)"')


class SecureStart(NamedTuple):
    """The settings of a secured broker, its user, and the file with the settings of clients."""

    settings: Mapping[str, str]
    users: Mapping[str, str]
    directory: Path

    def write_client_files(self, bootstrap: str) -> tuple[Path, Path]:
        """Write the settings of a Java client and of kafkawire, and those of librdkafka for `kcat -F`."""
        other = self.directory / LIBRDKAFKA_FILE
        write_private(other, "".join(f"{name}={value}\n" for name, value in self.librdkafka(bootstrap).items()))
        path = self.directory / CLIENT_FILE
        write_private(
            path, "".join(f"{name}={value}\n" for name, value in self.java(bootstrap).items()).replace("\\", "\\\\")
        )
        return path, other

    def java(self, bootstrap: str) -> dict[str, str]:
        """The settings of a Java client."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "bootstrap.servers": bootstrap,
            "security.protocol": LISTENER,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str((self.directory / CA_FILE).absolute()),
            "sasl.mechanism": MECHANISM,
            "sasl.jaas.config": f'{module} required username="{USER}" password="{self.users[USER]}";',
        }

    def librdkafka(self, bootstrap: str) -> dict[str, str]:
        """The settings of librdkafka and its clients, and of kafkawire."""
        return {
            "bootstrap.servers": bootstrap,
            "security.protocol": LISTENER,
            "ssl.ca.location": str((self.directory / CA_FILE).absolute()),
            "sasl.mechanism": MECHANISM,
            "sasl.username": USER,
            "sasl.password": self.users[USER],
        }


def secure_start(directory: Path, config: BrokerConfig, host: str | None) -> SecureStart:
    """Write what is missing in a directory; returns what a broker needs to use it."""
    if "listeners" in config.given:
        raise InvalidConfigError(
            "--secure: makes the listener SASL_SSL itself, but listeners is set; use --host and --port"
        )
    authority = DevelopmentAuthority.of(directory)
    named = (place.host for place in parse_listeners(config, "advertised.listeners").values())
    hosts = ["localhost", "127.0.0.1", "::1", socket.gethostname(), *named]
    hosts += [host] if host and host not in ("0.0.0.0", "::") else []
    server = directory / SERVER_FILE
    if not _is_usable(server, hosts):
        write_private(server, authority.issue("kafkawire", hosts).both + authority.certificate)
    address = f"[{host}]" if host and ":" in host else host or "127.0.0.1"
    settings = {
        "listeners": f"{LISTENER}://{address}:0",
        "sasl.enabled.mechanisms": MECHANISM,
        f"listener.name.{LISTENER.lower()}.ssl.keystore.type": "PEM",
        f"listener.name.{LISTENER.lower()}.ssl.keystore.location": str(server),
    }
    return SecureStart({**settings, **config.given, "listeners": settings["listeners"]}, _users(directory), directory)


def _is_usable(path: Path, hosts: list[str]) -> bool:
    try:
        text = path.read_text(encoding="ascii")
        start = text.index("-----BEGIN CERTIFICATE-----")
        end = text.index("-----END CERTIFICATE-----", start) + len("-----END CERTIFICATE-----\n")
        found = read_certificate(ssl.PEM_cert_to_DER_cert(text[start:end]))
    except (OSError, ValueError, CertificateError):
        return False
    names = {name.partition(":")[2] for name in found.alternative_names}
    return set(hosts) <= names and found.expires > datetime.now(UTC) + _SOON


def _users(directory: Path) -> dict[str, str]:
    try:
        found = _PASSWORD.search((directory / CLIENT_FILE).read_text(encoding="utf-8"))
    except OSError:
        found = None
    return {USER: found[1] if found else secrets.token_urlsafe(18)}
