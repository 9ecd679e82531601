"""A secured broker for tests: certificates, users, access control, and the settings of its clients.

Rules:
- The authority of a process is made once. Each broker gets a certificate of its own for localhost and 127.0.0.1.
- With SASL and without users there is one, `test`, with the password `test-secret`. With SSL alone clients need no
  certificate, unless there are users: then each has one, which names it.
- With `acls` users may do only what these say. Calls of the fixture, such as `create_topic`, need no permission.
- `client_settings` has the settings of each library, in its own words.
"""

from __future__ import annotations

import ssl
import tempfile
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import finalize

from kafkawire.broker import DevelopmentAuthority
from kafkawire.testing._acl_lines import parse_acls

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.wire.acls import Acl

PROTOCOLS: Final = ("SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
LIBRARIES: Final = ("confluent-kafka", "kafkawire", "kafka-python", "aiokafka", "java")
DEFAULT_USERS: Final = {"test": "test-secret"}
AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
_HOSTS: Final = ("localhost", "127.0.0.1")
_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM-SHA-256": "org.apache.kafka.common.security.scram.ScramLoginModule",
    "SCRAM-SHA-512": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Security(NamedTuple):
    """The settings of a broker, its users and its access control entries."""

    protocol: str
    settings: dict[str, str]
    users: Mapping[str, str]
    directory: Path | None
    acls: list[Acl]

    @property
    def scram_users(self) -> Mapping[str, str]:
        """The users that log in with a password."""
        return self.users if self.protocol.startswith("SASL") else {}

    def client_settings(self, library: str, bootstrap: str, user: str | None, mechanism: str) -> dict[str, Any]:
        """The settings of a client, as its library calls them."""
        library = _chosen("library", library, LIBRARIES)
        mechanism = _chosen("mechanism", mechanism, MECHANISMS)
        name = next(iter(self.users), None) if user is None else _chosen("user", user, [*self.users])
        certificate = "" if name is None or self.protocol != "SSL" else str(self._file(f"{name}.pem"))
        authority = str(self._file("ca.pem")) if self.protocol.endswith("SSL") else ""
        login = (mechanism, name or "", self.users[name]) if name and self.protocol.startswith("SASL") else None
        if library == "java":
            return _java(bootstrap, self.protocol, authority, certificate, login)
        if library in ("confluent-kafka", "kafkawire"):
            return _librdkafka(bootstrap, self.protocol, authority, certificate, login)
        return _python(bootstrap, self.protocol, authority, certificate, login, has_context=library == "aiokafka")

    def _file(self, name: str) -> Path:
        assert self.directory is not None
        return self.directory / name


Login = tuple[str, str, str]


def secured(
    owner: object, protocol: str | None, users: Mapping[str, str] | None, acls: str | Iterable[str] | None = None
) -> Security:
    """The security of a broker; its files are removed with `owner`."""
    if protocol is not None and protocol not in PROTOCOLS:
        raise ValueError(f"security: expected one of {', '.join(PROTOCOLS)}, found {protocol!r}")
    if protocol is None and users:
        raise ValueError(f"users need security, one of {', '.join(PROTOCOLS)}")
    known: Mapping[str, str] = users or (DEFAULT_USERS if protocol and protocol.startswith("SASL") else {})
    settings: dict[str, str] = {}
    directory = None
    if protocol is not None:
        settings["listeners"] = f"{protocol}://127.0.0.1:0"
        prefix = f"listener.name.{protocol.lower()}."
        if protocol.endswith("SSL"):
            place = tempfile.TemporaryDirectory(prefix="kafkawire-")
            finalize(owner, place.cleanup)
            directory = Path(place.name)
            settings |= _tls_settings(prefix, directory)
        if protocol == "SSL" and known:
            settings |= _certificate_settings(prefix, directory, known)
        if protocol.startswith("SASL"):
            listed = " ".join(f"user_{each}={_quoted(word)}" for each, word in known.items())
            settings |= {
                "sasl.enabled.mechanisms": ",".join(MECHANISMS),
                f"{prefix}plain.sasl.jaas.config": f"PlainLoginModule required {listed};",
            }
    entries = []
    if acls is not None:
        settings["authorizer.class.name"] = AUTHORIZER
        entries = parse_acls(acls, known.keys() or None)
    return Security(protocol or "PLAINTEXT", settings, known, directory, entries)


def _tls_settings(prefix: str, directory: Path) -> dict[str, str]:
    issued = _authority().issue("localhost", _HOSTS)
    (directory / "ca.pem").write_text(_authority().certificate, encoding="ascii")
    return {
        f"{prefix}ssl.keystore.type": "PEM",
        f"{prefix}ssl.keystore.key": issued.key,
        f"{prefix}ssl.keystore.certificate.chain": issued.certificate,
        f"{prefix}ssl.truststore.type": "PEM",
        f"{prefix}ssl.truststore.certificates": _authority().certificate,
    }


def _certificate_settings(prefix: str, directory: Path | None, users: Iterable[str]) -> dict[str, str]:
    assert directory is not None
    for name in users:
        (directory / f"{name}.pem").write_text(_authority().issue(name).both, encoding="ascii")
    return {f"{prefix}ssl.client.auth": "required", "ssl.principal.mapping.rules": "RULE:^CN=(.*)$/$1/"}


def _librdkafka(bootstrap: str, protocol: str, authority: str, certificate: str, login: Login | None) -> dict[str, Any]:
    found = {"bootstrap.servers": bootstrap, "security.protocol": protocol}
    if authority:
        found["ssl.ca.location"] = authority
    if certificate:
        found |= {"ssl.certificate.location": certificate, "ssl.key.location": certificate}
    if login is not None:
        found |= dict(zip(("sasl.mechanism", "sasl.username", "sasl.password"), login, strict=True))
    return found


def _java(bootstrap: str, protocol: str, authority: str, certificate: str, login: Login | None) -> dict[str, Any]:
    found = {"bootstrap.servers": bootstrap, "security.protocol": protocol}
    if authority:
        found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority}
    if certificate:
        found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": certificate}
    if login is not None:
        mechanism, name, password = login
        options = f"username={_quoted(name)} password={_quoted(password)}"
        found |= {"sasl.mechanism": mechanism, "sasl.jaas.config": f"{_MODULES[mechanism]} required {options};"}
    return found


def _python(
    bootstrap: str, protocol: str, authority: str, certificate: str, login: Login | None, *, has_context: bool
) -> dict[str, Any]:
    found: dict[str, Any] = {"bootstrap_servers": bootstrap, "security_protocol": protocol}
    if authority and has_context:
        found["ssl_context"] = context = ssl.create_default_context(cafile=authority)
        if certificate:
            context.load_cert_chain(certificate)
    elif authority:
        found["ssl_cafile"] = authority
        if certificate:
            found |= {"ssl_certfile": certificate, "ssl_keyfile": certificate}
    if login is not None:
        found |= dict(zip(("sasl_mechanism", "sasl_plain_username", "sasl_plain_password"), login, strict=True))
    return found


def _chosen(what: str, given: str, known: Iterable[str]) -> str:
    names = [*known]
    if given not in names:
        close = get_close_matches(given, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f", expected one of {', '.join(names) or 'none'}"
        raise ValueError(f"no {what} {given!r}{hint}")
    return given


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


@cache
def _authority() -> DevelopmentAuthority:
    return DevelopmentAuthority.create()
