"""Hostile bytes before authentication: frames and TLS records from clients without credentials.

Rules:
- Nothing is served: no handler but those of ApiVersions and SASL runs.
- Memory stays bounded, and a neighbour that is authenticated does not notice.
- `KAFKAWIRE_FRAMES` is the number of frames and records; the default is small, so that the test is quick.
"""

from __future__ import annotations

import os
import random
import socket
import ssl
import struct
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any, Final

import pytest
from tests.broker.security.secured import tls_settings

from kafkawire.client.blocking import Admin
from kafkawire.messages import SaslAuthenticateRequest, SaslHandshakeRequest
from kafkawire.testing import RunningBroker
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FRAMES: Final = int(os.environ.get("KAFKAWIRE_FRAMES", "2000"))
PER_CONNECTION: Final = 20
MOST_MEMORY: Final = 64 * 1024 * 1024
ALLOWED: Final = {"ApiVersions", "SaslHandshake", "SaslAuthenticate"}
PLAIN: Final = 'a.PlainLoginModule required user_ann="a-secret-word";'


def resident() -> int:
    """Bytes of memory that this process uses."""
    with open("/proc/self/statm", encoding="ascii") as file:  # noqa: PTH123  # a file of the system
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def hostile_frame(dice: random.Random) -> bytes:
    """A frame that some attacker may send."""
    kind = dice.randrange(8)
    if kind == 0:
        return dice.randbytes(dice.randrange(1, 64))
    if kind == 1:  # a size that nobody sends
        return struct.pack(">i", dice.choice([-1, 0, 1, 3, 524_289, 2**31 - 1])) + dice.randbytes(dice.randrange(40))
    if kind == 2:  # any API and version with a random body
        body = struct.pack(">hhih", dice.randrange(-2, 100), dice.randrange(-1, 20), 1, -1) + dice.randbytes(40)
        return struct.pack(">i", len(body)) + body
    mechanism = dice.choice(["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER", "GSSAPI", "", "P" * 200])
    if kind in (3, 4):
        return encode_request(
            SaslHandshakeRequest(mechanism=mechanism), version=dice.randrange(2), correlation_id=1, client_id="x"
        )
    token = dice.choice(
        [
            b"\0ann\0wrong",
            b"\0ann\0",
            b"n,,n=ann,r=" + dice.randbytes(8).hex().encode(),
            b"n,,n=,r=",
            b"c=biws,r=x,p=AAAA",
            b"n,,\x01auth=Bearer " + b"a." * dice.randrange(2000) + b"\x01\x01",
            dice.randbytes(dice.randrange(2000)),
        ]
    )
    if kind == 5:  # a bare token
        return struct.pack(">i", len(token)) + token
    request = encode_request(
        SaslAuthenticateRequest(auth_bytes=token), version=dice.randrange(3), correlation_id=1, client_id="x"
    )
    return request if kind == 6 else request[: dice.randrange(1, len(request))]


def hostile_record(dice: random.Random) -> bytes:
    """A TLS record that some attacker may send, or none at all."""
    kind = dice.choice([20, 21, 22, 23, 24, 99])
    content = dice.randbytes(dice.randrange(1, 300))
    if dice.randrange(2):  # a client hello with a wrong inside
        content = b"\x01" + len(content).to_bytes(3) + b"\x03\x03" + content
    length = dice.choice([len(content), 0, 16_385, 65_535])
    return (
        bytes([kind])
        + dice.choice([b"\x03\x01", b"\x03\x03", b"\x03\x04", b"\x02\x00"])
        + struct.pack(">H", length)
        + content
    )


def attack(port: int, frames: Iterator[bytes], context: ssl.SSLContext | None = None) -> bool:
    """Send frames on one connection; returns whether frames are left."""
    with suppress(OSError), ExitStack() as stack:
        wire = stack.enter_context(socket.create_connection(("127.0.0.1", port), 30))
        if context is not None:
            wire = stack.enter_context(context.wrap_socket(wire, server_hostname="localhost"))
        wire.settimeout(30)
        for number in range(PER_CONNECTION):
            frame = next(frames, None)
            if frame is None:
                return False
            wire.sendall(frame)
            if number % 7 == 6:
                wire.shutdown(socket.SHUT_WR)
                while wire.recv(65536):
                    pass
                break
    return True


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("protocol", ["SASL_PLAINTEXT", "SASL_SSL", "records"])
def test_nothing_is_served_before_authentication(protocol: str, tmp_path: Path) -> None:
    listener = "SASL_PLAINTEXT" if protocol == "SASL_PLAINTEXT" else "SASL_SSL"
    settings = {
        **tls_settings(tmp_path, listener),
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        f"listener.name.{listener.lower()}.plain.sasl.jaas.config": PLAIN,
        "connection.failed.authentication.delay.ms": "0",
    }
    dice = random.Random(17)
    make = hostile_record if protocol == "records" else hostile_frame
    frames = (make(dice) for _ in range(FRAMES // 3))
    context = ssl.create_default_context(cafile=tmp_path / "ca.pem") if protocol == "SASL_SSL" else None
    with RunningBroker(config=settings) as broker:
        port = int(broker.bootstrap_servers.rpartition(":")[2])
        options: dict[str, Any] = {
            "bootstrap_servers": broker.bootstrap_servers,
            "security_protocol": listener,
            "ssl_cafile": str(tmp_path / "ca.pem"),
            "sasl_plain_username": "ann",
            "sasl_plain_password": "a-secret-word",
        }
        with Admin(**options) as neighbour:
            before = resident()
            stopped = threading.Event()
            asked = 0
            failures: list[BaseException] = []

            def ask() -> None:
                nonlocal asked
                try:
                    while not stopped.is_set():
                        neighbour.describe_cluster()
                        asked += 1
                        stopped.wait(0.05)
                except BaseException as error:
                    failures.append(error)

            asking = threading.Thread(target=ask)
            asking.start()
            try:
                while attack(port, frames, context):
                    pass
            finally:
                stopped.set()
                asking.join()
            assert not failures
            assert asked > 0
            assert resident() - before < MOST_MEMORY
            mine = {"ApiVersions", "DescribeCluster", "Metadata"}
            assert {each.api for each in broker.requests} <= ALLOWED | mine
            served = [each for each in broker.requests if each.api not in ALLOWED]
            assert all(each.client_id == "kafkawire" for each in served)
            assert len(broker.call(lambda: list(broker.broker.server.connections))) <= 3
