"""Apache Kafka and our broker, alike: a plain listener, one with SASL, users, ACLs, and delegation tokens.

Rules:
- ann, bob, cleo and root have PLAIN passwords; root is a super user, and so is the anonymous client of the plain
  listener.
- Both have the same secret key, so that a token has the same password at both.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from tests.interop.apache_kafka import ApacheBroker, ApacheKafka
from tests.interop.our_broker import OurBroker

from kafkawire.broker._acls.authorizer import STANDARD
from kafkawire.testing._running import claim_port

if TYPE_CHECKING:
    from pathlib import Path

USERS: Final = ("ann", "bob", "cleo", "root")
_MODULES: Final = "org.apache.kafka.common.security"
_PLAIN: Final = " ".join(f'user_{name}="{name}-secret"' for name in USERS)
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SETTINGS: Final = {
    "sasl.enabled.mechanisms": ",".join(MECHANISMS),
    "listener.name.sasl_plaintext.plain.sasl.jaas.config": f"{_MODULES}.plain.PlainLoginModule required {_PLAIN};",
    **{
        f"listener.name.sasl_plaintext.{name.lower()}.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;"
        for name in MECHANISMS[1:]
    },
    "authorizer.class.name": STANDARD,
    "super.users": "User:ANONYMOUS;User:root",
    "delegation.token.secret.key": "the-secret-key",
    "delegation.token.expiry.check.interval.ms": "600000",
}


class SaslListener:
    """The listener with SASL of a broker."""

    def __init__(self, broker: TokenKafka | TokenBroker, address: str) -> None:
        self.broker = broker
        self.bootstrap_servers = address

    def options(self, user: str, mechanism: str = "PLAIN", password: str | None = None) -> dict[str, Any]:
        """The options of our client as a user."""
        return {
            "bootstrap_servers": self.bootstrap_servers,
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": mechanism,
            "sasl_plain_username": user,
            "sasl_plain_password": f"{user}-secret" if password is None else password,
        }


def java_login(user: str, password: str, mechanism: str, *more: str) -> str:
    """The properties of a Java client that logs in."""
    module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
    options = " ".join((f'username="{user}"', f'password="{password}"', *more))
    return (
        f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n"
        f"sasl.jaas.config={_MODULES}.{module} required {options};\n"
    )


class TokenKafka(ApacheBroker):
    """Apache Kafka."""

    def __init__(self, kafka: ApacheKafka, directory: Path, **settings: str) -> None:
        super().__init__(kafka, directory, settings=SETTINGS)
        text = self._properties.read_text()
        port = claim_port(self)
        names = ("PLAINTEXT", "SASL_PLAINTEXT")
        protocols = ",".join(f"{name}:{name}" for name in names) + ",CONTROLLER:PLAINTEXT"
        text = text.replace(",CONTROLLER://", f",SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://")
        text += f"listener.security.protocol.map={protocols}\n"
        text += "".join(f"{name.replace('_', '.')}={value}\n" for name, value in settings.items())
        self._properties.write_text(text)
        self.sasl = SaslListener(self, f"127.0.0.1:{port}")


class TokenBroker(OurBroker):
    """Our broker."""

    def __init__(self, directory: Path, **settings: str) -> None:
        more = {name.replace("_", "."): value for name, value in settings.items()}
        super().__init__(
            directory, {**SETTINGS, "listeners": "PLAINTEXT://127.0.0.1:0,SASL_PLAINTEXT://127.0.0.1:0"} | more
        )

    @property
    def sasl(self) -> SaslListener:
        """The listener with SASL."""
        return SaslListener(self, str(self.broker.node.endpoints["SASL_PLAINTEXT"]))
