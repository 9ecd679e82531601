"""No secret of any mechanism appears anywhere: one broker, one client, every place that a text could reach.

Rules:
- Secrets are planted: passwords of PLAIN and SCRAM, of stores and keys, the secret key of tokens, HMACs, bearer tokens,
  and the secret of client credentials. Each is recognisable in plain text, in hex and in base64.
- The places are logs at DEBUG, errors of clients, metrics, DescribeConfigs, and the trace in every form. So are the
  `repr` of every object that holds a secret, stack traces of a fault, the terminal, and the data directory.
"""

from __future__ import annotations

import base64
import logging
import time
import traceback
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    PrivateFormat,
    load_pem_private_key,
)
from tests.broker.security.secured import authority, tls_settings
from tests.broker.security.test_sasl import PLAIN
from tests.broker.security.tokens import unsecured

from kafkawire.broker._metrics.page import GaugeLines, page
from kafkawire.broker._security.oauth_exchange import UNSECURED
from kafkawire.cli.main import main
from kafkawire.client import ConfigResource, ResourceType
from kafkawire.client.blocking import Admin
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ClientOptions
from kafkawire.messages.errors import KafkaError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
PLANTED = {
    "of ann": "planted-password-of-ann",
    "of bob": "planted-password-of-bob",
    "wrong": "planted-wrong-password",
    "of the key": "planted-key-password",
    "of tokens": "planted-secret-key-of-tokens",
    "of the endpoint": "planted-client-secret",
}


def forms(secret: str | bytes) -> set[str]:
    """A secret as it may be written."""
    raw = secret.encode() if isinstance(secret, str) else secret
    encoded = base64.b64encode(raw).decode().rstrip("=")
    found = {raw.hex(), encoded[:40], base64.urlsafe_b64encode(raw).decode()[:40].rstrip("="), repr(raw)[2:-1]}
    return found | ({secret} if isinstance(secret, str) else set())


class Places:
    """Texts by the place where they were found."""

    def __init__(self) -> None:
        self.texts: dict[str, str] = {}
        self.secrets: dict[str, set[str]] = {name: forms(secret) for name, secret in PLANTED.items()}

    def add(self, place: str, text: object) -> None:
        assert str(text), f"{place}: nothing was written"
        self.texts[place] = f"{self.texts.get(place, '')}\n{text}"

    def leaks(self) -> list[str]:
        return [
            f"the secret {name} in {place}: {text[max(0, text.index(form) - 80) : text.index(form)]!r}"
            for place, text in self.texts.items()
            for name, written in self.secrets.items()
            for form in written
            if form in text
        ]


def settings(directory: Path) -> dict[str, str]:
    issued = authority().issue("broker", ("localhost", "127.0.0.1"))
    key = load_pem_private_key(issued.key.encode(), None)
    lock = BestAvailableEncryption(PLANTED["of the key"].encode())
    found = tls_settings(directory, "SASL_SSL")
    (directory / "server.pem").write_bytes(
        key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock) + issued.certificate.encode()
    )
    prefix = "listener.name.sasl_ssl"
    return {
        **found,
        "ssl.key.password": PLANTED["of the key"],
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512,OAUTHBEARER",
        f"{prefix}.plain.sasl.jaas.config": f'{PLAIN} user_ann="{PLANTED["of ann"]}";',
        f"{prefix}.oauthbearer.sasl.server.callback.handler.class": UNSECURED,
        "delegation.token.secret.key": PLANTED["of tokens"],
        "connection.failed.authentication.delay.ms": "1",
        "connections.max.reauth.ms": "3600000",
    }


def login(broker: RunningBroker, directory: Path, mechanism: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_SSL",
        "ssl_cafile": str(directory / "ca.pem"),
        "sasl_mechanism": mechanism,
        "default_api_timeout_ms": 3000,
        **more,
    }


