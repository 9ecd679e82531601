"""The key and trust stores of clients: PEM files, PEM text, PKCS12, against a broker that wants a certificate."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING, Any

import pytest
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    pkcs12,
)
from cryptography.x509 import load_pem_x509_certificate
from tests.broker.security.secured import authority, tls_settings

from kafkawire.client import AuthenticationFailedError, ConnectionLostError, OptionError
from kafkawire.client.blocking import Admin
from kafkawire.client.options import ClientOptions
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PASSWORD = "store-s3cret"


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningBroker]:
    directory = tmp_path_factory.mktemp("tls")
    with RunningBroker(config=tls_settings(directory, ssl_client_auth="required")) as broker:
        yield broker


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A client's certificate in every form."""
    directory = tmp_path_factory.mktemp("stores")
    issued = authority().issue("ann", ["ann"])
    key = load_pem_private_key(issued.key.encode(), None)
    certificate = load_pem_x509_certificate(issued.certificate.encode())
    of_authority = load_pem_x509_certificate(authority().certificate.encode())
    locked = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(PASSWORD.encode()))
    (directory / "ca.pem").write_text(authority().certificate)
    (directory / "both.pem").write_text(issued.both)
    (directory / "cert.pem").write_text(issued.certificate)
    (directory / "key.pem").write_text(issued.key)
    (directory / "locked.pem").write_bytes(locked + issued.certificate.encode())
    lock = BestAvailableEncryption(PASSWORD.encode())
    (directory / "client.p12").write_bytes(pkcs12.serialize_key_and_certificates(b"ann", key, certificate, None, lock))  # type: ignore[arg-type]
    trusted = [pkcs12.PKCS12Certificate(of_authority, b"ca")]
    (directory / "trust.p12").write_bytes(pkcs12.serialize_java_truststore(trusted, lock))
    (directory / "open.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(b"ann", key, certificate, None, NoEncryption())  # type: ignore[arg-type]
    )
    (directory / "client.jks").write_bytes(bytes.fromhex("feedfeed00000002"))
    return directory


def one_line(text: str) -> str:
    """PEM as it stands in a properties file."""
    return text.replace("\n", " ")


def stores(files: Path) -> dict[str, dict[str, str]]:
    trust = {"ssl.truststore.location": f"{files}/ca.pem"}
    return {
        "one PEM file": {**trust, "ssl.keystore.type": "PEM", "ssl.keystore.location": f"{files}/both.pem"},
        "two PEM files": {
            "ssl.ca.location": f"{files}/ca.pem",
            "ssl.certificate.location": f"{files}/cert.pem",
            "ssl.key.location": f"{files}/key.pem",
        },
        "an encrypted key": {**trust, "ssl.keystore.location": f"{files}/locked.pem", "ssl.key.password": PASSWORD},
        "inline PEM": {
            "ssl.truststore.certificates": one_line((files / "ca.pem").read_text()),
            "ssl.keystore.key": one_line((files / "key.pem").read_text()),
            "ssl.keystore.certificate.chain": one_line((files / "cert.pem").read_text()),
        },
        "names of librdkafka": {
            "ssl.ca.pem": (files / "ca.pem").read_text(),
            "ssl.key.pem": (files / "key.pem").read_text(),
            "ssl.certificate.pem": (files / "cert.pem").read_text(),
        },
        "PKCS12": {
            "ssl.truststore.location": f"{files}/trust.p12",
            "ssl.truststore.password": PASSWORD,
            "ssl.keystore.location": f"{files}/client.p12",
            "ssl.keystore.password": PASSWORD,
            "ssl.keystore.type": "PKCS12",
        },
        "PKCS12 without a password": {**trust, "ssl.keystore.location": f"{files}/open.p12"},
        "one version and one cipher suite": {
            **trust,
            "ssl.keystore.location": f"{files}/both.pem",
            "ssl.enabled.protocols": "TLSv1.2",
            "ssl.cipher.suites": "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
        },
    }


FORMS = (
    *("one PEM file", "two PEM files", "an encrypted key", "inline PEM", "names of librdkafka", "PKCS12"),
    *("PKCS12 without a password", "one version and one cipher suite"),
)


@pytest.mark.parametrize("form", FORMS)
def test_a_client_presents_its_certificate(form: str, broker: RunningBroker, files: Path) -> None:
    base: dict[str, Any] = {"bootstrap.servers": broker.bootstrap_servers, "security.protocol": "SSL"}
    with Admin(base | stores(files)[form]) as admin:
        assert admin.describe_cluster().nodes
        principals = broker.call(lambda: {str(each.peer.principal) for each in broker.broker.server.connections})
        assert principals == {"User:CN=ann"}


def test_every_form_is_tested(files: Path) -> None:
    assert set(FORMS) == set(stores(files))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ssl_certfile": "client.p12", "ssl_keystore_password": "not-it"}, "ssl.keystore.password is wrong"),
        ({"ssl_certfile": "locked.pem"}, "the private key is encrypted; set ssl.key.password"),
        ({"ssl_certfile": "locked.pem", "ssl_password": "not-it"}, "is ssl.key.password right"),
        ({"ssl_certfile": "client.jks"}, "keytool -importkeystore"),
        ({"ssl_certfile": "cert.pem"}, "found 0 keys and 1 certificates"),
        ({"ssl_cafile": "trust.p12", "ssl_truststore_password": "not-it"}, "ssl.truststore.password is wrong"),
        ({"ssl_certfile": "both.pem", "ssl_keystore_password": PASSWORD}, "PEM has no store password"),
    ],
)
def test_a_store_that_cannot_be_used_is_named_without_its_password(
    options: dict[str, str], words: str, files: Path
) -> None:
    given = {name: f"{files}/{value}" if name.endswith("file") else value for name, value in options.items()}
    made = ClientOptions(security_protocol="SSL", **given)  # type: ignore[arg-type]
    with pytest.raises(OptionError, match=words) as refused:
        made.tls()
    assert not [each for name, each in given.items() if "password" in name and each in str(refused.value)]
    assert PASSWORD not in repr(made)


def test_a_client_without_a_certificate_is_told(broker: RunningBroker, files: Path) -> None:
    with pytest.raises((AuthenticationFailedError, ConnectionLostError)) as refused:
        Admin(bootstrap_servers=broker.bootstrap_servers, security_protocol="SSL", ssl_cafile=f"{files}/ca.pem")
    assert "certificate" in str(refused.value).lower()


def test_a_context_of_the_user_replaces_every_store(broker: RunningBroker, files: Path) -> None:
    context = ssl.create_default_context(cafile=f"{files}/ca.pem")
    context.load_cert_chain(f"{files}/both.pem")
    options: dict[str, Any] = {"ssl_context": context, "ssl_cafile": "/nowhere", "security_protocol": "SSL"}
    with Admin(bootstrap_servers=broker.bootstrap_servers, **options) as admin:
        assert admin.describe_cluster().nodes
