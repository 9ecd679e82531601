"""One capture that shows each incident, and one that nearly does."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.inspect.bodies import batch, commit, committed, fetch, fetched, produce, produced
from tests.inspect.captures import RST, Conversation

from kafkawire.messages import (
    ApiVersionsRequest,
    ApiVersionsResponse,
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
)

if TYPE_CHECKING:
    from collections.abc import Callable

    Build = Callable[[], list[Conversation]]

BEAT = (HeartbeatRequest(group_id="g", generation_id=3, member_id="m"), HeartbeatResponse(), 4)
NUMBERED = {"producer_id": 7, "producer_epoch": 0}


class Incident(NamedTuple):
    """What a rule must see, and what it must not mistake for it."""

    rule: str
    shows: Build
    nearly: Build


def talk(number: int = 0, client_id: str = "app") -> Conversation:
    return Conversation(client=(f"10.0.0.{number + 1}", 50_000 + number), client_id=client_id).open()


def _fetching(offsets: list[int], answer: Callable[[int], tuple[bytes, dict[str, Any]]], **request: Any) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for offset in offsets:
            records, more = answer(offset)
            mark = more.pop("hw", 150)
            one.exchange(fetch(0, -1, (0, offset), **request), fetched(0, (0, mark, records), **more), 11)
        return [one]

    return build


def _legacy(offsets: list[int], records: bytes, limit: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for offset in offsets:
            one.exchange(fetch(0, -1, (0, offset), limit=limit), fetched(0, (0, 150, records)), 2)
        return [one]

    return build


def _errors(codes: list[int]) -> Build:
    return _fetching([100] * len(codes), lambda _: (b"", {"error_code": codes[0], "hw": -1}) if codes else (b"", {}))


def _recovered() -> list[Conversation]:
    one = talk()
    for code in (1, 1, 1, 0):
        one.exchange(fetch(0, -1, (0, 100)), fetched(0, (0, 150, b""), error_code=code), 11)
    return [one]


def _silent(fetching: bool) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        one.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 5, b"")), 11)
        for _ in range(30):
            one.exchange(*BEAT, then=3000)
            if fetching:
                one.exchange(fetch(0, -1, (0, 5)), fetched(0, (0, 5, b"")), 11)
        return [one]

    return build


def _reset(target: int) -> Build:
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


def _producing(*answers: tuple[bytes, int, int], acks: int = -1, version: int = 9, pause: float = 100) -> Build:
    """Batches with the base offset and error that each is answered with."""

    def build() -> list[Conversation]:
        one = talk()
        for records, base, code in answers:
            one.exchange(produce(records, acks=acks), produced(base, error=code), version, then=pause)
        return [one]

    return build


def _closing(closer: str, *, acks: int = 0, idle: float = 50, flag: int = 1, pending: bool = False) -> Build:
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


def _starting(up: bytes, down: bytes = b"") -> Build:
    def build() -> list[Conversation]:
        one = talk().send(up).wait(1)
        if down:
            one.send(down, from_client=False)
        return [one.close("broker")]

    return build


def _huge(declared: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        one.exchange(*BEAT)
        one.send(struct.pack(">ihhih", declared, 0, 9, 2, 3) + b"app" + bytes(500)).wait(5)
        return [one.close("broker")]

    return build


def _unserved(version: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        key = ApiVersionsResponse.ApiVersion(api_key=1, min_version=4, max_version=12)
        one.exchange(ApiVersionsRequest(), ApiVersionsResponse(api_keys=[key]), 2)
        one.request(fetch(0, -1, (0, 5)), version)
        return [one.wait(3).close("broker")]

    return build


def _signing_in(code: int, lifetime: int = 0, after: float = 0) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        answer = SaslAuthenticateResponse(error_code=code, session_lifetime_ms=lifetime)
        one.exchange(SaslAuthenticateRequest(auth_bytes=b"x"), answer, 2).wait(after)
        if lifetime:
            one.exchange(*BEAT)
        return [one.close("broker")]

    return build


def _taking_over(other: str) -> Build:
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


def _joining(times: int, pause: float) -> Build:
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


def _throttled(milliseconds: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for _ in range(3):
            one.exchange(produce(batch(b"a")), produced(1, throttle=milliseconds), 9, then=10)
        return [one]

    return build


def _slow_produce() -> list[Conversation]:
    return [talk().exchange(produce(batch(b"a")), produced(1), 9, after=3000)]


def _long_poll() -> list[Conversation]:
    return [talk().exchange(fetch(0, -1, (0, 5), max_wait_ms=5000), fetched(0, (0, 5, b"")), 11, after=3000)]


def _sessions(codes: list[int]) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for epoch, code in enumerate(codes, 1):
            one.exchange(fetch(9, epoch), fetched(9, error=code), 11)
        return [one]

    return build


def _damaged(flip: int) -> bytes:
    raw = bytearray(batch(b"value"))
    raw[-2] ^= flip
    return bytes(raw)


def _metadata(count: int, pause: float) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for _ in range(count):
            one.exchange(MetadataRequest(topics=[]), MetadataResponse(), 9, then=pause)
        return [one]

    return build


def _commits(*offsets: int) -> Build:
    def build() -> list[Conversation]:
        one = talk()
        for number, offset in enumerate(offsets):
            one.exchange(fetch(0, -1, (0, 40 + number)), fetched(0, (0, 50 + number, b"")), 11)
            one.exchange(commit(offset), committed(), 8)
        return [one]

    return build


_CONTROL = batch(bytes(6), base_offset=100, is_control=True, is_transactional=True, **NUMBERED)
_DATA = batch(b"a" * 300, base_offset=100)
_COMPACTED = batch(b"a", base_offset=95, last_offset=105)
_SAME = batch(b"a", b"b")
_KAFKA = struct.pack(">ihhih", 10, 18, 0, 1, -1)
_HELLO = b"\x16\x03\x01\x00\x05hello"

INCIDENTS = {
    "hanging transaction": Incident(
        "stuck-hanging-transaction",
        _fetching([100] * 6, lambda _: (b"", {"hw": 150, "last_stable_offset": 100}), isolation_level=1),
        _fetching([100] * 6, lambda _: (b"", {"hw": 100, "last_stable_offset": 100}), isolation_level=1),
    ),
    "control batch not stepped over": Incident(
        "stuck-empty-batch",
        _fetching([100] * 6, lambda _: (_CONTROL, {})),
        _fetching([100, 101, 101, 101, 101, 101], lambda offset: (_CONTROL if offset == 100 else b"", {"hw": 101})),
    ),
    "compacted batch not stepped over": Incident(
        "stuck-empty-batch",
        _fetching([100] * 6, lambda _: (_COMPACTED, {})),
        _fetching([95] * 6, lambda _: (_COMPACTED, {})),
    ),
    "batch larger than the limit": Incident(
        "stuck-batch-too-large", _legacy([100] * 6, _DATA[:200], 200), _legacy([100] * 6, _DATA, 4000)
    ),
    "refetching": Incident(
        "stuck-refetching",
        _fetching([100] * 6, lambda _: (_DATA, {})),
        _fetching([100, 101, 102, 103, 104, 105], lambda offset: (batch(b"a", base_offset=offset), {})),
    ),
    "error loop": Incident("stuck-error-loop", _errors([1] * 6), _recovered),
    "beating without fetching": Incident("stuck-not-fetching", _silent(False), _silent(True)),
    "committing in place": Incident("stuck-not-fetching", _commits(5, 5, 5, 5, 5, 5), _commits(5, 6, 7, 8, 9, 10)),
    "reset by a lookup": Incident("offset-reset", _reset(0), _reset(600)),
    "commits going back": Incident("offset-reset", _commits(50, 10), _commits(10, 50)),
    "unknown topic": Incident(
        "unknown-topic", _producing(*[(_SAME, -1, 3)] * 4), _producing((_SAME, -1, 3), (_SAME, -1, 3), (_SAME, 5, 0))
    ),
    "acks 0 refused": Incident("closed-acks0", _closing("broker"), _closing("client")),
    "idle": Incident(
        "closed-idle", _closing("broker", acks=1, idle=600_000), _closing("broker", acks=1, idle=600_000, pending=True)
    ),
    "young connection": Incident(
        "closed-idle", _closing("client", acks=1, idle=90_000, flag=RST), _closing("broker", acks=1, idle=5_000)
    ),
    "HTTP": Incident("closed-not-kafka", _starting(b"GET / HTTP/1.1\r\n\r\n"), _starting(_KAFKA)),
    "TLS to plaintext": Incident("closed-not-kafka", _starting(_HELLO), _starting(_HELLO, _HELLO)),
    "plaintext to TLS": Incident(
        "closed-not-kafka", _starting(_KAFKA, b"\x15\x03\x03\x00\x02\x02\x46"), _starting(_KAFKA)
    ),
    "oversized request": Incident("closed-oversized", _huge(200_000_000), _huge(5_000)),
    "version not served": Incident("closed-unsupported-version", _unserved(13), _unserved(11)),
    "bad credentials": Incident("closed-authentication", _signing_in(58), _signing_in(0)),
    "session lapsed": Incident("closed-authentication", _signing_in(0, 1_000, 2_000), _signing_in(0, 60_000, 2_000)),
    "connections turned away": Incident(
        "closed-authentication",
        lambda: [Conversation(client=("10.0.0.1", 50_000 + n)).open().close("broker") for n in range(6)],
        lambda: [Conversation(client=("10.0.0.1", 50_000 + n)).open().close("broker") for n in range(2)],
    ),
    "pending requests": Incident(
        "closed-pending", _closing("client", acks=1, idle=30_000, flag=RST, pending=True), _closing("client", acks=1)
    ),
    "retries": Incident(
        "retries",
        _producing((batch(b"a", **NUMBERED, base_sequence=0), -1, 7), (batch(b"a", **NUMBERED, base_sequence=0), 5, 0)),
        _producing((batch(b"a", **NUMBERED, base_sequence=0), 5, 0), (batch(b"a", **NUMBERED, base_sequence=1), 6, 0)),
    ),
    "duplicates": Incident(
        "duplicates",
        _producing((_SAME, 5, 0), (_SAME, 7, 0)),
        _producing((batch(b"a", **NUMBERED, base_sequence=0), 5, 0), (batch(b"a", **NUMBERED, base_sequence=0), 5, 0)),
    ),
    "sequence gap": Incident(
        "sequence-gap",
        _producing(
            (batch(b"a", b"b", **NUMBERED, base_sequence=0), 5, 0), (batch(b"c", **NUMBERED, base_sequence=5), 7, 0)
        ),
        _producing(
            (batch(b"a", b"b", **NUMBERED, base_sequence=2**31 - 2), 5, 0),
            (batch(b"c", **NUMBERED, base_sequence=0), 7, 0),
        ),
    ),
    "fenced": Incident("fenced", _taking_over("tx"), _taking_over("other")),
    "record too large": Incident("oversized-records", _producing((_SAME, -1, 10)), _producing((_SAME, 5, 0))),
    "not enough replicas": Incident("durability", _producing((_SAME, -1, 19)), _producing((_SAME, 5, 0))),
    "rebalance storm": Incident("rebalance-storm", _joining(10, 3_000), _joining(2, 3_000)),
    "throttled": Incident("throttling", _throttled(500), _throttled(0)),
    "slow": Incident("slow-api", _slow_produce, _long_poll),
    "old versions": Incident("old-client", _producing((_SAME, 5, 0), version=2), _producing((_SAME, 5, 0), version=3)),
    "leaders moving": Incident(
        "leader-churn", _producing(*[(_SAME, -1, 6)] * 6), _producing(*[(_SAME, -1, 6)] * 6, pause=40_000)
    ),
    "corruption": Incident("corruption", _producing((_damaged(1), 5, 0)), _producing((_damaged(0), 5, 0))),
    "sessions not found": Incident("session-churn", _sessions([70] * 6), _sessions([0] * 6)),
    "single records": Incident(
        "inefficiency",
        _producing(*[(batch(b"%d" % n), n, 0) for n in range(25)]),
        _producing(*[(batch(*[b"%d" % n] * 10), n, 0) for n in range(25)]),
    ),
    "metadata in a loop": Incident("inefficiency", _metadata(20, 100), _metadata(20, 30_000)),
}
