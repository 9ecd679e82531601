"""TLS listeners over real sockets: certificates of both sides, principals, reload, and nothing in plain text."""

from __future__ import annotations

import asyncio
import logging
import os
import ssl
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer
from tests.broker.security.secured import HOSTS, TlsPeer, authority, plain_socket, principals, tls_settings, trusting
from tests.broker.security.wiretap import Wiretap

from kafkawire.broker._net.send_queue import DirectSendQueue
from kafkawire.broker._security import tls
from kafkawire.broker._security.development_certificates import DevelopmentAuthority
from kafkawire.client import Admin as AsyncAdmin
from kafkawire.client import AuthenticationFailedError, NewTopic
from kafkawire.client.blocking import Admin, Consumer, Producer
from kafkawire.messages import ApiVersionsRequest, IncrementalAlterConfigsRequest, MetadataRequest
from kafkawire.testing import RunningBroker, _running

if TYPE_CHECKING:
    from pathlib import Path

MARKER = b"a record that nobody may read on the network"


@pytest.fixture(params=["uvloop", "asyncio"])
def _loop(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both loops: they have different implementations of TLS."""
    if request.param == "asyncio":
        monkeypatch.setattr(_running, "new_loop", asyncio.new_event_loop)


@pytest.mark.usefixtures("_loop")
def test_records_are_produced_and_consumed_over_tls(tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data", config=tls_settings(tmp_path)) as broker:
        options: dict[str, Any] = {
            "bootstrap_servers": broker.bootstrap_servers,
            "security_protocol": "SSL",
            "ssl_cafile": str(tmp_path / "ca.pem"),
        }
        with Admin(**options) as admin:
            admin.create_topics([NewTopic(name="t", num_partitions=1)])
        large = os.urandom(900_000)
        with Producer(**options) as producer:
            for number in range(20):
                producer.send("t", value=large if number % 2 else b"%d" % number)
        with Consumer("t", auto_offset_reset="earliest", **options) as consumer:
            found = [consumer.getone().value for _ in range(20)]
        assert found == [large if number % 2 else b"%d" % number for number in range(20)]
        assert principals(broker) <= {"User:ANONYMOUS"}


def record_types(stream: bytes) -> set[int]:
    """The types of the TLS records that a stream consists of; an assertion fails on anything else."""
    found, position = set(), 0
    while position < len(stream):
        kind, version = stream[position], stream[position + 1 : position + 3]
        assert version in (b"\x03\x01", b"\x03\x03"), f"byte {position} is not a TLS record: {stream[position:][:16]!r}"
        length = int.from_bytes(stream[position + 3 : position + 5])
        assert length <= 16384 + 256
        found.add(kind)
        position += 5 + length
    assert position == len(stream)
    return found


def fetched_through_wiretap(broker: RunningBroker, **options: Any) -> list[bytearray]:
    """All bytes that the broker sends while a client reads large records out of files."""
    broker.create_topic("t")
    for _ in range(12):
        broker.produce("t", MARKER * 20_000)
    tap = Wiretap(broker)
    try:
        with (
            broker_as_seen_through(broker, tap.port),
            Consumer(
                "t",
                bootstrap_servers=f"127.0.0.1:{tap.port}",
                auto_offset_reset="earliest",
                max_partition_fetch_bytes=8_000_000,
                **options,
            ) as consumer,
        ):
            for _ in range(12):
                assert consumer.getone().value == MARKER * 20_000
    finally:
        tap.close()
    return tap.sent


class broker_as_seen_through:  # noqa: N801  # used as a function
    """Lets the broker advertise another port."""

    def __init__(self, broker: RunningBroker, port: int) -> None:
        self._broker, self._port = broker, port

    def __enter__(self) -> None:
        def change() -> None:
            node = self._broker.broker.node
            node.endpoints = {name: each._replace(port=self._port) for name, each in node.endpoints.items()}

        self._broker.call(change)

    def __exit__(self, *_: object) -> None:
        pass


@pytest.mark.usefixtures("_loop")
def test_no_byte_of_plain_text_leaves_a_tls_connection(tmp_path: Path) -> None:
    with RunningBroker(tmp_path / "data", config=tls_settings(tmp_path)) as broker:
        sent = fetched_through_wiretap(broker, security_protocol="SSL", ssl_cafile=str(tmp_path / "ca.pem"))
        assert sum(map(len, sent)) > 10_000_000
        for stream in sent:
            assert MARKER not in stream
            assert record_types(bytes(stream)) <= {20, 21, 22, 23}


def test_the_wiretap_sees_the_records_of_a_plain_listener(tmp_path: Path) -> None:
    """The test above would fail on a TLS connection that sends on the raw socket, as this listener does."""
    with RunningBroker(tmp_path / "data") as broker:
        sent = fetched_through_wiretap(broker)
        assert any(MARKER in stream for stream in sent)


@pytest.mark.usefixtures("_loop")
def test_the_queue_of_a_tls_connection_has_no_socket(tmp_path: Path) -> None:
    with RunningBroker(config=tls_settings(tmp_path)) as broker, TlsPeer(broker, trusting(tmp_path)) as peer:
        peer.call(ApiVersionsRequest(), 0)
        (connection,) = broker.call(lambda: list(broker.broker.server.connections))
        assert not isinstance(connection._queue, DirectSendQueue)
        assert not hasattr(connection._queue, "_socket")


@pytest.mark.usefixtures("_loop")
@pytest.mark.parametrize(("wanted", "sends", "served"), [
    ("none", False, "User:ANONYMOUS"),
    ("none", True, "User:ANONYMOUS"),
    ("requested", False, "User:ANONYMOUS"),
    ("requested", True, "User:CN=ann"),
    ("required", True, "User:CN=ann"),
])  # fmt: skip
def test_the_certificate_of_a_client_names_its_principal(tmp_path: Path, wanted: str, sends: bool, served: str) -> None:
    settings = tls_settings(tmp_path, ssl_client_auth=wanted)
    certificate = authority().issue("ann").both if sends else ""
    with RunningBroker(config=settings) as broker, TlsPeer(broker, trusting(tmp_path, certificate)) as peer:
        peer.call(ApiVersionsRequest(), 0)
        assert principals(broker) == {served}


@pytest.mark.usefixtures("_loop")
@pytest.mark.parametrize("certificate", ["none", "expired", "of another authority"])
def test_a_client_without_a_good_certificate_is_refused_where_one_is_required(
    tmp_path: Path, certificate: str, caplog: pytest.LogCaptureFixture
) -> None:
    issued = {
        "none": "",
        "expired": authority().issue("ann", days=-1).both,
        "of another authority": DevelopmentAuthority.create("other").issue("ann").both,
    }[certificate]
    with RunningBroker(config=tls_settings(tmp_path, ssl_client_auth="required")) as broker:
        # with TLS 1.3 the client's handshake ends before the broker has judged the certificate
        with pytest.raises((OSError, EOFError)), TlsPeer(broker, trusting(tmp_path, issued)) as peer:
            peer.call(ApiVersionsRequest(), 0)
        wait_for(caplog, {
            "none": "the client sent no certificate, and ssl.client.auth is required",
            "expired": "the client's certificate is refused: certificate has expired",
            "of another authority": "the client's certificate is refused",
        }[certificate])  # fmt: skip
        assert broker.call(lambda: broker.broker.metrics.refused) == {"tls": 1}


@pytest.mark.usefixtures("_loop")
@pytest.mark.parametrize("version", ["TLSv1.2", "TLSv1.3"])
@pytest.mark.parametrize(("certificate", "words"), [
    ("", r"wants a certificate of this client .*ssl_certfile"),
    ("stranger", "the broker refuses the certificate of this client"),
])  # fmt: skip
def test_a_client_learns_that_its_certificate_is_refused(
    tmp_path: Path, certificate: str, words: str, version: str
) -> None:
    (tmp_path / "stranger.pem").write_text(DevelopmentAuthority.create("other").issue("ann").both)
    settings = tls_settings(tmp_path, ssl_client_auth="required", ssl_enabled_protocols=version)
    own = {"ssl.certificate.location": str(tmp_path / f"{certificate}.pem")} if certificate else {}
    with RunningBroker(config=settings) as broker:
        common = {"security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca.pem")}
        config = {"bootstrap.servers": broker.bootstrap_servers, **common, **own}

        async def connect() -> None:
            async with AsyncAdmin(config):
                pass

        with pytest.raises(AuthenticationFailedError, match=words):
            asyncio.run(connect())
        with pytest.raises(AuthenticationFailedError, match=words), Admin(config):
            pass


def wait_for(caplog: pytest.LogCaptureFixture, words: str) -> None:
    end = time.monotonic() + 30
    while words not in caplog.text:
        assert time.monotonic() < end, caplog.text
        time.sleep(0.01)


@pytest.mark.usefixtures("_loop")
def test_a_subject_that_no_rule_maps_closes_the_connection(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    rules = "RULE:^CN=(.*)-service$/$1/U"
    settings = tls_settings(tmp_path, ssl_client_auth="required", ssl_principal_mapping_rules=rules)
    with RunningBroker(config=settings) as broker:
        with TlsPeer(broker, trusting(tmp_path, authority().issue("orders-service").both)) as peer:
            peer.call(ApiVersionsRequest(), 0)
            assert principals(broker) == {"User:ORDERS"}
        with TlsPeer(broker, trusting(tmp_path, authority().issue("ann").both)) as peer:
            assert peer.is_closed()
        wait_for(caplog, "no rule of ssl.principal.mapping.rules matches 'CN=ann'")


@pytest.mark.usefixtures("_loop")
def test_a_plain_client_on_a_tls_port_is_named_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(config=tls_settings(tmp_path)) as broker:
        with plain_socket(broker) as wire:
            wire.sendall(bytes.fromhex("0000000a 0012 0000 00000001 ffff"))
            with suppress(ConnectionError):
                while wire.recv(4096):
                    pass
        wait_for(caplog, "the client does not speak TLS; on this listener it needs security.protocol=SSL")


def test_a_tls_client_on_a_plain_port_is_named_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker() as broker:
        with pytest.raises((ssl.SSLError, OSError)), plain_socket(broker) as wire:
            ssl.create_default_context().wrap_socket(wire, server_hostname="localhost")
        wait_for(caplog, "this looks like TLS on a plaintext port")


@pytest.mark.usefixtures("_loop")
def test_a_client_that_does_not_trust_the_certificate_is_named_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with RunningBroker(config=tls_settings(tmp_path)) as broker:
        with pytest.raises(ssl.SSLCertVerificationError):
            TlsPeer(broker, ssl.create_default_context())
        wait_for(caplog, "the client does not trust the certificate of this listener")


@pytest.mark.usefixtures("_loop")
def test_handshakes_that_never_end_count_as_connections(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(config=tls_settings(tmp_path, **{"max.connections.per.ip": "3"})) as broker:
        idle = [plain_socket(broker) for _ in range(3)]
        for each in idle:
            each.sendall(b"\x16\x03\x01")
        with plain_socket(broker) as fourth, suppress(ConnectionError):
            assert fourth.recv(1) == b""
        wait_for(caplog, "4 connections from 127.0.0.1, max.connections.per.ip is 3")
        for each in idle:
            each.close()
        end = time.monotonic() + 30
        while True:
            with suppress(OSError), TlsPeer(broker, trusting(tmp_path)) as peer:
                assert peer.call(ApiVersionsRequest(), 0).error_code == 0
                break
            assert time.monotonic() < end


@pytest.mark.usefixtures("_loop")
def test_changed_files_are_used_for_new_connections(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tls, "LOOK_SECONDS", 0.0)
    caplog.set_level(logging.INFO)
    with RunningBroker(config=tls_settings(tmp_path)) as broker, TlsPeer(broker, trusting(tmp_path)) as first:
        before = first.peer_certificate()["serialNumber"]
        replace(tmp_path / "server.pem", authority().issue("broker", HOSTS).both)
        with TlsPeer(broker, trusting(tmp_path)) as second:
            after = second.peer_certificate()["serialNumber"]
            assert after != before
        assert first.call(ApiVersionsRequest(), 0).error_code == 0
        replace(tmp_path / "server.pem", "not a certificate")
        with TlsPeer(broker, trusting(tmp_path)) as third:
            assert third.peer_certificate()["serialNumber"] == after
        wait_for(caplog, "certificate kept")
        replace(tmp_path / "server.pem", authority().issue("another", HOSTS).both)
        with TlsPeer(broker, trusting(tmp_path)) as fourth:
            assert fourth.peer_certificate()["serialNumber"] == after
        wait_for(caplog, "the new certificate is for CN=another, expected CN=broker")
        replace(tmp_path / "server.pem", authority().issue("broker", ["localhost"]).both)
        with TlsPeer(broker, trusting(tmp_path)) as fifth:
            assert fifth.peer_certificate()["serialNumber"] == after
        wait_for(caplog, "the new certificate lacks the names IP:127.0.0.1")


def replace(path: Path, text: str) -> None:
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").replace(path)


def alter(peer: TlsPeer, broker: str, **configs: str) -> tuple[int, str]:
    request = IncrementalAlterConfigsRequest(
        resources=[
            IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=4,
                resource_name=broker,
                configs=[
                    IncrementalAlterConfigsRequest.AlterableConfig(
                        name=name.replace("_", "."), config_operation=0, value=value
                    )
                    for name, value in configs.items()
                ],
            )
        ]
    )
    (answer,) = peer.call(request).responses
    return answer.error_code, answer.error_message or ""


def test_a_changed_setting_is_used_for_new_connections(tmp_path: Path) -> None:
    (tmp_path / "next.pem").write_text(authority().issue("broker", HOSTS).both)
    (tmp_path / "wrong.pem").write_text(authority().issue("another", HOSTS).both)
    name = "listener_name_ssl_ssl_keystore_location"
    with RunningBroker(config=tls_settings(tmp_path)) as broker, TlsPeer(broker, trusting(tmp_path)) as peer:
        before = peer.peer_certificate()["serialNumber"]
        code, words = alter(peer, "1", **{name: str(tmp_path / "wrong.pem")})
        assert (code, "expected CN=broker" in words) == (42, True)
        assert alter(peer, "", **{name: str(tmp_path / "next.pem")})[0] == 42
        assert alter(peer, "1", ssl_keystore_location=str(tmp_path / "next.pem"))[0] == 42
        assert alter(peer, "1", **{name: str(tmp_path / "next.pem")}) == (0, "")
        with TlsPeer(broker, trusting(tmp_path)) as next_peer:
            assert next_peer.peer_certificate()["serialNumber"] != before


def test_clients_get_the_address_of_the_listener_that_they_came_by(tmp_path: Path) -> None:
    settings = {
        **tls_settings(tmp_path),
        "listeners": "INSIDE://127.0.0.1:0,OUTSIDE://127.0.0.1:0",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:SSL",
        "advertised.listeners": "INSIDE://inside.example:0,OUTSIDE://outside.example:9099",
        "listener.name.outside.ssl.client.auth": "required",
    }
    with RunningBroker(config=settings) as broker:
        ports = broker.call(lambda: {name: place.port for name, place in broker.broker.listeners.items()})
        found = {}
        for name, port in ports.items():
            broker._bootstrap = f"127.0.0.1:{port}"
            if name == "OUTSIDE":
                with TlsPeer(broker, trusting(tmp_path, authority().issue("ann").both)) as peer:
                    (found[name],) = peer.call(MetadataRequest(topics=[]), 12).brokers
            else:
                with Peer(broker) as plain:
                    (found[name],) = plain.call(MetadataRequest(topics=[]), 12).brokers
        assert {name: (each.host, each.port) for name, each in found.items()} == {
            "INSIDE": ("inside.example", ports["INSIDE"]),
            "OUTSIDE": ("outside.example", 9099),
        }


def test_a_listener_that_anybody_reaches_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(config={"listeners": "PLAINTEXT://127.0.0.1:0"}):
        assert "without authentication" not in caplog.text
    with RunningBroker(config={"listeners": "PLAINTEXT://0.0.0.0:0"}):
        assert "listener without authentication listener=PLAINTEXT address=0.0.0.0" in caplog.text
        assert "start with --secure" in caplog.text
