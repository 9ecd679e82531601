"""OAUTHBEARER: signed tokens against a JWKS, unsecured tokens, the client-credentials flow, and every wrong token."""

from __future__ import annotations

import base64
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer
from tests.broker.security.tokens import GOOD, NOW, claims, encoded, jwks, signed, unsecured

from kafkawire.broker import Broker
from kafkawire.broker._security.bearer_tokens import InvalidTokenError, TokenRules, check_signed, check_unsecured
from kafkawire.broker._security.jwks import KeySet
from kafkawire.broker._security.oauth_exchange import SIGNED, UNSECURED
from kafkawire.client import AuthenticationFailedError, OAuthToken, OptionError
from kafkawire.client.blocking import Admin
from kafkawire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kafkawire.messages.errors import InvalidConfigError
from kafkawire.testing import ManualClock, RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PREFIX = "listener.name.sasl_plaintext.oauthbearer.sasl."
RULES = TokenRules("https://issuer", ("kafka", "other"))


def check(token: str, rules: TokenRules = RULES) -> str:
    keys = {key["kid"]: key for key in jwks()["keys"]}
    return check_signed(token, keys.get, rules, NOW * 1000).principal


@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_a_signed_token_names_its_principal(algorithm: str) -> None:
    assert check(signed(claims(**GOOD), algorithm)) == "ann"
    assert check(signed(claims(**GOOD | {"aud": ["x", "other"]}), algorithm)) == "ann"
    assert check(signed(claims(iss=None), algorithm), TokenRules()) == "ann"
    assert check(signed(claims(user="bob"), algorithm), TokenRules(principal_claim="user")) == "bob"
    assert check(signed(claims(exp=NOW - 29, iat=NOW + 29), algorithm), TokenRules()) == "ann"


@pytest.mark.parametrize(("token", "words"), [
    (signed(claims(**GOOD, exp=NOW - 31)), "has expired"),
    (signed(claims(**GOOD, exp=None)), "exp and iat"),
    (signed(claims(**GOOD, iat=None)), "exp and iat"),
    (signed(claims(**GOOD, iat=NOW + 31)), "not valid yet"),
    (signed(claims(**GOOD, nbf=NOW + 31)), "not valid yet"),
    (signed(claims(**GOOD, exp="soon")), "number of seconds"),
    (signed(claims(**GOOD, exp=float("inf"))), "number of seconds"),
    (signed(claims(**GOOD, sub=" ")), "a name in the claim sub"),
    (signed(claims(**GOOD, sub=7)), "a name in the claim sub"),
    (signed(claims(**GOOD | {"iss": "https://other"})), "issuer"),
    (signed(claims(**GOOD | {"aud": "nobody"})), "audience"),
    (signed(claims(**GOOD | {"aud": None})), "audience"),
    (signed(claims(**GOOD), kid="x"), "no key"),
    (signed(claims(**GOOD), kid="e"), "does not sign with RS256"),
    (signed(claims(**GOOD), "ES256", kid="r"), "does not sign with ES256"),
    (signed(claims(**GOOD), "HS256"), "expected a signature by"),
    (unsecured(claims(**GOOD)), "expected a signature by"),
    (signed(claims(**GOOD))[:-4] + "AAAA", "signature is wrong"),
    (signed(claims(**GOOD)).rpartition(".")[0] + ".", "signature is wrong"),
    (signed(claims(**GOOD), "ES256").rpartition(".")[0] + ".AAAA", "P-256"),
    ("a.b", "three parts"),
    ("!!.e30.e30", "base64url"),
    ("W10.W10.AAAA", "JSON object"),
    (".".join((encoded(b"[" * 5000), "e30", "AAAA")), "JSON"),
    ("x" * 70_000, "three parts"),
])  # fmt: skip
def test_a_wrong_token_is_refused(token: str, words: str) -> None:
    with pytest.raises(InvalidTokenError, match=words):
        check(token)


def test_a_token_with_an_audience_is_refused_while_none_is_expected() -> None:
    with pytest.raises(InvalidTokenError, match=r"expected\.audience is not set"):
        check(signed(claims(aud="kafka")), TokenRules())


def test_an_unsecured_token_has_no_signature() -> None:
    assert check_unsecured(unsecured(claims(iat=None, exp=NOW + 0.5)), TokenRules(), NOW * 1000).principal == "ann"
    with pytest.raises(InvalidTokenError, match="alg none"):
        check_unsecured(signed(claims()), TokenRules(), NOW * 1000)
    with pytest.raises(InvalidTokenError, match="alg none"):
        check_unsecured(unsecured(claims()) + "AAAA", TokenRules(), NOW * 1000)


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "jwks.json").write_text(json.dumps(jwks()))
    return {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": "OAUTHBEARER",
        f"{PREFIX}oauthbearer.jwks.endpoint.url": (tmp_path / "jwks.json").as_uri(),
        "sasl.oauthbearer.expected.issuer": "https://issuer",
        "sasl.oauthbearer.expected.audience": "kafka",
        "connection.failed.authentication.delay.ms": "1",
    }


