"""TLS and SCRAM, end to end, over asyncio and over blocking sockets."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import ssl
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest
from tests.client.scripted_broker import SILENCE, ScriptedBroker

from kafkawire.client._admin.admin import Admin
from kafkawire.client._cluster import blocking_connection as sockets
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client._cluster.cluster import Cluster
from kafkawire.client._cluster.connection import Connection
from kafkawire.client.errors import AuthenticationFailedError, ClosedError, ConnectionLostError
from kafkawire.client.options import ClientOptions
from kafkawire.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    SaslAuthenticateResponse,
    SaslHandshakeResponse,
)
from kafkawire.testing import RunningBroker

CERTIFICATE = Path(__file__).parent / "tls.pem"  # self-signed for localhost and 127.0.0.1, made for these tests
LOGIN: Final[dict[str, Any]] = {
    "security_protocol": "SASL_PLAINTEXT",
    "sasl_plain_username": "ada",
    "sasl_plain_password": "secret",
}


class ScramServer:
    """The broker's side of SCRAM for the user ada with the password secret."""

    def __init__(self, digest: str, password: bytes = b"secret") -> None:
        self._digest = digest
        salted = hashlib.pbkdf2_hmac(digest, password, b"salt", 4096)
        client_key = hmac.digest(salted, b"Client Key", digest)
        self._stored = hashlib.new(digest, client_key).digest()
        self._server_key = hmac.digest(salted, b"Server Key", digest)
        self._log = ""

    def answer(self, request: Any, version: int) -> SaslAuthenticateResponse:
        token = bytes(request.auth_bytes).decode()
        if token.startswith("n,,"):
            bare = token[3:]
            nonce = bare.rpartition("r=")[2] + "server"
            first = f"r={nonce},s={base64.b64encode(b'salt').decode()},i=4096"
            self._log = f"{bare},{first}"
            return SaslAuthenticateResponse(auth_bytes=first.encode())
        without, _, proof = token.rpartition(",p=")
        signed = f"{self._log},{without}".encode()
        signature = hmac.digest(self._stored, signed, self._digest)
        key = bytes(one ^ other for one, other in zip(base64.b64decode(proof), signature, strict=True))
        if hashlib.new(self._digest, key).digest() != self._stored:
            return SaslAuthenticateResponse(error_code=58, error_message="wrong proof")
        final = base64.b64encode(hmac.digest(self._server_key, signed, self._digest)).decode()
        return SaslAuthenticateResponse(auth_bytes=f"v={final}".encode())


def broker_with_scram(mechanism: str, password: bytes = b"secret") -> ScriptedBroker:
    server = ScramServer("sha256" if mechanism.endswith("256") else "sha512", password)
    return ScriptedBroker(
        {
            "SaslHandshake": lambda request, version: SaslHandshakeResponse(mechanisms=[mechanism]),
            "SaslAuthenticate": server.answer,
        }
    )


async def open_both(broker: ScriptedBroker, host: str = "127.0.0.1", **options: Any) -> None:
    """Connect over asyncio and over a blocking socket."""
    settings = ClientOptions(**options)
    (await Connection.open(host, broker.port, settings)).close()
    loop = asyncio.get_running_loop()
    blocking = await loop.run_in_executor(None, SocketConnection, host, broker.port, settings)
    blocking.close()


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_accepts_the_right_password(mechanism: Any) -> None:
    async def main() -> None:
        async with broker_with_scram(mechanism) as broker:
            await open_both(
                broker,
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism=mechanism,
                sasl_plain_username="ada",
                sasl_plain_password="secret",
            )
            assert broker.names() == 2 * ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "SaslAuthenticate"]

    asyncio.run(main())


def test_scram_refuses_a_wrong_password() -> None:
    async def main() -> None:
        async with broker_with_scram("SCRAM-SHA-256", b"another") as broker:
            with pytest.raises(AuthenticationFailedError, match="SASL SCRAM-SHA-256 as 'ada': wrong proof"):
                await open_both(
                    broker,
                    security_protocol="SASL_PLAINTEXT",
                    sasl_mechanism="SCRAM-SHA-256",
                    sasl_plain_username="ada",
                    sasl_plain_password="secret",
                )

    asyncio.run(main())


def tls_broker() -> ScriptedBroker:
    broker = ScriptedBroker()
    broker.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    broker.tls.load_cert_chain(CERTIFICATE)
    return broker


def test_tls_with_a_certificate_that_is_trusted() -> None:
    async def main() -> None:
        async with tls_broker() as broker:
            await open_both(broker, security_protocol="SSL", ssl_cafile=str(CERTIFICATE))

    asyncio.run(main())


def test_a_certificate_that_nobody_vouches_for_is_refused() -> None:
    async def main() -> None:
        async with tls_broker() as broker:
            settings = ClientOptions(security_protocol="SSL")
            with pytest.raises(AuthenticationFailedError, match="self-signed certificate"):
                await Connection.open("127.0.0.1", broker.port, settings)
            loop = asyncio.get_running_loop()
            with pytest.raises(AuthenticationFailedError, match="self-signed certificate"):
                await loop.run_in_executor(None, SocketConnection, "127.0.0.1", broker.port, settings)

    asyncio.run(main())


