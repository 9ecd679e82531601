"""Logins with delegation tokens over real sockets: who they are, how long they last, and kill -9."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.raw_connection import Peer
from tests.broker.security.test_sasl import login, sasl_settings

from kafkawire.broker._acls.authorizer import STANDARD
from kafkawire.client import AuthenticationFailedError, OptionError
from kafkawire.client.blocking import Admin, Consumer
from kafkawire.messages import MetadataRequest, SaslAuthenticateRequest, SaslHandshakeRequest
from kafkawire.messages.errors import (
    DelegationTokenAuthDisabledError,
    DelegationTokenRequestNotAllowedError,
    TopicAuthorizationFailedError,
)
from kafkawire.testing import ManualClock, RunningBroker
from kafkawire.wire.sasl import ScramClient

if TYPE_CHECKING:
    from kafkawire.client import DelegationToken

HOUR = 3_600_000
SCRAM = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def with_tokens(**more: str) -> dict[str, str]:
    return sasl_settings(delegation_token_secret_key="the-secret-key", **more)


def by_token(broker: RunningBroker, token: DelegationToken, mechanism: str = SCRAM[1]) -> dict[str, Any]:
    return {**login(broker, mechanism), **token.login(mechanism)}


@pytest.mark.parametrize("mechanism", SCRAM)
def test_a_token_is_its_owner(mechanism: str) -> None:
    settings = with_tokens(**{"authorizer.class.name": STANDARD, "super.users": "User:ann"})
    with RunningBroker(config=settings) as broker, Admin(**login(broker, "PLAIN")) as admin:
        broker.create_topic("t", 1)
        of_ann = admin.create_delegation_token()
        of_bob = admin.create_delegation_token(owner="bob")
        assert (of_bob.owner, of_bob.requester) == ("User:bob", "User:ann")
        with Consumer("t", **by_token(broker, of_ann, mechanism)) as consumer:
            assert consumer.getmany(timeout_ms=10) == {}
        with Admin(**by_token(broker, of_bob, mechanism)) as bob:
            with pytest.raises(TopicAuthorizationFailedError):
                bob.describe_topics(["t"])
            with pytest.raises(DelegationTokenRequestNotAllowedError):
                bob.describe_delegation_tokens()


def test_a_token_that_is_wrong_or_gone_gets_the_answer_of_a_wrong_password() -> None:
    with RunningBroker(config=with_tokens()) as broker, Admin(**login(broker, "PLAIN")) as admin:
        admin.set_user("a-name", "password")
        token = admin.create_delegation_token()
        good = by_token(broker, token)
        wrong: list[dict[str, Any]] = [
            {**good, "sasl_plain_password": "x"},
            {**good, "sasl_token_auth": False},
            {**good, "sasl_plain_username": "another"},
            {**good, "sasl_plain_username": "a-name", "sasl_plain_password": "password"},
        ]
        admin.expire_delegation_token(token)
        for options in (*wrong, good):
            with pytest.raises(AuthenticationFailedError, match="the user name or the password is wrong") as refused:
                Admin(**options)
            assert token.password not in str(refused.value)


def test_the_end_of_a_token_ends_its_sessions() -> None:
    clock = ManualClock(1_700_000_000_000)
    with RunningBroker(config=with_tokens(), clock=clock) as broker, Admin(**login(broker, "PLAIN")) as admin:
        token = admin.create_delegation_token(max_lifetime_ms=HOUR)
        with Peer(broker) as peer:
            peer.call(SaslHandshakeRequest(mechanism=SCRAM[0]), 1)
            client = ScramClient(SCRAM[0], token.token_id, token.password, token_auth=True)
            challenge = bytes(peer.call(SaslAuthenticateRequest(auth_bytes=client.first())).auth_bytes)
            done = peer.call(SaslAuthenticateRequest(auth_bytes=client.answer(challenge)))
            assert (done.error_code, done.session_lifetime_ms) == (0, HOUR)
            broker.call(lambda: clock.advance(HOUR - 1))
            assert peer.call(MetadataRequest(topics=[]), 12).brokers
            broker.call(lambda: clock.advance(1))
            peer.send(MetadataRequest(topics=[]), 12)
            assert peer.is_closed()


def test_a_broker_without_a_key_has_no_tokens() -> None:
    with (
        RunningBroker(config=sasl_settings()) as broker,
        Admin(**login(broker, "PLAIN")) as admin,
        pytest.raises(DelegationTokenAuthDisabledError),
    ):
        admin.create_delegation_token()


def test_a_token_needs_scram() -> None:
    with RunningBroker(config=with_tokens()) as broker, pytest.raises(OptionError, match="logs in by SCRAM-SHA-256"):
        Admin(**login(broker, "PLAIN"), sasl_token_auth=True)
