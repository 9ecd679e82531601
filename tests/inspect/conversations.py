"""Short conversations of clients and brokers, good and bad, for incidents."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.inspect.captures import MILLISECOND, Conversation
from tests.inspect.sample_messages import batch, commit, committed, described, fetch, fetched, produce, produced

from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerProtocolAssignment,
    FetchRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    InitProducerIdRequest,
    InitProducerIdResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    MetadataRequest,
    MetadataResponse,
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
    ShareFetchRequest,
    ShareFetchResponse,
    ShareGroupHeartbeatRequest,
    ShareGroupHeartbeatResponse,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    SyncGroupRequest,
    SyncGroupResponse,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Build = Callable[[], list[Conversation]]

BEAT = (HeartbeatRequest(group_id="g", generation_id=3, member_id="m"), HeartbeatResponse(), 4)
ORDERS = UUID(int=77)
NUMBERED = {"producer_id": 7, "producer_epoch": 0}


def talk(number: int = 0, client_id: str = "app", *, greets: bool = True) -> Conversation:
    """A connection of a client that asks for the broker's versions first, as clients do."""
    one = Conversation(client=(f"10.0.0.{number + 1}", 50_000 + number), client_id=client_id).open()
    hello = ApiVersionsRequest(client_software_name="tests", client_software_version="1")
    return one.exchange(hello, ApiVersionsResponse(), 3) if greets else one


def fetching(offsets: list[int], answer: Callable[[int], tuple[bytes, dict[str, Any]]], **request: Any) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for offset in offsets:
            records, more = answer(offset)
            mark = more.pop("hw", 150)
            one.exchange(fetch(0, -1, (0, offset), **request), fetched(0, (0, mark, records), **more), 11)
        return [one]

    return build


def legacy(offsets: list[int], records: bytes, limit: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for offset in offsets:
            one.exchange(fetch(0, -1, (0, offset), limit=limit), fetched(0, (0, 150, records)), 2)
        return [one]

    return build


def errors(codes: list[int]) -> Build:
    return fetching([100] * len(codes), lambda _: (b"", {"error_code": codes[0], "hw": -1}) if codes else (b"", {}))


def recovered() -> list[Conversation]:
    one = talk()
    for code in (1, 1, 1, 0):
        one.exchange(fetch(0, -1, (0, 100)), fetched(0, (0, 150, b""), error_code=code), 11)
    return [one]


def silent(fetching: bool) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        one.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 5, b"")), 11)
        for _ in range(30):
            one.exchange(*BEAT, then=3000)
            if fetching:
                one.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 5, b"")), 11)
        return [one]

    return build


def sharing(*, fetching: tuple[int, ...], forgetting: tuple[int, ...] = (), newer: bool = False) -> Build:
    """A member that is given partitions 0 and 1, opens a session for some, and may forget some of them again."""

    def build() -> list[Conversation]:
        one = talk()
        one.exchange(MetadataRequest(topics=[]), described("orders", 2, topic_id=ORDERS), 12)
        one.exchange(*(given_newer() if newer else given()))
        one.exchange(fetch(0, 0, *[(number, 5) for number in fetching]), fetched(9), 11)
        gone = [FetchRequest.ForgottenTopic(topic="orders", partitions=list(forgetting))] if forgetting else []
        for epoch in range(1, 31):
            beat = (ConsumerGroupHeartbeatRequest(group_id="g", member_id="m"), ConsumerGroupHeartbeatResponse(), 0)
            one.exchange(*(beat if newer else BEAT), then=3000)
            one.exchange(fetch(9, epoch, forgotten_topics_data=gone if epoch == 1 else []), fetched(9), 11)
        return [one]

    return build


def given() -> tuple[SyncGroupRequest, SyncGroupResponse, int]:
    topic = ConsumerProtocolAssignment.TopicPartition(topic="orders", partitions=[0, 1])
    assignment = b"\0\3" + ConsumerProtocolAssignment(assigned_partitions=[topic]).encode(3)
    request = SyncGroupRequest(group_id="g", generation_id=3, member_id="m")
    return request, SyncGroupResponse(assignment=assignment), 3


