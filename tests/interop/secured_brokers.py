"""Our broker and Apache Kafka with the same properties: a listener for each way to get in, and settings of clients.

Rules:
- Both brokers read the same settings, but for the names that only a controller has.
- A `Login` says how somebody gets in. Its settings are written once per client: Java's, librdkafka's and kafkawire's.
- Tokens come from an endpoint of this process. The client id chooses what token it issues.
- The user of PLAIN, SCRAM and tokens is `ann`; each broker has an authority of certificates of its own.
"""

from __future__ import annotations

import base64
import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from cryptography.hazmat.primitives.asymmetric import rsa
from tests.broker.security.tokens import GOOD, claims, jwks, signed, unsecured
from tests.interop.apache_kafka import HEAP, ApacheBroker
from tests.interop.our_broker import OurBroker

from kafkawire.broker._security.development_certificates import DevelopmentAuthority
from kafkawire.broker._security.oauth_exchange import UNSECURED
from kafkawire.client.blocking import Admin
from kafkawire.testing._running import claim_port

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

SECURITY: Final = "org.apache.kafka.common.security"
UNSECURED_LOGIN: Final = f"{SECURITY}.oauthbearer.internals.unsecured.OAuthBearerUnsecuredLoginCallbackHandler"
ALLOWED: Final = "org.apache.kafka.sasl.oauthbearer.allowed"
USER, PASSWORD = "ann", 'wide "open" \\ secret'
SCRAM: Final = ("SCRAM-SHA-256", "SCRAM-SHA-512")
MECHANISMS: Final = ("PLAIN", *SCRAM, "OAUTHBEARER")
PROTOCOLS: Final = {
    "PLAINTEXT": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "MISNAMED": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SASLTLS": "SASL_SSL",
    "UNSIGNED": "SASL_PLAINTEXT",
    "SHORT": "SASL_PLAINTEXT",
}
"""The listeners. MUTUAL needs certificates of clients, MISNAMED has the certificate of another host, UNSIGNED takes
tokens without a signature, and sessions of SHORT last two seconds."""
STRANGER_KEY: Final = rsa.generate_private_key(65537, 2048)


class Login(NamedTuple):
    """One way to get in."""

    listener: str
    mechanism: str = ""
    user: str = USER
    password: str = PASSWORD
    authority: str = "ca.pem"
    certificate: str = ""

    @property
    def protocol(self) -> str:
        return PROTOCOLS[self.listener]


GOOD_LOGINS: Final = {
    "PLAINTEXT": Login("PLAINTEXT"),
    "SSL": Login("TLS"),
    "SSL with a certificate": Login("MUTUAL", certificate="ann.pem"),
    **{f"{mechanism} in plaintext": Login("SASL", mechanism) for mechanism in MECHANISMS},
    **{f"{mechanism} over TLS": Login("SASLTLS", mechanism) for mechanism in MECHANISMS},
    "OAUTHBEARER without signatures": Login("UNSIGNED", "OAUTHBEARER", "unsigned"),
}
WRONG_PASSWORDS: Final = {
    f"{mechanism} with {what}": Login("SASL", mechanism, **change)
    for mechanism in MECHANISMS[:-1]
    for what, change in (("a wrong password", {"password": "guessed"}), ("an unknown user", {"user": "bob"}))
}
WRONG_TOKENS: Final = {
    "an expired token": Login("SASL", "OAUTHBEARER", "late"),
    "the token of a stranger": Login("SASL", "OAUTHBEARER", "stranger"),
    "a token for others": Login("SASL", "OAUTHBEARER", "others"),
    "a token without a signature": Login("SASL", "OAUTHBEARER", "unsigned"),
    "a mechanism that is off": Login("UNSIGNED", "SCRAM-SHA-512"),
}
WRONG_CERTIFICATES: Final = {
    "another authority": Login("TLS", authority="other-ca.pem"),
    "another host": Login("MISNAMED"),
    "no certificate": Login("MUTUAL"),
    "the certificate of another authority": Login("MUTUAL", certificate="stranger.pem"),
}
WRONG_LOGINS: Final = {**WRONG_PASSWORDS, **WRONG_TOKENS, **WRONG_CERTIFICATES}