def client(broker: RunningBroker, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        **more,
    }


def token_of_ann() -> str:
    return signed(claims(time.time(), **GOOD))


def test_a_client_logs_in_with_a_function_that_an_option_names(settings: dict[str, str]) -> None:
    name = f"{__name__}:token_of_ann"
    with (
        RunningBroker(config=settings) as broker,
        Admin(**client(broker, sasl_oauth_token_provider=name)) as admin,
    ):
        assert admin.list_topics() == []


@pytest.mark.parametrize(("name", "words"), [
    ("no-colon", "or its name as module:function"),
    ("no.such.module:f", "No module named 'no'"),
    ("json:absent", "absent"),
    ("json:__name__", "is not a function"),
])  # fmt: skip
def test_a_name_that_is_no_function_is_refused(settings: dict[str, str], name: str, words: str) -> None:
    with (
        RunningBroker(config=settings) as broker,
        pytest.raises(OptionError, match=words),
        Admin(**client(broker, sasl_oauth_token_provider=name)),
    ):
        pass


def test_a_client_logs_in_with_a_function_that_returns_tokens(settings: dict[str, str]) -> None:
    with RunningBroker(config=settings) as broker:
        good = signed(claims(time.time(), **GOOD))
        for given in (good, OAuthToken(good, extensions=(("logicalCluster", "lkc-1"),))):
            with Admin(**client(broker, sasl_oauth_token_provider=lambda given=given: given)) as admin:
                assert admin.list_topics() == []
        expired = signed(claims(time.time() - 700, **GOOD))
        with (
            pytest.raises(AuthenticationFailedError, match="invalid_token") as refused,
            Admin(**client(broker, sasl_oauth_token_provider=lambda: expired)),
        ):
            pass
        assert expired not in str(refused.value)