def logins(broker: RunningBroker, directory: Path, places: Places) -> Iterator[dict[str, Any]]:
    """Right logins of every mechanism; the first creates what the others need."""
    ann = {"sasl_plain_username": "ann", "sasl_plain_password": PLANTED["of ann"]}
    yield login(broker, directory, "PLAIN", **ann)
    with Admin(**login(broker, directory, "PLAIN", **ann)) as admin:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            admin.set_user("bob", PLANTED["of bob"], mechanism=mechanism)
        token = admin.create_delegation_token()
        gone = admin.create_delegation_token()
        admin.renew_delegation_token(gone)
        admin.expire_delegation_token(gone)
        places.add("repr of a token", (token, admin.describe_delegation_tokens()))
    places.secrets |= {"of a token": forms(token.hmac) | forms(token.password), "of an old token": forms(gone.hmac)}
    bob = f'{SCRAM} username="bob" password="{PLANTED["of bob"]}";'
    yield login(broker, directory, "SCRAM-SHA-256", sasl_jaas_config=bob)
    yield login(broker, directory, "SCRAM-SHA-512", sasl_jaas_config=bob)
    yield login(broker, directory, "PLAIN") | token.login()
    bearer = unsecured({"sub": "carl", "iat": time.time() - 1, "exp": time.time() + 600})
    places.secrets["a bearer token"] = {bearer, bearer.split(".")[1], *forms(bearer)}
    yield login(broker, directory, "OAUTHBEARER", sasl_oauth_token_provider=lambda: bearer)


def wrong_logins(broker: RunningBroker, directory: Path) -> Iterator[dict[str, Any]]:
    wrong = {"sasl_plain_username": "ann", "sasl_plain_password": PLANTED["wrong"]}
    for mechanism in ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"):
        yield login(broker, directory, mechanism, **wrong)
        yield login(broker, directory, mechanism, **wrong | {"sasl_plain_username": "nobody"})
    yield login(broker, directory, "SCRAM-SHA-256", **wrong, sasl_token_auth=True)
    yield login(broker, directory, "OAUTHBEARER", sasl_oauth_token_provider=lambda: PLANTED["wrong"])
    yield login(
        broker,
        directory,
        "OAUTHBEARER",
        sasl_oauthbearer_token_endpoint_url="http://127.0.0.1:1/",
        sasl_oauthbearer_client_id="app",
        sasl_oauthbearer_client_secret=PLANTED["of the endpoint"],
    )


def broken_options() -> Iterable[dict[str, Any]]:
    """Options that no client can be made of; each contains a secret."""
    wrong = PLANTED["wrong"]
    yield {"sasl_jaas_config": f'{SCRAM} username="ann" password="{wrong}"'}
    yield {"sasl_jaas_config": f'{SCRAM} username="ann" password="{wrong}'}
    yield {"sasl_jaas_config": f'{SCRAM} username="ann" {wrong};'}
    yield {"sasl_jaas_config": f'Krb5LoginModule required password="{wrong}";'}
    yield {"sasl_plain_password": wrong.encode()}
    yield {"ssl_keydata": wrong, "security_protocol": "SSL"}
    yield {"ssl_keydata": wrong, "ssl_certdata": wrong, "security_protocol": "SSL"}
    yield {"sasl_plain_pasword": wrong}


def objects(broker: RunningBroker) -> Iterator[object]:
    """The objects of the broker that hold secrets, or hold what does."""
    node = broker.broker.node
    yield from (
        node,
        node.config,
        node.scram_users,
        node.tokens,
        node.tokens.stored,
        node.changes,
        broker.broker.security,
    )
    yield from (node.scram_users.of("bob"), node.scram_users.login("bob", "SCRAM-SHA-256"))
    for connection in broker.broker.server.connections:
        yield from (connection, connection.peer, connection.peer.session, connection._session._exchange)  # type: ignore[attr-defined]
    for listener in broker.broker.security:
        yield from (listener, listener.settings, listener.sasl, listener.tls)
        yield vars(listener.sasl)


