"""The settings of TLS: versions, cipher suites, keys and stores, and the errors for wrong ones."""

from __future__ import annotations

import ssl
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.broker.security.secured import HOSTS, TlsPeer, authority, principals, tls_settings, trusting

from kafkawire.broker import Broker
from kafkawire.messages import ApiVersionsRequest
from kafkawire.messages.errors import InvalidConfigError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from pathlib import Path


def test_versions_and_cipher_suites_are_those_of_the_settings(tmp_path: Path) -> None:
    suite = "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256"
    with RunningBroker(config=tls_settings(tmp_path, ssl_cipher_suites=suite)) as broker:
        with TlsPeer(broker, trusting(tmp_path)) as peer:
            assert isinstance(peer.socket, ssl.SSLSocket)
            assert (peer.socket.version(), peer.socket.cipher()) == (
                "TLSv1.2",
                ("ECDHE-ECDSA-AES128-GCM-SHA256", "TLSv1.2", 128),
            )
        older = trusting(tmp_path)
        older.minimum_version = ssl.TLSVersion.TLSv1_3
        with pytest.raises(OSError):
            TlsPeer(broker, older)


@pytest.mark.parametrize(("settings", "words"), [
    ({"ssl.keystore.location": ""}, "listener SSL with SSL needs a certificate"),
    ({"ssl.keystore.location": "/nowhere.pem"}, "/nowhere.pem: No such file"),
    ({"ssl.client.auth": "maybe"}, "expected none, requested or required, found 'maybe'"),
    ({"ssl.enabled.protocols": "TLSv1.1"}, "expected TLSv1.2 and TLSv1.3, found TLSv1.1"),
    ({"ssl.cipher.suites": "TLS_NULL"}, "TLS_NULL is not a cipher suite"),
    ({"ssl.cipher.suites": "TLS_AES_128_GCM_SHA256"}, "expected all suites of TLS 1.3, or none"),
    ({"ssl.keystore.password": "secret-word"}, "PEM has no store password"),
    ({"ssl.keystore.key": "secret-word"}, "expected either a file or ssl.keystore.key"),
    ({"ssl.principal.mapping.rules": "RULE:("}, "expected RULE:pattern/replacement"),
    ({"ssl.keystore.type": "BCFKS"}, "expected PEM or PKCS12, found BCFKS"),
])  # fmt: skip
def test_an_invalid_setting_of_tls_stops_the_start(tmp_path: Path, settings: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidConfigError, match=words.replace("(", r"\(")) as refused:
        Broker(config={**tls_settings(tmp_path), **settings})
    assert "secret-word" not in str(refused.value)


def test_a_key_that_does_not_belong_to_its_certificate_stops_the_start(tmp_path: Path) -> None:
    one, other = authority().issue("broker", HOSTS), authority().issue("broker", HOSTS)
    settings = tls_settings(tmp_path)
    (tmp_path / "server.pem").write_text(one.key + other.certificate)
    with pytest.raises(InvalidConfigError, match="the private key does not belong to the first certificate"):
        Broker(config=settings)


def test_stores_may_be_inline_with_blanks_for_line_breaks(tmp_path: Path) -> None:
    issued = authority().issue("broker", HOSTS)
    settings = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": issued.key.replace("\n", " "),
        "ssl.keystore.certificate.chain": (issued.certificate + authority().certificate).replace("\n", " "),
        "ssl.truststore.certificates": authority().certificate.replace("\n", " "),
        "ssl.client.auth": "required",
    }
    with (
        RunningBroker(config=settings) as broker,
        TlsPeer(broker, trusting(tmp_path, authority().issue("ann").both)) as peer,
    ):
        peer.call(ApiVersionsRequest(), 0)
        assert principals(broker) == {"User:CN=ann"}


@pytest.fixture
def stores(tmp_path: Path) -> dict[str, str]:
    """Key store and trust store in PKCS12, made by OpenSSL."""
    settings = tls_settings(tmp_path, ssl_client_auth="required")
    key = ["openssl", "pkcs12", "-export", "-in", "server.pem", "-out", "server.p12", "-passout", "pass:secret-word"]
    trust = [
        "openssl",
        "pkcs12",
        "-export",
        "-nokeys",
        "-in",
        "ca.pem",
        "-out",
        "ca.p12",
        "-passout",
        "pass:secret-word",
    ]
    for command in (key, trust):
        subprocess.run(command, cwd=tmp_path, check=True)
    return settings | {
        "ssl.keystore.location": str(tmp_path / "server.p12"),
        "ssl.keystore.password": "secret-word",
        "ssl.truststore.location": str(tmp_path / "ca.p12"),
        "ssl.truststore.password": "secret-word",
    }


def test_stores_may_be_pkcs12(tmp_path: Path, stores: dict[str, str]) -> None:
    with (
        RunningBroker(config=stores) as broker,
        TlsPeer(broker, trusting(tmp_path, authority().issue("ann").both)) as peer,
    ):
        peer.call(ApiVersionsRequest(), 0)
        assert principals(broker) == {"User:CN=ann"}


def test_a_wrong_password_of_a_store_is_named_and_not_shown(stores: dict[str, str]) -> None:
    with pytest.raises(InvalidConfigError, match=r"ssl\.keystore\.password is wrong") as refused:
        Broker(config={**stores, "ssl.keystore.password": "other-word"})
    assert "word" not in str(refused.value).replace("password", "")


def test_an_encrypted_key_needs_its_password(tmp_path: Path) -> None:
    settings = tls_settings(tmp_path)
    command = "openssl pkcs8 -topk8 -in server.pem -out key.pem -passout pass:secret-word"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    chain = (tmp_path / "server.pem").read_text().partition("-----BEGIN CERTIFICATE")
    (tmp_path / "server.pem").write_text((tmp_path / "key.pem").read_text() + chain[1] + chain[2])
    with pytest.raises(InvalidConfigError, match=r"the private key is encrypted; set ssl\.key\.password"):
        Broker(config=settings)
    with pytest.raises(InvalidConfigError, match=r"ssl\.key\.password right"):
        Broker(config={**settings, "ssl.key.password": "other-word"})
    settings["ssl.key.password"] = "secret-word"
    with RunningBroker(config=settings) as broker, TlsPeer(broker, trusting(tmp_path)) as peer:
        assert peer.call(ApiVersionsRequest(), 0).error_code == 0