def given_newer() -> tuple[ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse, int]:
    given = ConsumerGroupHeartbeatResponse.Assignment(
        topic_partitions=[ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=ORDERS, partitions=[0, 1])]
    )
    request = ConsumerGroupHeartbeatRequest(group_id="g", member_id="m")
    return request, ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=1, assignment=given), 0


def reset(target: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        one.exchange(fetch(0, -1, (0, 500)), fetched(0, (0, 900, b"")), 11)
        asked = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-2)
        found = ListOffsetsResponse.ListOffsetsPartitionResponse(partition_index=0, offset=target)
        one.exchange(
            ListOffsetsRequest(topics=[ListOffsetsRequest.ListOffsetsTopic(name="orders", partitions=[asked])]),
            ListOffsetsResponse(
                topics=[ListOffsetsResponse.ListOffsetsTopicResponse(name="orders", partitions=[found])]
            ),
            6,
        )
        one.exchange(fetch(0, -1, (0, target)), fetched(0, (0, 900, b"")), 11)
        return [one]

    return build


def producing(*answers: tuple[bytes, int, int], acks: int = -1, version: int = 9, pause: float = 100) -> Build:
    """Batches with the base offset and error that each is answered with."""

    def build() -> list[Conversation]:
        one = talk()
        for records, base, code in answers:
            one.exchange(produce(records, acks=acks), produced(base, error=code), version, then=pause)
        return [one]

    return build


def closing(closer: str, *, acks: int = 0, idle: float = 50, flag: int = 1, pending: bool = False) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        one.exchange(*BEAT)
        if acks == 0:
            one.request(produce(batch(b"a"), acks=0), 9)
        if pending:
            one.request(produce(batch(b"a")), 9)
        one.wait(idle).close(closer, flag)
        return [one]

    return build


def polling_until(milliseconds: float) -> Build:
    """A client that closes while its fetch, which may wait for half a second, has no answer."""

    def build() -> list[Conversation]:
        one = talk()
        one.request(fetch(0, -1, (0, 5)), 11)
        return [one.wait(milliseconds).close("client")]

    return build


def starting(up: bytes, down: bytes = b"") -> Build:
    def build() -> list[Conversation]:
        one = talk(greets=False).send(up).wait(1)
        if down:
            one.send(down, from_client=False)
        return [one.close("broker")]

    return build


