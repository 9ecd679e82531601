"""Scenes in which a broker closes a connection because of a request."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from tests.inspect.conversations import BEAT, talk
from tests.inspect.sample_messages import batch, produce
from tests.inspect.test_newer_clients import answer, frame

from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    MetadataRequest,
    MetadataResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)

if TYPE_CHECKING:
    from tests.inspect.captures import Conversation
    from tests.inspect.conversations import Build

METADATA = MetadataRequest(topics=[]).encode(12)


def offering(number: int = 0, *, keys: tuple[int, ...] = (0, 1, 3, 12, 17, 18, 36)) -> Conversation:
    """A client that asked which versions the broker serves: up to 12 of each API."""
    served = [ApiVersionsResponse.ApiVersion(api_key=key, min_version=0, max_version=12) for key in keys]
    return talk(number, greets=False).exchange(ApiVersionsRequest(), ApiVersionsResponse(api_keys=served), 2)


def asking(
    key: int, version: int, body: bytes = METADATA, *, greets: bool = True, answered: bool = False, by: str = "broker"
) -> Build:
    """A request after which the connection is closed."""

    def build() -> list[Conversation]:
        one = offering() if greets else talk(greets=False)
        one.exchange(*BEAT) if greets else None
        one.correlation += 1
        one.send(frame(key, version, one.correlation, body)).wait(2)
        if answered:
            one.send(answer(one.correlation, MetadataResponse().encode(12)), from_client=False).wait(2)
        return [one.close(by)]

    return build


def sending(size: int, *, first: bool = False, by: str = "broker") -> Build:
    """A size at which no request follows."""

    def build() -> list[Conversation]:
        one = talk(greets=not first)
        return [one.send(struct.pack(">i", size) + bytes(20)).wait(2).close(by)]

    return build


def carrying(version: int, magic: int, acks: int = -1) -> Build:
    """A produce of records in this format."""

    def build() -> list[Conversation]:
        one = offering()
        one.exchange(*BEAT)
        one.request(produce(batch(b"a", magic=magic), acks=acks), version)
        return [one.wait(2).close("broker")]

    return build


def silent_on(greeting: bool) -> Build:
    """A broker that closes, before or after it answers the first ApiVersions."""

    def build() -> list[Conversation]:
        one = offering() if greeting else talk(greets=False)
        if not greeting:
            one.request(ApiVersionsRequest(), 3)
        return [one.wait(2).close("broker")]

    return build


def authenticating(*steps: str, other: bool = False, wait: float = 2) -> Build:
    """Steps of a client, the last of which has no answer; `other` authenticates itself on another connection."""

    def build() -> list[Conversation]:
        one = offering()
        exchanges = {
            "handshake": (SaslHandshakeRequest(mechanism="PLAIN"), SaslHandshakeResponse(mechanisms=["PLAIN"]), 1),
            "authenticate": (SaslAuthenticateRequest(auth_bytes=b"x"), SaslAuthenticateResponse(), 2),
            "metadata": (MetadataRequest(topics=[]), MetadataResponse(), 12),
        }
        for step in steps[:-1]:
            one.exchange(*exchanges[step])
        request, _, version = exchanges[steps[-1]]
        one.request(request, version)
        one.wait(wait).close("broker")
        if not other:
            return [one]
        two = offering(1)
        for step in ("handshake", "authenticate", "metadata"):
            two.exchange(*exchanges[step])
        return [one, two]

    return build