def test_the_session_ends_with_the_token(settings: dict[str, str]) -> None:
    clock = ManualClock(NOW * 1000)
    with RunningBroker(config=settings, clock=clock) as broker, Peer(broker) as peer:
        peer.call(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        token = f"n,,\x01auth=Bearer {signed(claims(**GOOD))}\x01\x01".encode()
        assert peer.call(SaslAuthenticateRequest(auth_bytes=token)).session_lifetime_ms == 600_000
        broker.call(lambda: clock.advance(600_000))
        peer.send(MetadataRequest(topics=[]), 12)
        assert peer.is_closed()


def test_a_failure_takes_a_round_more(settings: dict[str, str]) -> None:
    with RunningBroker(config=settings) as broker, Peer(broker) as peer:
        peer.call(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        first = peer.call(SaslAuthenticateRequest(auth_bytes=b"n,,\x01auth=Bearer a.b.c\x01\x01"))
        assert (first.error_code, bytes(first.auth_bytes)) == (0, b'{"status":"invalid_token"}')
        last = peer.call(SaslAuthenticateRequest(auth_bytes=b"\x01"))
        assert (last.error_code, last.error_message) == (58, '{"status":"invalid_token"}')
        assert peer.is_closed()


@pytest.mark.parametrize(
    "message", [b"", b"n,,", b"n,,\x01auth=Basic x\x01\x01", b"y,,\x01auth=Bearer x\x01\x01", b"\xff" * 9]
)
def test_a_malformed_message_fails(settings: dict[str, str], message: bytes) -> None:
    with RunningBroker(config=settings) as broker, Peer(broker) as peer:
        peer.call(SaslHandshakeRequest(mechanism="OAUTHBEARER"), 1)
        assert peer.call(SaslAuthenticateRequest(auth_bytes=message)).error_code == 58
        assert peer.is_closed()


def test_unsecured_tokens_are_accepted_only_if_asked_for(
    settings: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    token = unsecured(claims(time.time()))
    with (
        RunningBroker(config=settings) as broker,
        pytest.raises(AuthenticationFailedError),
        Admin(**client(broker, sasl_oauth_token_provider=lambda: token)),
    ):
        pass
    del settings[f"{PREFIX}oauthbearer.jwks.endpoint.url"]
    del settings["sasl.oauthbearer.expected.issuer"]
    with pytest.raises(
        InvalidConfigError, match=r"set listener\.name\.sasl_plaintext\.oauthbearer\.sasl\.oauthbearer\.jwks"
    ):
        Broker(config=settings)
    settings[f"{PREFIX}server.callback.handler.class"] = UNSECURED
    with (
        RunningBroker(config=settings) as broker,
        Admin(**client(broker, sasl_oauth_token_provider=lambda: token)) as admin,
    ):
        assert admin.list_topics() == []
        java = {"sasl.jaas.config": f'{MODULE} unsecuredLoginStringClaim_sub="ann";'}
        base = {name.replace("_", "."): value for name, value in client(broker).items()}
        with Admin(base | java) as other:
            assert other.list_topics() == []
    assert "unsecured tokens accepted" in caplog.text


@pytest.mark.parametrize(("url", "words"), [
    ("file:///nowhere.json", "No such file"),
    ("http://issuer.example/jwks", "https or file"),
    ("jwks.json", "https or file"),
])  # fmt: skip
def test_a_jwks_that_cannot_be_read_stops_the_start(settings: dict[str, str], url: str, words: str) -> None:
    with pytest.raises(InvalidConfigError, match=words):
        Broker(config={**settings, f"{PREFIX}oauthbearer.jwks.endpoint.url": url})


def test_changed_keys_are_read_and_a_broken_file_keeps_the_old_ones(tmp_path: Path) -> None:
    file = tmp_path / "jwks.json"
    file.write_text(json.dumps({"keys": [{"kid": "a"}]}))
    keys = KeySet(file.as_uri(), 0, "url")
    file.write_text(json.dumps({"keys": [{"kid": "a"}, {"kid": "b"}]}))
    keys.read()
    assert keys.find("b") == {"kid": "b"}
    file.write_text("broken")
    keys.read()
    assert keys.find("b") == {"kid": "b"}


class Endpoint(BaseHTTPRequestHandler):
    """A token endpoint for one client."""

    asked = 0
    expected = "Basic " + base64.b64encode(b"app%2F1:s%3Acret").decode()

    def do_POST(self) -> None:
        type(self).asked += 1
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        is_right = self.headers["Authorization"] == self.expected and "grant_type=client_credentials" in body
        self.send_response(200 if is_right and "scope=kafka" in body else 401)
        self.end_headers()
        token = signed(claims(time.time(), **GOOD))
        self.wfile.write(json.dumps({"access_token": token, "expires_in": 600}).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Endpoint) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/token"
        server.shutdown()
        thread.join()


def test_a_client_logs_in_by_client_credentials(settings: dict[str, str], endpoint: str) -> None:
    Endpoint.asked = 0
    flow = {
        "sasl.oauthbearer.token.endpoint.url": endpoint,
        "sasl.oauthbearer.client.id": "app/1",
        "sasl.oauthbearer.client.secret": "s:cret",
        "sasl.oauthbearer.scope": "kafka",
    }
    with RunningBroker(config=settings) as broker:
        base = {name.replace("_", "."): value for name, value in client(broker).items()}
        for _ in range(3):
            with Admin(base | flow) as admin:
                assert admin.list_topics() == []
        assert Endpoint.asked == 1
        wrong = base | flow | {"sasl.oauthbearer.client.secret": "other-secret"}
        with pytest.raises(AuthenticationFailedError, match="answers 401") as refused, Admin(wrong):
            pass
        assert "other-secret" not in str(refused.value)


HANDLER = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler"
MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"


def test_a_properties_file_of_java_logs_in_by_client_credentials(settings: dict[str, str], endpoint: str) -> None:
    with RunningBroker(config=settings) as broker:
        base = {name.replace("_", "."): value for name, value in client(broker).items()}
        options = 'clientId="app/1" clientSecret="s:cret" scope="kafka" extension_logicalCluster="lkc-1"'
        java = base | {
            "sasl.login.callback.handler.class": HANDLER,
            "sasl.oauthbearer.token.endpoint.url": endpoint,
            "sasl.jaas.config": f"{MODULE} {options};",
        }
        with Admin(java) as admin:
            assert admin.list_topics() == []
        with pytest.raises(OptionError, match=r"sasl\.login\.callback\.handler\.class: expected one of org\.apache"):
            Admin(java | {"sasl.login.callback.handler.class": "com.example.Handler"})
        with pytest.raises(OptionError, match="semicolon"), Admin(java | {"sasl.jaas.config": "x required a=b"}):
            pass


def test_a_file_contains_the_token_and_is_read_for_every_connection(settings: dict[str, str], tmp_path: Path) -> None:
    file = tmp_path / "token with blanks"
    with RunningBroker(config=settings) as broker:
        base = {name.replace("_", "."): value for name, value in client(broker).items()}
        from_file = base | {"sasl.oauthbearer.token.endpoint.url": file.as_uri()}
        for content in (None, b"", b"\xff"):
            if content is not None:
                file.write_bytes(content)
            with pytest.raises(AuthenticationFailedError, match=r"cannot be read|empty file"), Admin(from_file):
                pass
        for subject in ("ann", "bob"):
            file.write_text(signed(claims(time.time(), **GOOD, sub=subject)) + "\n")
            with Admin(from_file) as admin:
                assert admin.list_topics() == []


@pytest.mark.parametrize("name", SIGNED)
def test_the_class_of_kafka_for_signed_tokens_is_accepted(settings: dict[str, str], name: str) -> None:
    handler = f"{PREFIX}server.callback.handler.class"
    Broker(config={**settings, handler: name})
    with pytest.raises(InvalidConfigError, match=r"expected org\.apache.*or nothing"):
        Broker(config={**settings, handler: "com.example.Handler"})
    del settings[f"{PREFIX}oauthbearer.jwks.endpoint.url"]
    with pytest.raises(InvalidConfigError, match="found neither"):
        Broker(config={**settings, handler: name})