def test_plain_text_on_a_tls_port_says_what_may_be_wrong() -> None:
    async def main() -> None:
        async with tls_broker() as broker:
            with pytest.raises(ConnectionLostError, match="does this listener want TLS"):
                await Connection.open("127.0.0.1", broker.port, ClientOptions())
            with pytest.raises(ConnectionLostError, match="does this listener want TLS"):
                await asyncio.to_thread(SocketConnection, "127.0.0.1", broker.port, ClientOptions())

    asyncio.run(main())


def lets_in_for(milliseconds: int, **handlers: Any) -> ScriptedBroker:
    return ScriptedBroker(
        {
            "SaslHandshake": lambda request, version: SaslHandshakeResponse(mechanisms=["PLAIN"]),
            "SaslAuthenticate": lambda request, version: SaslAuthenticateResponse(session_lifetime_ms=milliseconds),
            **handlers,
        }
    )


@pytest.mark.usefixtures("virtual_time")
def test_a_connection_that_is_let_in_for_a_while_is_replaced_before_that_is_over() -> None:
    async def main() -> None:
        async with lets_in_for(1000) as broker, Admin(bootstrap_servers=broker.bootstrap, **LOGIN) as admin:
            await admin.list_topics()
            known = broker.accepted
            await asyncio.sleep(0.8)
            await admin.list_topics()
            assert broker.accepted == known
            await asyncio.sleep(0.1)
            await admin.list_topics()
            assert broker.accepted == known + 1

    asyncio.run(main())


@pytest.mark.usefixtures("virtual_time")
def test_a_busy_connection_is_replaced_too_and_nothing_that_waits_on_it_is_lost() -> None:
    async def main() -> None:
        async with lets_in_for(1000, Heartbeat=lambda request, version: HeartbeatResponse()) as broker:
            cluster = Cluster(ClientOptions(bootstrap_servers=broker.bootstrap, **LOGIN))
            await cluster.start()
            old = await cluster.connection(0)
            known, broker.delay = broker.accepted, 0.5
            first = asyncio.create_task(cluster.request(0, HeartbeatRequest(), HeartbeatResponse))
            await asyncio.sleep(0.4)
            second = asyncio.create_task(cluster.request(0, HeartbeatRequest(), HeartbeatResponse))
            await asyncio.sleep(0.5)
            broker.delay = 0.0
            assert (first.done(), second.done(), old.in_flight) == (True, False, 1)
            new = await cluster.connection(0)
            assert (old.is_open, broker.accepted) == (False, known + 1)
            await asyncio.gather(first, second, new.request(HeartbeatRequest(), HeartbeatResponse))
            await cluster.close()

    asyncio.run(main())


@pytest.mark.parametrize("turns", [1, 5])
@pytest.mark.usefixtures("virtual_time")
def test_a_connection_that_is_being_replaced_is_closed_with_its_cluster(turns: int) -> None:
    async def main() -> None:
        async with lets_in_for(1000, Heartbeat=lambda request, version: SILENCE) as broker:
            cluster = Cluster(ClientOptions(bootstrap_servers=broker.bootstrap, **LOGIN))
            await cluster.start()
            old = await cluster.connection(0)
            unanswered = asyncio.create_task(cluster.request(0, HeartbeatRequest(), HeartbeatResponse))
            await asyncio.sleep(0.9)
            replaced = asyncio.create_task(cluster.connection(0))
            for _ in range(turns):
                await asyncio.sleep(0)
            await cluster.close()
            assert not old.is_open
            with pytest.raises(ConnectionLostError):
                await unanswered
            with pytest.raises(ClosedError):
                await replaced

    asyncio.run(main())


def test_a_blocking_connection_too_knows_when_its_time_is_about_over(monkeypatch: pytest.MonkeyPatch) -> None:
    async def main() -> SocketConnection:
        async with lets_in_for(1_000_000) as broker:
            return await asyncio.to_thread(SocketConnection, "127.0.0.1", broker.port, ClientOptions(**LOGIN))

    connection = asyncio.run(main())
    connection.close()
    assert not connection.is_stale
    now = time.monotonic()
    monkeypatch.setattr(sockets, "time", SimpleNamespace(monotonic=lambda: now + 900))
    assert connection.is_stale


def test_credentials_must_be_given() -> None:
    async def main() -> None:
        async with broker_with_scram("SCRAM-SHA-256") as broker:
            with pytest.raises(AuthenticationFailedError, match="needs sasl_plain_username and sasl_plain_password"):
                await open_both(broker, security_protocol="SASL_PLAINTEXT", sasl_mechanism="SCRAM-SHA-256")

    asyncio.run(main())


@pytest.mark.parametrize("kind", ["asyncio", "sockets"])
def test_a_client_with_tls_on_a_plaintext_listener_says_so(kind: str) -> None:
    with RunningBroker() as broker:
        host, _, port = broker.bootstrap_servers.partition(":")
        options = ClientOptions(security_protocol="SSL", ssl_check_hostname=False)

        async def connect() -> None:
            await Connection.open(host, int(port), options)

        def connect_and_block() -> None:
            SocketConnection(host, int(port), options)

        with pytest.raises(ConnectionLostError, match="is this listener plaintext"):
            asyncio.run(connect()) if kind == "asyncio" else connect_and_block()
