"""SASL over real sockets: what is legal when, each mechanism, failures, sessions and their end."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import struct
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer
from tests.broker.security.secured import TlsPeer, tls_settings, trusting

from kafkawire.broker import Broker
from kafkawire.broker._metrics import page as metrics_page
from kafkawire.broker._metrics.page import GaugeLines
from kafkawire.client import AuthenticationFailedError, ConfigResource, NewTopic, ResourceType
from kafkawire.client.blocking import Admin, Consumer, Producer
from kafkawire.messages import (
    ApiVersionsRequest,
    DescribeConfigsRequest,
    MetadataRequest,
    ProduceRequest,
    SaslAuthenticateRequest,
    SaslHandshakeRequest,
)
from kafkawire.messages.errors import InvalidConfigError
from kafkawire.testing import ManualClock, RunningBroker
from kafkawire.wire.sasl import ScramClient

if TYPE_CHECKING:
    from pathlib import Path

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
SECRET = "a-secret-that-must-not-appear"


def sasl_settings(**more: str) -> dict[str, str]:
    return {
        "listeners": "SASL_PLAINTEXT://127.0.0.1:0",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} user_ann="{SECRET}" user_bob="b";',
        "connection.failed.authentication.delay.ms": "1",
        **{name.replace("_", "."): value for name, value in more.items()},
    }


def with_users(broker: RunningBroker) -> None:
    """Give ann a password for both SCRAM mechanisms."""
    options = login(broker, "PLAIN")
    with Admin(**options) as admin:
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            admin.set_user("ann", SECRET, mechanism=mechanism)


def login(broker: RunningBroker, mechanism: str, user: str = "ann", password: str = SECRET) -> dict[str, Any]:
    return {
        "bootstrap_servers": broker.bootstrap_servers,
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": user,
        "sasl_plain_password": password,
    }


def plain(peer: Peer, user: str = "ann", password: str = SECRET, version: int = 2) -> Any:
    """Authenticate by PLAIN; the last answer."""
    assert peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 0
    return peer.call(SaslAuthenticateRequest(auth_bytes=f"\0{user}\0{password}".encode()), version)


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_records_pass_an_authenticated_connection(mechanism: str, tmp_path: Path) -> None:
    with RunningBroker(tmp_path, config=sasl_settings()) as broker:
        with_users(broker)
        options = login(broker, mechanism)
        with Admin(**options) as admin:
            admin.create_topics([NewTopic(name="t", num_partitions=1)])
        with Producer(**options) as producer:
            producer.send("t", value=b"v" * 700_000)
        with Consumer("t", auto_offset_reset="earliest", **options) as consumer:
            assert consumer.getone().value == b"v" * 700_000
        principals = {str(each.peer.principal) for each in broker.call(lambda: broker.broker.server.connections)}
        assert principals <= {"User:ann"}


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("user", "password"), [("ann", "wrong"), ("nobody", SECRET), ("bob", SECRET)])
def test_wrong_credentials_get_one_answer(mechanism: str, user: str, password: str) -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        with pytest.raises(AuthenticationFailedError) as refused, Admin(**login(broker, mechanism, user, password)):
            pass
        assert "the user name or the password is wrong" in str(refused.value)


def test_scram_users_survive_a_restart_and_can_be_deleted(tmp_path: Path) -> None:
    with RunningBroker(tmp_path, config=sasl_settings()) as broker:
        with_users(broker)
        broker.restart()
        with Admin(**login(broker, "SCRAM-SHA-512")) as admin:
            assert [tuple(each) for each in admin.describe_users()] == [
                ("ann", "SCRAM-SHA-256", 4096),
                ("ann", "SCRAM-SHA-512", 4096),
            ]
            admin.delete_user("ann", mechanism="SCRAM-SHA-512")
            assert [each.mechanism for each in admin.describe_users(["ann"])] == ["SCRAM-SHA-256"]
        with pytest.raises(AuthenticationFailedError), Admin(**login(broker, "SCRAM-SHA-512")):
            pass
        assert SECRET.encode() not in b"".join(each.read_bytes() for each in tmp_path.rglob("*") if each.is_file())


def test_an_unknown_user_gets_a_challenge_like_a_known_one() -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)

        def challenge(user: str) -> dict[str, str]:
            with Peer(broker) as peer:
                peer.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
                first = ScramClient("SCRAM-SHA-256", user, "x").first()
                text = bytes(peer.call(SaslAuthenticateRequest(auth_bytes=first)).auth_bytes).decode()
                return dict(part.split("=", 1) for part in text.split(","))

        known, unknown, again = challenge("ann"), challenge("nobody"), challenge("nobody")
        assert unknown["s"] == again["s"] != known["s"]
        assert (len(unknown["s"]), unknown["i"], len(unknown["r"])) == (len(known["s"]), known["i"], len(known["r"]))


def test_an_authorization_id_must_be_the_user() -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        for authorization, code in (("", 0), ("ann", 0), ("bob", 58)):
            with Peer(broker) as peer:
                peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
                token = f"{authorization}\0ann\0{SECRET}".encode()
                assert peer.call(SaslAuthenticateRequest(auth_bytes=token)).error_code == code


@pytest.mark.parametrize("token", [b"", b"ann", b"\0ann\0", b"\0\0x", b"\0a\0b\0c", b"\xff\0\xff\0\xff"])
def test_a_malformed_token_of_plain_fails(token: bytes) -> None:
    with RunningBroker(config=sasl_settings()) as broker, Peer(broker) as peer:
        peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        assert peer.call(SaslAuthenticateRequest(auth_bytes=token)).error_code == 58
        assert peer.is_closed()


@pytest.mark.parametrize(
    "token",
    [b"", b"n,,", b"y,,n=ann,r=x", b"p=tls-unique,,n=ann,r=x", b"n,,n=ann", b"n,,n=a=b,r=x", b"n,,r=x,n=ann", b"\xff"],
)
def test_a_malformed_first_token_of_scram_fails(token: bytes) -> None:
    with RunningBroker(config=sasl_settings()) as broker, Peer(broker) as peer:
        peer.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
        assert peer.call(SaslAuthenticateRequest(auth_bytes=token)).error_code == 58
        assert peer.is_closed()


@pytest.mark.parametrize("change", ["nonce", "binding", "proof", "no proof"])
def test_a_final_token_of_scram_must_be_exact(change: str) -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        with Peer(broker) as peer:
            peer.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
            client = ScramClient("SCRAM-SHA-256", "ann", SECRET)
            challenge = bytes(peer.call(SaslAuthenticateRequest(auth_bytes=client.first())).auth_bytes)
            final = client.answer(challenge).decode()
            binding, nonce, proof = final.split(",")
            token = {
                "nonce": f"{binding},{nonce}x,{proof}",
                "binding": f"c=eSws,{nonce},{proof}",
                "proof": f"{binding},{nonce},p=AAAA",
                "no proof": f"{binding},{nonce}",
            }[change]
            assert peer.call(SaslAuthenticateRequest(auth_bytes=token.encode())).error_code == 58
            assert peer.is_closed()


def test_before_authentication_only_versions_and_the_handshake_are_served() -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        with Peer(broker) as peer:
            assert len(peer.call(ApiVersionsRequest(), 0).api_keys) > 40
            peer.send(ApiVersionsRequest(), 0)
            assert peer.is_closed()
        with Peer(broker) as peer:
            peer.send(MetadataRequest(topics=[]), 12)
            assert peer.is_closed()
        with Peer(broker) as peer:
            peer.send(SaslAuthenticateRequest(auth_bytes=b""), 1)
            assert peer.is_closed()
        assert {each.api for each in broker.requests} == {"ApiVersions"}


def test_a_refused_version_request_may_be_repeated() -> None:
    with RunningBroker(config=sasl_settings()) as broker, Peer(broker) as peer:
        peer.socket.sendall(struct.pack(">ihhihb", 11, 18, 99, 1, -1, 0))
        assert struct.unpack_from(">h", peer.read_frame(), 8)[0] == 35
        invalid = ApiVersionsRequest(client_software_name="-", client_software_version="1")
        assert peer.call(invalid, 3).error_code == 42
        assert peer.call(ApiVersionsRequest(), 0).error_code == 0
        assert plain(peer).error_code == 0


def test_another_api_during_the_exchange_is_answered_and_closes() -> None:
    with RunningBroker(config=sasl_settings()) as broker, Peer(broker) as peer:
        peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1)
        answer = peer.call(DescribeConfigsRequest(resources=[DescribeConfigsRequest.DescribeConfigsResource(
            resource_type=4, resource_name="1", configuration_keys=None)]))  # fmt: skip
        assert [each.error_code for each in answer.results] == [34]
        assert peer.is_closed()


def test_a_mechanism_that_is_not_enabled_is_answered_with_those_that_are() -> None:
    with RunningBroker(config=sasl_settings()) as broker, Peer(broker) as peer:
        answer = peer.call(SaslHandshakeRequest(mechanism="GSSAPI"), 1)
        assert (answer.error_code, answer.mechanisms) == (33, list(MECHANISMS))
        assert peer.is_closed()


def test_sasl_requests_on_a_plain_listener_are_illegal() -> None:
    with RunningBroker() as broker, Peer(broker) as peer:
        assert peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 34
        assert peer.call(SaslAuthenticateRequest(auth_bytes=b"\0a\0b")).error_code == 34
        assert peer.call(MetadataRequest(topics=[]), 12).brokers


def test_sasl_requests_on_an_authenticated_connection_are_illegal_without_a_lifetime() -> None:
    with RunningBroker(config=sasl_settings()) as broker, Peer(broker) as peer:
        answer = plain(peer)
        assert (answer.error_code, answer.session_lifetime_ms) == (0, 0)
        assert peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 34
        assert peer.call(SaslAuthenticateRequest(auth_bytes=b"\0a\0b")).error_code == 34
        assert peer.call(MetadataRequest(topics=[]), 12).brokers


def raw(peer: Peer, token: bytes) -> bytes:
    peer.socket.sendall(struct.pack(">i", len(token)) + token)
    return peer.read_frame()[4:]


def test_tokens_after_a_handshake_of_version_0_have_no_header() -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        with Peer(broker) as peer:
            assert peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 0).error_code == 0
            assert raw(peer, f"\0ann\0{SECRET}".encode()) == b""
            assert peer.call(MetadataRequest(topics=[]), 12).brokers
        with Peer(broker) as peer:
            peer.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-512"), 0)
            client = ScramClient("SCRAM-SHA-512", "ann", SECRET)
            client.answer(raw(peer, client.answer(raw(peer, client.first()))))
            assert client.done
            assert peer.call(MetadataRequest(topics=[]), 12).brokers
        with Peer(broker) as peer:
            peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 0)
            with pytest.raises((EOFError, ConnectionError)):
                raw(peer, b"\0ann\0wrong")


def test_a_failure_is_answered_after_the_delay_and_not_before() -> None:
    settings = sasl_settings(**{"connection.failed.authentication.delay.ms": "300"})
    with RunningBroker(config=settings) as broker, Peer(broker) as peer:
        began = time.monotonic()
        answer = plain(peer, password="wrong")
        assert time.monotonic() - began >= 0.3
        assert answer.error_code == 58
        assert peer.is_closed()
        with Peer(broker) as neighbour:
            assert plain(neighbour).error_code == 0


def test_requests_before_authentication_are_limited_in_size(caplog: pytest.LogCaptureFixture) -> None:
    settings = sasl_settings(**{"sasl.server.max.receive.size": "1000"})
    with RunningBroker(config=settings) as broker:
        with Peer(broker) as peer:
            peer.socket.sendall(struct.pack(">ihh", 1001, 18, 3))
            assert peer.is_closed()
        assert "a frame of 1001 bytes" in caplog.text
        with Peer(broker) as peer:
            plain(peer)
            names = [MetadataRequest.MetadataRequestTopic(name=f"topic-{number}") for number in range(200)]
            assert len(peer.call(MetadataRequest(topics=names, allow_auto_topic_creation=False), 12).topics) == 200


def test_a_session_ends_and_may_be_prolonged() -> None:
    clock = ManualClock(1_700_000_000_000)
    settings = sasl_settings(**{"connections.max.reauth.ms": "10000"})
    with RunningBroker(config=settings, clock=clock) as broker:
        with Peer(broker) as peer, Peer(broker) as other:
            assert plain(peer).session_lifetime_ms == 10_000
            assert plain(other, version=1).session_lifetime_ms == 10_000
            assert peer.call(SaslHandshakeRequest(mechanism="PLAIN"), 1).error_code == 34  # too soon
            broker.call(lambda: clock.advance(9_000))
            assert plain(peer).session_lifetime_ms == 10_000
            broker.call(lambda: clock.advance(2_000))
            assert peer.call(MetadataRequest(topics=[]), 12).brokers
            other.send(MetadataRequest(topics=[]), 12)
            assert other.is_closed()
        with Peer(broker) as peer:
            plain(peer)
            broker.call(lambda: clock.advance(60_000))
            assert plain(peer).error_code == 0  # a handshake is legal after the end too
            assert peer.call(MetadataRequest(topics=[]), 12).brokers


def test_a_connection_cannot_change_its_principal_or_mechanism() -> None:
    clock = ManualClock(1_700_000_000_000)
    settings = sasl_settings(**{"connections.max.reauth.ms": "10000"})
    with RunningBroker(config=settings, clock=clock) as broker:
        with Peer(broker) as peer:
            plain(peer)
            broker.call(lambda: clock.advance(5_000))
            assert plain(peer, "bob", "b").error_code == 58
            assert peer.is_closed()
        with Peer(broker) as peer:
            plain(peer)
            broker.call(lambda: clock.advance(5_000))
            peer.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
            assert peer.is_closed()


def test_secrets_do_not_appear(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        for mechanism in MECHANISMS:
            with Admin(**login(broker, mechanism)) as admin:
                described = admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")])
            wrong = login(broker, mechanism, "ann", SECRET + "x")
            with pytest.raises(AuthenticationFailedError) as refused, Admin(**wrong):
                pass
            assert SECRET not in str(refused.value)
            assert SECRET not in str(described)
        page = broker.call(lambda: metrics_page.page(broker.broker.metrics, GaugeLines()))
        assert SECRET not in page
        state = broker.call(lambda: repr(vars(broker.broker.security["SASL_PLAINTEXT"].sasl)))
        assert SECRET not in state
    assert SECRET not in caplog.text


@pytest.mark.parametrize(("settings", "words"), [
    ({"sasl.enabled.mechanisms": "GSSAPI"}, "offers GSSAPI: set listener.name.sasl_plaintext.sasl.enabled.mechanisms"),
    ({"sasl.enabled.mechanisms": ""}, "offers nothing"),
    ({"listener.name.sasl_plaintext.plain.sasl.jaas.config": ""}, "found no user"),
    ({"listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} user_ann="{SECRET}"'}, "a semicolon at the end"),
    ({"listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} user_ann="{SECRET};'}, "is not closed"),
    ({"listener.name.sasl_plaintext.plain.sasl.jaas.config": f'{PLAIN} user_ann "{SECRET}";'}, "incomplete"),
])  # fmt: skip
def test_invalid_settings_of_sasl_stop_the_start(settings: dict[str, str], words: str) -> None:
    with pytest.raises(InvalidConfigError) as refused:
        Broker(config={**sasl_settings(), **settings})
    assert words in str(refused.value)
    assert SECRET not in str(refused.value)


def test_sasl_over_tls(tmp_path: Path) -> None:
    settings = sasl_settings() | tls_settings(tmp_path, "SASL_SSL") | {
        "listener.name.sasl_ssl.plain.sasl.jaas.config": f'{PLAIN} user_ann="{SECRET}";',
    }  # fmt: skip
    del settings["listener.name.sasl_plaintext.plain.sasl.jaas.config"]
    with RunningBroker(config=settings) as broker:
        options = login(broker, "PLAIN") | {"security_protocol": "SASL_SSL", "ssl_cafile": str(tmp_path / "ca.pem")}
        with Admin(**options) as admin:
            admin.set_user("ann", SECRET, mechanism="SCRAM-SHA-512")
        with Admin(**(options | {"sasl_mechanism": "SCRAM-SHA-512"})) as admin:
            assert [each.name for each in admin.describe_users()] == ["ann"]
        with TlsPeer(broker, trusting(tmp_path)) as peer:
            peer.send(ProduceRequest(acks=1, timeout_ms=1, topic_data=[]), 9)
            assert peer.is_closed()


def test_a_nonce_that_repeats_the_part_of_the_client_is_refused_with_the_remedy() -> None:
    """librdkafka before 2.6, such as that of Debian's kcat, sends its own part twice. Apache Kafka refuses it."""
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        with Peer(broker) as peer:
            peer.call(SaslHandshakeRequest(mechanism="SCRAM-SHA-256"), 1)
            client = ScramClient("SCRAM-SHA-256", "ann", SECRET, "own")
            challenge = bytes(peer.call(SaslAuthenticateRequest(auth_bytes=client.first())).auth_bytes).decode()
            repeated = challenge.replace("r=own", "r=ownown", 1)
            said = dict(part.split("=", 1) for part in challenge.split(","))
            salted = hashlib.pbkdf2_hmac("sha256", SECRET.encode(), base64.b64decode(said["s"]), int(said["i"]))
            key = hmac.digest(salted, b"Client Key", "sha256")
            final = f"c=biws,{repeated.partition(',')[0]}"
            signed = f"n=ann,r=own,{challenge},{final}".encode()
            signature = hmac.digest(hashlib.sha256(key).digest(), signed, "sha256")
            proof = base64.b64encode(bytes(one ^ other for one, other in zip(key, signature, strict=True))).decode()
            refused = peer.call(SaslAuthenticateRequest(auth_bytes=f"{final},p={proof}".encode()))
            assert refused.error_code == 58
            assert "librdkafka before 2.6" in refused.error_message