def test_no_secret_appears_anywhere(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    places = Places()
    data = tmp_path / "data"
    with RunningBroker(data, config=settings(tmp_path)) as broker:
        for number, options in enumerate(logins(broker, tmp_path, places)):
            file = tmp_path / f"trace-{number}"
            read = read_options(ClientOptions, None, options)
            places.add("repr of options", (read, read.jaas()))
            for form in ("json", "json-trees"):
                with Admin(**options, trace=f"{form}:{file}-{form}") as admin:
                    admin.list_topics()
                places.add(f"the trace as {form}", (tmp_path / f"{file.name}-{form}").read_text())
            with Admin(**options, trace="trees") as admin:
                admin.list_topics()
                described = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")])
                places.add("DescribeConfigs", described)
                places.add("repr of objects", broker.call(lambda: [repr(each) for each in objects(broker)]))
        for options in wrong_logins(broker, tmp_path):
            with pytest.raises(Exception) as refused:  # whatever it is, its text is looked at
                Admin(**options, trace="trees")
            places.add("errors of clients", "".join(traceback.format_exception(refused.value)))
        for options in broken_options():
            with pytest.raises(Exception) as refused:  # whatever it is, its text is looked at
                read_options(ClientOptions, None, options).tls()
            places.add("errors of options", refused.value)
        file = tmp_path / "client.properties"
        file.write_text(f"sasl.mechanism=PLAIN\n{PLANTED['wrong']}\n")
        assert main(["topics", "list", "-F", str(file)]) != 0
        assert main(["topics", "list", "-b", broker.bootstrap_servers, "-vvv", *words_of(tmp_path)]) == 0
        assert main(["tokens", "list", "-b", broker.bootstrap_servers, "-vvv", *words_of(tmp_path)]) == 0
        assert main(["configs", "describe", "broker", "1", "-b", broker.bootstrap_servers, *words_of(tmp_path)]) == 0
        monkeypatch.setattr(broker.broker.node.tokens, "check_enabled", broken_handler)
        with (
            Admin(**login(broker, tmp_path, "PLAIN", sasl_jaas_config=jaas_of_ann())) as admin,
            pytest.raises(KafkaError),
        ):
            admin.create_delegation_token()
        places.add("metrics", broker.call(lambda: metrics(broker)))
    printed = capsys.readouterr()
    places.add("the terminal", printed.out + printed.err)
    places.add("the log", caplog.text)
    places.add("the fields of the log", "\n".join(f"{each.getMessage()} {each.__dict__}" for each in caplog.records))
    places.add(
        "the data directory", "".join(each.read_bytes().decode("latin-1") for each in data.rglob("*") if each.is_file())
    )
    assert places.leaks() == []


def broken_handler() -> None:
    """A fault of the broker, which it logs with its stack."""
    raise RuntimeError("a fault that a test planted")


def jaas_of_ann() -> str:
    return f'{PLAIN} username="ann" password="{PLANTED["of ann"]}";'


@pytest.mark.parametrize("form", [str, lambda text: text.encode().hex(), lambda text: repr(text.encode())])
def test_a_secret_is_found_in_every_form(form: Callable[[str], str]) -> None:
    places = Places()
    places.add("a log", f"before {form(PLANTED['of ann'])} after")
    assert len(places.leaks()) == 1
    places.add("another", base64.b64encode(PLANTED["of bob"].encode()))
    assert len({each.partition(" in ")[0] for each in places.leaks()}) == 2


def words_of(directory: Path) -> list[str]:
    options = {
        "security.protocol": "SASL_SSL",
        "ssl.truststore.location": str(directory / "ca.pem"),
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": jaas_of_ann(),
    }
    return [word for name, value in options.items() for word in ("-X", f"{name}={value}")]


def metrics(broker: RunningBroker) -> str:
    return page(broker.broker.metrics, GaugeLines())
