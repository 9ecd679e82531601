"""Attacks on logins: hostile SCRAM messages, huge tokens, half handshakes, renegotiation, races with changes of users.

Rules:
- The broker answers or closes, logs no error, and serves its neighbours meanwhile.
- SEED varies what is random; a failure prints it.
"""

from __future__ import annotations

import base64
import logging
import os
import shutil
import subprocess
import threading
import time
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer
from tests.broker.security.secured import TlsPeer, plain_socket, tls_settings, trusting
from tests.broker.security.test_sasl import SECRET, login, plain, sasl_settings, with_users
from tests.broker.security.test_token_login import by_token, with_tokens

from kafkawire.client import AuthenticationFailedError
from kafkawire.client.blocking import Admin
from kafkawire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kafkawire.testing import RunningBroker
from kafkawire.wire.sasl import ScramClient

if TYPE_CHECKING:
    import socket
    from pathlib import Path

SEED = int(os.environ.get("KAFKAWIRE_SEED", "7"))
ROUNDS = int(os.environ.get("KAFKAWIRE_HOSTILE_ROUNDS", "150"))
SCRAM = "SCRAM-SHA-256"


def mangled(text: str, dice: Random) -> bytes:
    """A final message of SCRAM that is wrong in one way or another."""
    binding, nonce, proof = text.split(",")
    wrong: list[Any] = [
        f"{binding},{nonce},p={'A' * dice.choice([0, 1, 3, 4, 43, 44, 45, 4000])}",
        f"{binding},{nonce},{proof}=",
        f"{binding},{nonce},{proof},{proof}",
        f"{proof},{nonce},{binding}",
        f"{binding},{nonce},x={'y' * dice.randrange(1000)},{proof[:-3]}",
        f"{binding},{nonce}{chr(dice.randrange(33, 127))},{proof}",
        f"{binding},r=,{proof}",
        f"c=,{nonce},{proof}",
        f"c=biws,c=biws,{nonce},{proof}",
        f"{binding},{nonce},p={base64.b64encode(dice.randbytes(32)).decode()}",
        text.encode()[: dice.randrange(len(text))],
        dice.randbytes(dice.randrange(300)),
        b"\0" * dice.randrange(300),
        text.replace("=", "\N{FULLWIDTH EQUALS SIGN}"),
    ]
    found = dice.choice(wrong)
    return found if isinstance(found, bytes) else found.encode()


def errors(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]


def test_hostile_final_messages_of_scram_let_nobody_in(caplog: pytest.LogCaptureFixture) -> None:
    dice = Random(SEED)
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        for _ in range(ROUNDS):
            with Peer(broker) as peer:
                peer.call(SaslHandshakeRequest(mechanism=SCRAM), 1)
                client = ScramClient(SCRAM, "ann", SECRET)
                first = peer.call(SaslAuthenticateRequest(auth_bytes=client.first()))
                final = client.answer(bytes(first.auth_bytes)).decode()
                token = mangled(final, dice)
                if token == final.encode():
                    continue
                answer = peer.call(SaslAuthenticateRequest(auth_bytes=token))
                assert (answer.error_code, bytes(answer.auth_bytes)) == (58, b""), (SEED, token)
                assert peer.is_closed()
        with Peer(broker) as neighbour:
            assert plain(neighbour).error_code == 0
    assert errors(caplog) == []


