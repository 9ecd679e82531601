"""A secured broker for tests: certificates, users, and the settings of its clients.

Rules:
- The authority of a process is made once. Each broker gets a certificate of its own for localhost and 127.0.0.1.
- Without users there is one, `test`, with the password `test-secret`. With SSL alone clients need no certificate.
- `client_config` has names that kafkawire and librdkafka both know.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import finalize

from kafkawire.broker import DevelopmentAuthority

if TYPE_CHECKING:
    from collections.abc import Mapping

PROTOCOLS: Final = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
DEFAULT_USERS: Final = {"test": "test-secret"}
_HOSTS: Final = ("localhost", "127.0.0.1")


class Security(NamedTuple):
    """The settings of a secured broker, its users, and the settings of its clients without their address."""

    settings: dict[str, str]
    users: Mapping[str, str]
    client: dict[str, str]


def secured(owner: object, protocol: str, users: Mapping[str, str] | None) -> Security:
    """The security of a broker; its files are removed with `owner`."""
    if protocol not in PROTOCOLS:
        raise ValueError(f"security: expected one of {', '.join(PROTOCOLS)}, found {protocol!r}")
    settings = {"listeners": f"{protocol}://127.0.0.1:0"}
    client = {"security.protocol": protocol}
    known: Mapping[str, str] = {}
    prefix = f"listener.name.{protocol.lower()}."
    if protocol.endswith("SSL"):
        place = tempfile.TemporaryDirectory(prefix="kafkawire-")
        finalize(owner, place.cleanup)
        directory = Path(place.name)
        issued = _authority().issue("localhost", _HOSTS)
        (directory / "ca.pem").write_text(_authority().certificate, encoding="ascii")
        settings |= {
            f"{prefix}ssl.keystore.type": "PEM",
            f"{prefix}ssl.keystore.key": issued.key,
            f"{prefix}ssl.keystore.certificate.chain": issued.certificate,
            f"{prefix}ssl.truststore.type": "PEM",
            f"{prefix}ssl.truststore.certificates": _authority().certificate,
        }
        client["ssl.ca.location"] = str(directory / "ca.pem")
    if protocol.startswith("SASL"):
        known = users or DEFAULT_USERS
        name, password = next(iter(known.items()))
        listed = " ".join(f'user_{each}="{_quoted(word)}"' for each, word in known.items())
        settings |= {
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            f"{prefix}plain.sasl.jaas.config": f"PlainLoginModule required {listed};",
        }
        client |= {"sasl.mechanism": "SCRAM-SHA-512", "sasl.username": name, "sasl.password": password}
    return Security(settings, known, client)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


@cache
def _authority() -> DevelopmentAuthority:
    return DevelopmentAuthority.create()