class SecuredPlace:
    """The files, the token endpoint and the listeners of one broker."""

    def __init__(self, directory: Path, endpoint: str) -> None:
        self.directory = directory
        self.endpoint = endpoint
        self.ports = {name: claim_port(self) for name in (*PROTOCOLS, "CONTROLLER")}
        authority, other = DevelopmentAuthority.create(), DevelopmentAuthority.create()
        server, hosts = authority.issue("broker", ("localhost", "127.0.0.1")), ("elsewhere.example",)
        for name, text in {
            "ca.pem": authority.certificate,
            "other-ca.pem": other.certificate,
            "server.pem": server.both,
            "misnamed.pem": authority.issue("broker", hosts).both,
            "ann.pem": authority.issue("ann", hosts).both,
            "stranger.pem": other.issue("ann", hosts).both,
            "jwks.json": json.dumps(jwks()),
        }.items():
            (directory / name).write_text(text)

    def bootstrap(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def settings(self) -> dict[str, str]:
        """The settings of the broker."""
        found = {
            "listeners": ",".join(f"{name}://{self.bootstrap(name)}" for name in PROTOCOLS),
            "listener.security.protocol.map": ",".join(f"{name}:{kind}" for name, kind in PROTOCOLS.items()),
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": str(self.directory / "server.pem"),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.directory / "ca.pem"),
            "listener.name.mutual.ssl.client.auth": "required",
            "listener.name.misnamed.ssl.keystore.location": str(self.directory / "misnamed.pem"),
            "sasl.enabled.mechanisms": ",".join(MECHANISMS),
            "listener.name.unsigned.sasl.enabled.mechanisms": "OAUTHBEARER",
            "connection.failed.authentication.delay.ms": "20",
        }
        for listener in ("sasl", "sasltls", "short"):
            prefix = f"listener.name.{listener}"
            users = f"user_{USER}={quoted(PASSWORD)}"
            found[f"{prefix}.plain.sasl.jaas.config"] = f"{SECURITY}.plain.PlainLoginModule required {users};"
            for mechanism in SCRAM:
                name = f"{prefix}.{mechanism.lower()}.sasl.jaas.config"
                found[name] = f"{SECURITY}.scram.ScramLoginModule required;"
            found |= {
                f"{prefix}.oauthbearer.sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required;",
                f"{prefix}.oauthbearer.sasl.server.callback.handler.class": (
                    f"{SECURITY}.oauthbearer.OAuthBearerValidatorCallbackHandler"
                ),
                f"{prefix}.oauthbearer.sasl.oauthbearer.jwks.endpoint.url": (self.directory / "jwks.json").as_uri(),
                f"{prefix}.oauthbearer.sasl.oauthbearer.expected.audience": GOOD["aud"],
                f"{prefix}.oauthbearer.sasl.oauthbearer.expected.issuer": GOOD["iss"],
                f"{prefix}.oauthbearer.sasl.oauthbearer.clock.skew.seconds": "0",
            }
        unsigned = "listener.name.unsigned.oauthbearer.sasl"
        module = f'{SECURITY}.oauthbearer.OAuthBearerLoginModule required unsecuredLoginStringClaim_sub="broker";'
        return found | {
            f"{unsigned}.jaas.config": module,
            f"{unsigned}.server.callback.handler.class": UNSECURED,
            "listener.name.short.connections.max.reauth.ms": "2000",
        }

    def java(self, login: Login) -> dict[str, str]:
        """The settings of a Java client, which `kafkawire -F` reads too."""
        found = {"bootstrap.servers": self.bootstrap(login.listener), "security.protocol": login.protocol}
        if login.protocol.endswith("SSL"):
            found |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": str(self.directory / login.authority)}
        if login.certificate:
            found |= {"ssl.keystore.type": "PEM", "ssl.keystore.location": str(self.directory / login.certificate)}
        if login.mechanism == "OAUTHBEARER" and login.user == "unsigned":
            claim = f'unsecuredLoginStringClaim_sub="{login.user}"'
            found |= {
                "sasl.login.callback.handler.class": UNSECURED_LOGIN,
                "sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required {claim};",
            }
        elif login.mechanism == "OAUTHBEARER":
            options = f'clientId="{login.user}" clientSecret="app-secret"'
            found |= {
                "sasl.login.callback.handler.class": f"{SECURITY}.oauthbearer.OAuthBearerLoginCallbackHandler",
                "sasl.jaas.config": f"{SECURITY}.oauthbearer.OAuthBearerLoginModule required {options};",
                "sasl.oauthbearer.token.endpoint.url": self.endpoint,
                "sasl.login.refresh.min.period.seconds": "0",
                "sasl.login.refresh.buffer.seconds": "0",
            }
        elif login.mechanism:
            module = "plain.Plain" if login.mechanism == "PLAIN" else "scram.Scram"
            options = f"username={quoted(login.user)} password={quoted(login.password)}"
            found["sasl.jaas.config"] = f"{SECURITY}.{module}LoginModule required {options};"
        return found | ({"sasl.mechanism": login.mechanism} if login.mechanism else {})

    def librdkafka(self, login: Login) -> dict[str, str]:
        """The settings of librdkafka and its clients, which `kafkawire -X` reads too."""
        found = {"bootstrap.servers": self.bootstrap(login.listener), "security.protocol": login.protocol}
        if login.protocol.endswith("SSL"):
            found["ssl.ca.location"] = str(self.directory / login.authority)
        if login.certificate:
            file = str(self.directory / login.certificate)
            found |= {"ssl.certificate.location": file, "ssl.key.location": file}
        if login.mechanism == "OAUTHBEARER":
            found |= {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": login.user,
                "sasl.oauthbearer.client.secret": "app-secret",
                "sasl.oauthbearer.token.endpoint.url": self.endpoint,
            }
        elif login.mechanism:
            found |= {"sasl.username": login.user, "sasl.password": login.password}
        return found | ({"sasl.mechanism": login.mechanism} if login.mechanism else {})

    def add_users(self) -> None:
        """Create the credentials of SCRAM."""
        with Admin(bootstrap_servers=self.bootstrap("PLAINTEXT")) as admin:
            for mechanism in SCRAM:
                admin.set_user(USER, PASSWORD, mechanism=mechanism)


class SecuredKafka(ApacheBroker):
    """Apache Kafka with all listeners."""

    def __init__(self, kafka: ApacheKafka, place: SecuredPlace) -> None:
        super().__init__(kafka, place.directory, settings=kafka_settings(place), virtual_machine=machine(place))
        self.bootstrap = place.bootstrap("PLAINTEXT")
        self.place = place


class SecuredBroker(OurBroker):
    """Our broker with all listeners."""

    def __init__(self, place: SecuredPlace) -> None:
        super().__init__(place.directory, place.settings())
        self.place = place


def kafka_settings(place: SecuredPlace) -> dict[str, str]:
    """The same, and what Apache Kafka needs for its controller."""
    found = place.settings()
    controller = place.bootstrap("CONTROLLER")
    found["listeners"] += f",CONTROLLER://{controller}"
    found["listener.security.protocol.map"] += ",CONTROLLER:PLAINTEXT"
    found["controller.quorum.bootstrap.servers"] = controller
    # a backslash is an escape in a properties file
    return {name: value.replace("\\", "\\\\") for name, value in found.items()}


def machine(place: SecuredPlace) -> tuple[str, ...]:
    """The options of a virtual machine that may fetch tokens and keys."""
    files = place.directory / "jwks.json"
    return (*HEAP, f"-D{ALLOWED}.urls={place.endpoint},{files.as_uri()}", f"-D{ALLOWED}.files={files}")


def properties(settings: Mapping[str, str]) -> str:
    """Settings as a properties file."""
    return "".join(f"{name}={value}\n".replace("\\", "\\\\") for name, value in settings.items())


def quoted(text: str) -> str:
    """A value of a JAAS setting."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


class TokenEndpoint(BaseHTTPRequestHandler):
    """Issues tokens by client credentials."""

    issued: Final[list[str]] = []

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        _, _, word = self.headers["Authorization"].partition(" ")
        client, _, secret = base64.b64decode(word).decode().partition(":")
        self.issued.append(client)
        token, lifetime = token_of(client)
        content = json.dumps({"access_token": token, "expires_in": lifetime, "token_type": "Bearer"}).encode()
        self.send_response(200 if secret == "app-secret" else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        pass


def token_of(client: str) -> tuple[str, int]:
    """The token of a client, and its lifetime in seconds."""
    now = int(time.time())
    own: dict[str, Any] = GOOD | {"sub": client, "scope": "kafka"}
    match client:
        case "late":
            return signed(claims(now - 700, **own)), 600
        case "stranger":
            return signed(claims(now, **own), key=STRANGER_KEY), 600
        case "others":
            return signed(claims(now, **own | {"aud": "nobody"})), 600
        case "brief":
            return signed(claims(now, **own, exp=now + 5)), 5
        case "unsigned":
            return unsecured(claims(now, **own)), 600
        case _:
            return signed(claims(now, **own)), 600


@contextmanager
def token_endpoint() -> Iterator[str]:
    """The address of a token endpoint."""
    with ThreadingHTTPServer(("127.0.0.1", 0), TokenEndpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/token"
        finally:
            server.shutdown()
            thread.join()
