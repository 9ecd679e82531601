"""Quotas: Kafka's formulas, who shares a meter, and clients that are held to their rate. The clock is the test's."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import ask, batch, begin
from tests.broker.security.guarded_requests import CASES, Names

from kafkawire import messages as m
from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._quotas.meters import Rate, TokenBucket
from kafkawire.broker._quotas.service import ClientQuotas, alteration
from kafkawire.broker._quotas.stored import CONSUMER, MUTATION, PRODUCER, REQUEST, Quota, StoredQuotas, entity_of
from kafkawire.broker._security.peer import Peer, Principal

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.broker._dispatch.call import Call, EncodedResponse
    from kafkawire.broker._node import Node
    from kafkawire.testing.manual_clock import ManualClock

MEGABYTE = 1_000_000
USER, CLIENT = "user", "client-id"


def set_quota(node: Node, key: str, value: float | None, **entity: str | None) -> None:
    parts = entity_of((kind.replace("_", "-"), name) for kind, name in entity.items())
    node.changes.run_now(alteration(node, [(parts, key, value)]))


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [([20], [10_000]), ([12], [2000]), ([10], [0]), ([5, 5, 1], [0, 0, 1000]), ([20, 1], [10_000, 11_000])],
)
def test_a_burst_of_ten_seconds_is_free_and_the_rest_is_waited_for(sizes: list[int], expected: list[int]) -> None:
    rate, found = Rate(11, 1000), []
    for size in sizes:
        rate.record(size * MEGABYTE, 0)
        found.append(rate.throttle_ms(MEGABYTE, 0))
    assert found == expected


def test_samples_leave_the_window_after_eleven_seconds() -> None:
    rate = Rate(11, 1000)
    rate.record(20 * MEGABYTE, 0)
    assert rate.throttle_ms(MEGABYTE, 10_000) == 10_000
    assert rate.throttle_ms(MEGABYTE, 11_000) == 0


def test_a_bucket_may_be_overdrawn_once_and_fills_at_its_rate() -> None:
    bucket = TokenBucket(11, 1000)
    assert bucket.throttle_ms(2.0, 0) == 0
    bucket.take(30, 2.0, 0)
    assert bucket.throttle_ms(2.0, 0) == 4000
    assert bucket.throttle_ms(2.0, 4000) == 0
    assert bucket.throttle_ms(2.0, 10_000_000) == 0
    bucket.take(23, 2.0, 10_000_000)  # a full bucket holds 22
    assert bucket.throttle_ms(2.0, 10_000_000) == 500


PRECEDENCE = [
    ((USER, "u"), (CLIENT, "c")),
    ((USER, "u"), (CLIENT, None)),
    ((USER, "u"),),
    ((USER, None), (CLIENT, "c")),
    ((USER, None), (CLIENT, None)),
    ((USER, None),),
    ((CLIENT, "c"),),
    ((CLIENT, None),),
]
SHARED = [("u", "c"), ("u", "c"), ("u", None), ("u", "c"), ("u", "c"), ("u", None), (None, "c"), (None, "c")]


@pytest.mark.parametrize("first", range(len(PRECEDENCE)))
def test_the_most_specific_quota_holds_and_says_who_shares_it(first: int) -> None:
    stored = StoredQuotas()
    for number, entity in enumerate(PRECEDENCE[first:], first):
        stored.set(entity_of(entity), PRODUCER, float(number + 1))
    stored.set(entity_of(PRECEDENCE[0]), CONSUMER, 99.0)
    assert stored.find(PRODUCER, "u", "c") == Quota(float(first + 1), *SHARED[first])


def test_an_empty_client_id_has_no_quota_of_client_ids() -> None:
    stored = StoredQuotas()
    stored.set(entity_of([(CLIENT, None)]), PRODUCER, 5.0)
    assert stored.find(PRODUCER, "u", "") is None
    stored.set(entity_of([(USER, None)]), PRODUCER, 7.0)
    assert stored.find(PRODUCER, "u", "") == Quota(7.0, "u", None)


def test_quotas_survive_a_stop_without_warning(open_node: Callable[..., Node]) -> None:
    node = open_node()
    set_quota(node, PRODUCER, 5.0, user="a", client_id=None)
    set_quota(node, CONSUMER, 5.0, user="a")
    set_quota(node, CONSUMER, None, user="a")
    again = open_node()
    assert again.quotas.stored.values == {((CLIENT, None), (USER, "a")): {PRODUCER: 5.0}}
    assert again.quotas.is_metering


def produce(node: Node, size: int, client_id: str = "c", acks: int = 1) -> Any:
    data = m.ProduceRequest.PartitionProduceData(index=0, records=batch(b"x" * size))
    topic = m.ProduceRequest.TopicProduceData(name="orders", partition_data=[data])
    return ask(node, m.ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[topic]), 9, client_id)


def test_a_produce_is_written_and_its_client_waits(node: Node) -> None:
    set_quota(node, PRODUCER, 1000.0, client_id="c")
    answer = produce(node, 20_000)
    assert answer.responses[0].partition_responses[0].error_code == 0
    assert 10_000 < answer.throttle_time_ms < 10_500
    assert produce(node, 20_000, "neighbour").throttle_time_ms == 0
    assert node.quotas.throttled == {PRODUCER: 1}


def test_without_quotas_nothing_is_metered(node: Node) -> None:
    assert not node.quotas.is_metering
    produce(node, 20_000)
    set_quota(node, PRODUCER, 1000.0, client_id="c")
    assert produce(node, 10).throttle_time_ms == 0
    set_quota(node, PRODUCER, None, client_id="c")
    assert not node.quotas.is_metering


def fetch(node: Node, offset: int = 0, session: tuple[int, int] = (0, -1), most: int = 1 << 20) -> Any:
    partition = m.FetchRequest.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=most)
    topic = m.FetchRequest.FetchTopic(topic="orders", partitions=[partition])
    request = m.FetchRequest(
        max_wait_ms=0, max_bytes=most, session_id=session[0], session_epoch=session[1], topics=[topic]
    )
    return ask(node, request, 11, "c")


def test_a_fetch_above_the_rate_is_empty_and_not_paid_for(node: Node, clock: ManualClock) -> None:
    for _ in range(2):
        produce(node, 4000)
    first = fetch(node, session=(0, 0))
    set_quota(node, CONSUMER, 1000.0, client_id="c")
    assert len(fetch(node).responses[0].partitions[0].records) > 8000  # within the burst of 10 s
    empty = fetch(node, session=(first.session_id, 1))
    assert empty.responses == []
    assert empty.session_id == first.session_id
    assert 1000 < empty.throttle_time_ms < 20_000
    clock.advance(11_000)  # the sample of the first fetch has left the window
    assert fetch(node, session=(first.session_id, 2)).responses[0].partitions[0].records
    assert fetch(node, session=(0, 0)).session_id == 0  # throttled again, so no session is made


def test_a_quota_caps_the_bytes_of_one_fetch(node: Node, clock: ManualClock) -> None:
    for _ in range(4):
        produce(node, 4000)
    set_quota(node, CONSUMER, 1000.0, user="ANONYMOUS")
    empty = fetch(node)
    assert empty.throttle_time_ms == 40  # the bytes around the records are above the burst
    clock.advance(empty.throttle_time_ms)
    answer = fetch(node)
    assert answer.throttle_time_ms == 0
    assert 8000 < len(answer.responses[0].partitions[0].records) <= 10_000


def create(node: Node, name: str, partitions: int, version: int) -> tuple[int, int]:
    topic = m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    answer = ask(node, m.CreateTopicsRequest(topics=[topic], timeout_ms=1000), version, "c")
    return answer.topics[0].error_code, answer.throttle_time_ms


def test_strict_versions_refuse_and_older_ones_are_delayed(node: Node, clock: ManualClock) -> None:
    set_quota(node, MUTATION, 1.0, user="ANONYMOUS")
    assert create(node, "a", 15, 7) == (0, 0)  # the bucket of 11 is overdrawn by 4
    assert create(node, "b", 1, 7) == (89, 4000)
    assert "b" not in node.topics
    assert create(node, "b", 1, 5) == (0, 5000)
    assert "b" in node.topics
    clock.advance(5000)
    assert create(node, "c", 1, 7) == (0, 0)
    removed = ask(node, m.DeleteTopicsRequest(topic_names=["a"], timeout_ms=1000), 5, "c")
    assert (removed.responses[0].error_code, removed.throttle_time_ms) == (89, 1000)
    grown = m.CreatePartitionsRequest.CreatePartitionsTopic(name="b", count=9, assignments=None)
    answer = ask(node, m.CreatePartitionsRequest(topics=[grown], timeout_ms=1000), 3, "c")
    assert answer.results[0].error_code == 89


def test_what_cannot_be_done_costs_nothing(node: Node) -> None:
    set_quota(node, MUTATION, 1.0, user="ANONYMOUS")
    for _ in range(30):
        assert create(node, "orders", 5, 7) == (36, 0)


def test_the_time_of_requests_is_limited(node: Node) -> None:
    set_quota(node, REQUEST, 0.0001, client_id="c")
    found = [ask(node, CASES["Metadata"].request(Names("orders", "", "")), 9, "c").throttle_time_ms for _ in range(3)]
    assert max(found) == 1000  # never longer than a sample
    assert ask(node, CASES["Metadata"].request(Names("orders", "", "")), 9, "d").throttle_time_ms == 0


def test_the_time_to_encode_a_response_counts(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    def used(client_id: str) -> float:
        metered = node.quotas.of("ANONYMOUS", client_id)._request
        return 0.0 if metered is None else metered[1].rate(node.clock.elapsed())

    set_quota(node, REQUEST, 100.0, client_id="slow")
    given = Dispatcher._encode

    def encode(dispatcher: Dispatcher, call: Call) -> EncodedResponse:
        end = perf_counter() + 0.05
        while perf_counter() < end:
            pass
        return given(dispatcher, call)

    monkeypatch.setattr(Dispatcher, "_encode", encode)
    ask(node, CASES["Metadata"].request(Names("orders", "", "")), 9, "slow")
    assert used("slow") * node.quotas.burst_seconds >= 5.0  # percent of a second, over the window
    ask(node, CASES["Metadata"].request(Names("orders", "", "")), 9, "free")
    assert used("free") == 0.0


def test_no_time_between_two_measurements_of_a_request_is_free(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    set_quota(node, REQUEST, 100.0, client_id="c")
    quota = node.quotas.of("ANONYMOUS", "c")
    metered: list[float] = []

    def note(_: object, seconds: float) -> int:
        metered.append(seconds)
        return 0

    monkeypatch.setattr(ClientQuotas, "worked", note)
    monkeypatch.setattr(ClientQuotas, "encoded", note)
    assert quota.meters_time
    ticks = iter(range(1_000))
    readings: list[float] = []

    def read_clock() -> float:
        readings.append(float(next(ticks)))
        return readings[-1]

    monkeypatch.setattr("kafkawire.broker._dispatch.dispatcher.perf_counter", read_clock)
    call = begin(node, CASES["Metadata"].request(Names("orders", "", "")), 9, "c")
    assert call.frame is not None
    assert call.metered is not None
    assert len(metered) == 2
    assert sum(metered) == call.route.metrics.seconds


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_version_without_the_field_can_be_throttled(node: Node, version: int) -> None:
    set_quota(node, REQUEST, 0.000001, user="ANONYMOUS")
    for _ in range(2):
        assert not hasattr(ask(node, m.MetadataRequest(topics=[]), version), "missing")


def test_a_user_of_a_listener_has_its_own_quota(node: Node) -> None:
    set_quota(node, PRODUCER, 1000.0, user="alice")
    data = m.ProduceRequest.PartitionProduceData(index=0, records=batch(b"x" * 20_000))
    topic = m.ProduceRequest.TopicProduceData(name="orders", partition_data=[data])
    request = m.ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
    alice = Peer(principal=Principal("User", "alice"))
    assert ask(node, request, 9, peer=alice).throttle_time_ms > 0
    assert ask(node, request, 9).throttle_time_ms == 0


def describe(node: Node, *components: tuple[str, int, str | None], strict: bool = False) -> Any:
    kind = m.DescribeClientQuotasRequest.ComponentData
    parts = [kind(entity_type=each, match_type=number, match=name) for each, number, name in components]
    return ask(node, m.DescribeClientQuotasRequest(components=parts, strict=strict))


def alter(node: Node, *entries: tuple[dict[str, str | None], dict[str, float | None]], only: bool = False) -> list[int]:
    kind = m.AlterClientQuotasRequest
    made = [
        kind.EntryData(
            entity=[kind.EntityData(entity_type=each, entity_name=name) for each, name in entity.items()],
            ops=[kind.OpData(key=key, value=value or 0.0, remove=value is None) for key, value in values.items()],
        )
        for entity, values in entries
    ]
    return [each.error_code for each in ask(node, kind(entries=made, validate_only=only)).entries]


def test_quotas_are_set_listed_and_removed_over_the_wire(node: Node) -> None:
    assert alter(node, ({USER: "a"}, {PRODUCER: 5.0, CONSUMER: 6.0}), ({USER: None, CLIENT: "c"}, {REQUEST: 0.5})) == [
        0,
        0,
    ]
    assert alter(node, ({"ip": "127.0.0.1"}, {"connection_creation_rate": 3.0})) == [0]
    entries = {
        tuple((part.entity_type, part.entity_name) for part in each.entity): {one.key: one.value for one in each.values}
        for each in describe(node).entries
    }
    assert entries == {
        ((USER, "a"),): {PRODUCER: 5.0, CONSUMER: 6.0},
        ((CLIENT, "c"), (USER, None)): {REQUEST: 0.5},
        (("ip", "127.0.0.1"),): {"connection_creation_rate": 3.0},
    }
    assert len(describe(node, (USER, 2, None)).entries) == 2
    assert len(describe(node, (USER, 2, None), strict=True).entries) == 1
    assert len(describe(node, (USER, 1, None)).entries) == 1
    assert len(describe(node, (USER, 0, "a")).entries) == 1
    assert alter(node, ({USER: "a"}, {PRODUCER: None, CONSUMER: None}), ({USER: "b"}, {PRODUCER: None})) == [0, 0]
    assert describe(node, (USER, 0, "a")).entries == []
    assert alter(node, ({USER: "a"}, {PRODUCER: 9.0}), only=True) == [0]
    assert describe(node, (USER, 0, "a")).entries == []


@pytest.mark.parametrize(
    ("components", "code"),
    [
        ([("", 0, "a")], 42),
        ([(USER, 0, "a"), (USER, 2, None)], 42),
        ([(USER, 0, None)], 42),
        ([(USER, 1, "a")], 42),
        ([(USER, 2, "a")], 42),
        ([(USER, 7, None)], 42),
        ([("ip", 2, None), (USER, 2, None)], 42),
        ([("group", 2, None)], 35),
    ],
)
def test_a_filter_that_cannot_be_meant_is_refused(node: Node, components: list[Any], code: int) -> None:
    answer = describe(node, *components)
    assert (answer.error_code, answer.entries) == (code, None)


@pytest.mark.parametrize(
    ("entity", "values"),
    [
        ({}, {PRODUCER: 1.0}),
        ({"group": "g"}, {PRODUCER: 1.0}),
        ({USER: ""}, {PRODUCER: 1.0}),
        ({USER: "a", "ip": "::1"}, {PRODUCER: 1.0}),
        ({"ip": "not an address"}, {"connection_creation_rate": 1.0}),
        ({"ip": "::1"}, {PRODUCER: 1.0}),
        ({USER: "a"}, {"connection_creation_rate": 1.0}),
        ({USER: "a"}, {"no_such_rate": 1.0}),
        ({USER: "a"}, {PRODUCER: -1.0}),
        ({USER: "a"}, {PRODUCER: 1.5}),
        ({USER: "a"}, {PRODUCER: 1e19}),
        ({USER: "a"}, {PRODUCER: float("nan")}),
    ],
)
def test_a_quota_that_cannot_be_is_refused_beside_one_that_can(
    node: Node, entity: dict[str, str | None], values: dict[str, float | None]
) -> None:
    assert alter(node, (entity, values), ({USER: "kept"}, {PRODUCER: 5.0})) == [42, 0]
    assert list(node.quotas.stored.values) == [((USER, "kept"),)]


def test_an_entity_or_a_key_twice_is_refused(node: Node) -> None:
    assert alter(node, ({USER: "a"}, {PRODUCER: 1.0}), ({USER: "a"}, {CONSUMER: 1.0})) == [42]
    assert not node.quotas.stored.values
    op = m.AlterClientQuotasRequest.OpData(key=PRODUCER, value=1.0)
    part = m.AlterClientQuotasRequest.EntityData(entity_type=USER, entity_name="a")
    entry = m.AlterClientQuotasRequest.EntryData(entity=[part], ops=[op, op])
    assert ask(node, m.AlterClientQuotasRequest(entries=[entry])).entries[0].error_code == 42