def huge(declared: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        one.exchange(*BEAT)
        one.send(struct.pack(">ihhih", declared, 0, 9, 2, 3) + b"app" + bytes(500)).wait(5)
        return [one.close("broker")]

    return build


def unserved(version: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        key = ApiVersionsResponse.ApiVersion(api_key=1, min_version=4, max_version=12)
        one.exchange(ApiVersionsRequest(), ApiVersionsResponse(api_keys=[key]), 2)
        one.request(fetch(0, -1, (0, 5)), version)
        return [one.wait(3).close("broker")]

    return build


def signing_in(code: int, lifetime: int = 0, after: float = 0) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        answer = SaslAuthenticateResponse(error_code=code, session_lifetime_ms=lifetime)
        one.exchange(SaslAuthenticateRequest(auth_bytes=b"x"), answer, 2).wait(after)
        if lifetime:
            one.exchange(*BEAT)
        return [one.close("broker")]

    return build


def taking_over(other: str) -> Build:
    def build() -> list[Conversation]:
        one, two = talk(0), talk(1)
        one.exchange(InitProducerIdRequest(transactional_id="tx"), InitProducerIdResponse(producer_id=7), 4)
        two.wait(1000).exchange(InitProducerIdRequest(transactional_id=other), InitProducerIdResponse(producer_id=8), 4)
        code = 47 if other == "tx" else 0
        request = produce(batch(b"a", **NUMBERED, base_sequence=0))
        request.transactional_id = "tx"
        one.wait(3000).exchange(request, produced(5, error=code), 9)
        return [one, two]

    return build


def joining(times: int, pause: float) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for generation in range(times):
            one.exchange(
                JoinGroupRequest(group_id="g", member_id="m", protocol_type="consumer", reason="rebalance timeout"),
                JoinGroupResponse(generation_id=generation, protocol_name="range", leader="m", member_id="m"),
                8,
                after=200,
                then=pause,
            )
        return [one]

    return build


def gathering(members: int) -> Build:
    """Members that come one after the other, each with the handshake of a new member (KIP-394), and then go."""

    def build() -> list[Conversation]:
        talks = [talk(number) for number in range(members)]
        moment = talks[0].now
        present = (*range(1, members + 1), *range(members - 1, 0, -1))
        for generation, count in enumerate(present, 1):
            moment += 500 * MILLISECOND
            for number, one in enumerate(talks[:count]):
                one.now = max(one.now, moment)
                if generation == number + 1:
                    asked = JoinGroupRequest(group_id="g", member_id="", protocol_type="consumer")
                    one.exchange(asked, JoinGroupResponse(error_code=79, member_id=f"m{number}"), 8)
                asked = JoinGroupRequest(group_id="g", member_id=f"m{number}", protocol_type="consumer")
                given = JoinGroupResponse(generation_id=generation, protocol_name="range", member_id=f"m{number}")
                one.exchange(asked, given, 8, after=100)
        return talks

    return build


def changing_epochs(times: int, pause: float, request: Any = None, response: Any = None) -> Build:
    """A member whose epoch is another one with every heartbeat; of a consumer group, or of the kind of the messages."""
    asked, given = request or ConsumerGroupHeartbeatRequest, response or ConsumerGroupHeartbeatResponse

    def build() -> list[Conversation]:
        one = talk()
        for epoch in range(times):
            one.exchange(
                asked(group_id="g", member_id="m", member_epoch=epoch),
                given(member_id="m", member_epoch=epoch + 1),
                0,
                then=pause,
            )
        return [one]

    return build


def changing_share_epochs(times: int, pause: float) -> Build:
    return changing_epochs(times, pause, ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse)


def changing_streams_epochs(times: int, pause: float) -> Build:
    return changing_epochs(times, pause, StreamsGroupHeartbeatRequest, StreamsGroupHeartbeatResponse)


def giving_up(beats: int, *, after: int, pause: float = 5_000) -> Build:
    """A member that is asked to give up two of its four partitions, and does so after some heartbeats.

    Another member, which waits for them, has the newer epoch.
    """
    kind, parts = ConsumerGroupHeartbeatResponse, ConsumerGroupHeartbeatRequest.TopicPartitions

    def answered(epoch: int, *partitions: int) -> ConsumerGroupHeartbeatResponse:
        given = kind.Assignment(topic_partitions=[kind.TopicPartitions(topic_id=ORDERS, partitions=[*partitions])])
        return kind(member_id="m", member_epoch=epoch, assignment=given if partitions else None)

    def build() -> list[Conversation]:
        one, other = talk(), talk(1)
        asked: dict[str, Any] = {"group_id": "g", "member_id": "m"}
        one.exchange(ConsumerGroupHeartbeatRequest(**asked, topic_partitions=[]), answered(1, 0, 1, 2, 3), 1)
        owned = [parts(topic_id=ORDERS, partitions=[0, 1, 2, 3])]
        one.exchange(ConsumerGroupHeartbeatRequest(**asked, member_epoch=1, topic_partitions=owned), answered(1), 1)
        other.exchange(
            ConsumerGroupHeartbeatRequest(group_id="g", member_id="n", topic_partitions=[]),
            kind(member_id="n", member_epoch=2),
            1,
        )
        one.exchange(ConsumerGroupHeartbeatRequest(**asked, member_epoch=1), answered(1, 0, 1), 1, then=pause)
        epoch = 1
        for number in range(beats):
            beat = ConsumerGroupHeartbeatRequest(**asked, member_epoch=epoch)
            if number == after:
                beat.topic_partitions = [parts(topic_id=ORDERS, partitions=[0, 1])]
                epoch = 2
            one.exchange(beat, answered(epoch), 1, then=pause)
        if after > beats:
            one.exchange(ConsumerGroupHeartbeatRequest(**asked, member_epoch=1), kind(error_code=110), 1)
        return [one, other]

    return build


def delivering(times: int) -> Build:
    """A record that a share group gets so many times, because its member releases it."""
    kind = ShareFetchResponse

    def build() -> list[Conversation]:
        one = talk()
        for count in range(times):
            asked = ShareFetchRequest.FetchPartition(partition_index=0)
            if count:
                asked.acknowledgement_batches = [
                    ShareFetchRequest.AcknowledgementBatch(first_offset=7, last_offset=7, acknowledge_types=[2])
                ]
            topic = ShareFetchRequest.FetchTopic(topic_id=ORDERS, partitions=[asked])
            request = ShareFetchRequest(group_id="g", member_id="m", share_session_epoch=count, topics=[topic])
            got = [
                kind.AcquiredRecords(first_offset=7, last_offset=7, delivery_count=count + 1),
                kind.AcquiredRecords(first_offset=8, last_offset=9, delivery_count=1),
            ]
            found = kind.PartitionData(partition_index=0, records=batch(b"a"), acquired_records=got)
            answer = kind.ShareFetchableTopicResponse(topic_id=ORDERS, partitions=[found])
            one.exchange(request, kind(responses=[answer]), 1)
        return [one]

    return build


def throttled(milliseconds: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for _ in range(3):
            one.exchange(produce(batch(b"a")), produced(1, throttle=milliseconds), 9, then=10)
        return [one]

    return build


def slow_produce() -> list[Conversation]:
    return [talk().exchange(produce(batch(b"a")), produced(1), 9, after=3000)]


def long_poll() -> list[Conversation]:
    return [talk().exchange(fetch(0, -1, (0, 5), max_wait_ms=5000), fetched(0, (0, 5, b"")), 11, after=3000)]


def sessions(codes: list[int]) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for epoch, code in enumerate(codes, 1):
            one.exchange(fetch(9, epoch), fetched(9, error=code), 11)
        return [one]

    return build


def full_fetches(count: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for number in range(count):
            one.exchange(fetch(0, 0, (0, number)), fetched(number + 1), 11)
        return [one]

    return build


def refetching(*commits: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for offset in commits:
            one.exchange(fetch(0, -1, (0, 100)), fetched(0, (0, 150, DATA)), 11)
            one.exchange(commit(offset), committed(), 8)
        return [one]

    return build


def damaged(flip: int) -> bytes:
    raw = bytearray(batch(b"value"))
    raw[-2] ^= flip
    return bytes(raw)


def metadata(count: int, pause: float) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for _ in range(count):
            one.exchange(MetadataRequest(topics=[]), MetadataResponse(), 9, then=pause)
        return [one]

    return build


def commits(*offsets: int, grown_before: int = 0) -> Build:
    """Commits while the log grows; of a log that grew before them only, each time all of it."""

    def build() -> list[Conversation]:
        one = talk()
        for end in range(50, 50 + grown_before):
            one.exchange(fetch(0, -1, (0, end)), fetched(0, (0, end, b"")), 11)
        for number, offset in enumerate(offsets):
            end = offset if grown_before else 50 + number
            one.exchange(fetch(0, -1, (0, 40 + number)), fetched(0, (0, end, b"")), 11)
            one.exchange(commit(offset), committed(), 8)
        return [one]

    return build


def in_epoch(epoch: int, sequence: int, value: bytes) -> bytes:
    return batch(value, producer_id=7, producer_epoch=epoch, base_sequence=sequence)


CONTROL = batch(bytes(6), base_offset=100, is_control=True, is_transactional=True, **NUMBERED)
DATA = batch(b"a" * 300, base_offset=100)
COMPACTED = batch(b"a", base_offset=95, last_offset=105)
SAME = batch(b"a", b"b")
LARGE = bytes(1_200_000)
KAFKA = struct.pack(">ihhih", 10, 18, 0, 1, -1)
GREETING = struct.pack(">iihi", 10, 1, 0, 0)
HELLO = b"\x16\x03\x01\x00\x05hello"