def test_a_final_message_cannot_be_replayed() -> None:
    with RunningBroker(config=sasl_settings()) as broker:
        with_users(broker)
        client = ScramClient(SCRAM, "ann", SECRET)
        finals: list[bytes] = []
        for _ in range(2):
            with Peer(broker) as peer:
                peer.call(SaslHandshakeRequest(mechanism=SCRAM), 1)
                first = peer.call(SaslAuthenticateRequest(auth_bytes=client.first()))
                finals.append(finals[0] if finals else client.answer(bytes(first.auth_bytes)))
                codes = peer.call(SaslAuthenticateRequest(auth_bytes=finals[-1])).error_code
                assert codes == (0 if len(finals) == 1 else 58)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_huge_tokens_are_refused_quickly(mechanism: str, caplog: pytest.LogCaptureFixture) -> None:
    size = 524_288 - 200
    with RunningBroker(config=sasl_settings()) as broker:
        for token in (b"\0" * size, b"n,,n=" + b"=" * size, b"n,,n=a,r=" + b"," * size, b"n," * (size // 2)):
            with Peer(broker) as peer:
                peer.call(SaslHandshakeRequest(mechanism=mechanism), 1)
                began = time.monotonic()
                assert peer.call(SaslAuthenticateRequest(auth_bytes=token[:size])).error_code == 58
                assert time.monotonic() - began < 5
                assert peer.is_closed()
        with Peer(broker) as peer:
            peer.call(SaslHandshakeRequest(mechanism=mechanism), 1)
            peer.send(SaslAuthenticateRequest(auth_bytes=b"x" * 600_000))
            assert peer.is_closed()
    assert errors(caplog) == []


def test_half_handshakes_in_numbers_do_not_disturb_a_neighbour(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dice = Random(SEED)
    hello = bytes.fromhex("160301020001")
    with RunningBroker(config=tls_settings(tmp_path)) as broker:
        context = trusting(tmp_path)
        half: list[socket.socket] = []
        try:
            for _ in range(ROUNDS):
                place = plain_socket(broker)
                half.append(place)
                place.sendall(hello[: dice.randrange(1, len(hello) + 1)])
            began = time.monotonic()
            with TlsPeer(broker, context) as neighbour:
                for _ in range(20):
                    assert neighbour.call(MetadataRequest(topics=[]), 12).brokers
            assert time.monotonic() - began < 5
        finally:
            for place in half:
                place.close()
    assert errors(caplog) == []


@pytest.mark.skipif(shutil.which("openssl") is None, reason="the command openssl renegotiates")
def test_a_client_cannot_renegotiate(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with RunningBroker(config=tls_settings(tmp_path)) as broker:
        command = [
            "openssl",
            "s_client",
            "-tls1_2",
            "-connect",
            broker.bootstrap_servers,
            "-CAfile",
            f"{tmp_path}/ca.pem",
        ]
        done = subprocess.run(command, input="R\n" * 3, capture_output=True, text=True, timeout=30, check=False)
        assert "RENEGOTIATING" in done.stdout + done.stderr
        assert "no renegotiation" in (done.stdout + done.stderr).lower()
        with TlsPeer(broker, trusting(tmp_path)) as neighbour:
            assert neighbour.call(MetadataRequest(topics=[]), 12).brokers
    assert errors(caplog) == []


def test_a_token_outlives_its_user_until_it_is_expired() -> None:
    with RunningBroker(config=with_tokens()) as broker, Admin(**login(broker, "PLAIN")) as admin:
        admin.set_user("dan", "of-dan")
        with Admin(**login(broker, "SCRAM-SHA-512", "dan", "of-dan")) as dan:
            token = dan.create_delegation_token()
        admin.delete_user("dan")
        with pytest.raises(AuthenticationFailedError):
            Admin(**login(broker, "SCRAM-SHA-512", "dan", "of-dan"))
        with Admin(**by_token(broker, token)) as dan:
            assert dan.describe_cluster().nodes
        with Admin(**login(broker, "PLAIN", "bob", "b")) as other:
            (seen,) = other.describe_delegation_tokens(["User:dan"])
            assert seen == token


def test_a_login_beside_changes_of_its_password_is_right_or_refused(caplog: pytest.LogCaptureFixture) -> None:
    passwords = ("first", "second")
    outcomes: list[str] = []
    failures: list[BaseException] = []
    with RunningBroker(config=sasl_settings()) as broker:
        done = threading.Event()

        def log_in(password: str) -> None:
            try:
                while not done.is_set():
                    try:
                        with Admin(**login(broker, SCRAM, "eve", password)) as admin:
                            assert admin.describe_cluster().nodes
                        outcomes.append("right")
                    except AuthenticationFailedError as error:
                        outcomes.append("refused" if "is wrong" in str(error) else str(error))
            except BaseException as error:
                failures.append(error)

        with Admin(**login(broker, "PLAIN")) as admin:
            admin.set_user("eve", passwords[0], mechanism=SCRAM)
            threads = [threading.Thread(target=log_in, args=(each,)) for each in passwords]
            for thread in threads:
                thread.start()
            for number in range(40):
                if number % 5 == 4:
                    admin.delete_user("eve", mechanism=SCRAM)
                admin.set_user("eve", passwords[number % 2], mechanism=SCRAM)
            done.set()
            for thread in threads:
                thread.join()
        assert failures == []
        assert {"right", "refused"} == set(outcomes)
        with Admin(**login(broker, SCRAM, "eve", passwords[1])) as eve:
            assert eve.describe_cluster().nodes
    assert errors(caplog) == []
