"""The pure parts of the share consumer: sessions, acknowledgements, acquired records."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkawire.client import AcknowledgeType, ClientError, ShareRecord, TopicPartition
from kafkawire.client._share.acknowledgements import GAP, Acknowledgements, Delivery, InFlight
from kafkawire.client._share.acquisition import acquired
from kafkawire.client._share.member import ShareMemberState
from kafkawire.client._share.session import ShareSession
from kafkawire.client.errors import CorruptFetchError
from kafkawire.client.options import ShareConsumerOptions
from kafkawire.messages import ShareFetchRequest, ShareFetchResponse, ShareGroupHeartbeatResponse
from kafkawire.records import BatchBuilder

ACCEPT, RELEASE, REJECT, RENEW = AcknowledgeType
T, U = UUID(int=1), UUID(int=2)
PLACE = TopicPartition("t", 0)
OPTIONS = ShareConsumerOptions(group_id="g", max_poll_records=50)


def session() -> ShareSession:
    return ShareSession("g", "m", 1)


def record(offset: int, count: int = 1) -> ShareRecord:
    return ShareRecord("t", 0, offset, 0, 0, None, b"", (), 0, count)


def said(types: dict[int, int], of: ShareSession | None = None) -> Acknowledgements:
    acks = Acknowledgements(of or session(), T, PLACE)
    acks.types = types
    return acks


def named(request: ShareFetchRequest) -> dict[tuple[UUID, int], list[Any]]:
    return {
        (topic.topic_id, each.partition_index): [
            (batch.first_offset, batch.last_offset, batch.acknowledge_types) for batch in each.acknowledgement_batches
        ]
        for topic in request.topics
        for each in topic.partitions
    }


@pytest.mark.parametrize(
    ("types", "batches"),
    [
        ({}, []),
        ({5: 1}, [(5, 5, [1])]),
        ({2: 1, 1: 1, 3: 1}, [(1, 3, [1])]),
        ({1: 1, 2: 2, 3: 1}, [(1, 3, [1, 2, 1])]),
        ({1: 1, 2: 1, 7: 3, 8: 3, 10: 0}, [(1, 2, [1]), (7, 8, [3]), (10, 10, [0])]),
    ],
)
def test_acknowledgements_are_runs_of_offsets(types: dict[int, int], batches: list[Any]) -> None:
    assert list(said(types).batches()) == batches


def test_the_first_fetch_names_everything_and_the_next_ones_what_changed() -> None:
    one = session()
    first = one.fetch_request([(T, 0), (T, 1)], [], OPTIONS, 500)
    assert (first.share_session_epoch, named(first)) == (0, {(T, 0): [], (T, 1): []})
    assert (first.max_records, first.batch_size, first.max_wait_ms) == (50, 50, 500)
    one.answered()
    second = one.fetch_request([(T, 0), (U, 0)], [said({3: 1}, one)], OPTIONS, 500)
    assert (second.share_session_epoch, named(second)) == (1, {(T, 0): [(3, 3, [1])], (U, 0): []})
    assert [(each.topic_id, each.partitions) for each in second.forgotten_topics_data] == [(T, [1])]
    one.answered()
    assert named(one.fetch_request([(T, 0), (U, 0)], [], OPTIONS, 500)) == {}


def test_epochs_begin_again_at_one_and_the_last_request_has_the_final_one() -> None:
    one = session()
    one.epoch = 2**31 - 1
    one.answered()
    assert one.acknowledge_request([said({3: 1}, one)]).share_session_epoch == 1
    assert one.acknowledge_request([], closing=True).share_session_epoch == -1


def test_a_request_with_renewals_says_so() -> None:
    flight, one = InFlight(), session()
    flight.deliver(Delivery(one, T, PLACE, [record(1), record(2)]))
    flight.acknowledge(PLACE, 1, RENEW)
    (acks,) = flight.take()
    assert one.acknowledge_request([acks]).is_renew_ack
    flight.acknowledge(PLACE, 2, ACCEPT)
    assert not one.acknowledge_request(flight.take()).is_renew_ack


def test_only_records_in_flight_can_be_acknowledged_and_the_last_word_counts() -> None:
    flight = InFlight()
    flight.deliver(Delivery(session(), T, PLACE, [record(1), record(2)]))
    with pytest.raises(ClientError, match="t-0 at offset 3 is not in flight"):
        flight.acknowledge(PLACE, 3, ACCEPT)
    flight.acknowledge(PLACE, 1, RELEASE)
    flight.acknowledge(PLACE, 1, REJECT)
    assert flight.unacknowledged() == 1
    (acks,) = flight.take()
    assert acks.types == {1: REJECT}
    with pytest.raises(ClientError, match="is not in flight"):
        flight.acknowledge(PLACE, 1, ACCEPT)
    flight.accept_all()
    (acks,) = flight.take()
    assert acks.types == {2: ACCEPT}
    assert flight.take() == []


def test_renewed_records_are_in_flight_again_once_they_are_confirmed() -> None:
    flight = InFlight()
    flight.deliver(Delivery(session(), T, PLACE, [record(1)]))
    flight.acknowledge(PLACE, 1, RENEW)
    (acks,) = flight.take()
    assert flight.take_renewed() == []
    flight.renewed(acks)
    assert flight.take_renewed() == [record(1)]
    flight.acknowledge(PLACE, 1, ACCEPT)
    assert [each.types for each in flight.take()] == [{1: ACCEPT}]


def test_acknowledgements_of_two_sessions_stay_apart() -> None:
    flight, old, new = InFlight(), session(), session()
    flight.deliver(Delivery(old, T, PLACE, [record(1)]))
    flight.deliver(Delivery(new, T, PLACE, [record(2)]))
    flight.accept_all()
    assert [(each.session, each.types) for each in flight.take()] == [(old, {1: ACCEPT}), (new, {2: ACCEPT})]


def answer(values: list[bytes], *ranges: tuple[int, int, int], damage: int | None = None) -> Any:
    builder = BatchBuilder()
    for value in values:
        builder.append(None, value)
    data = bytearray(builder.build())
    if damage is not None:
        data[damage] ^= 0xFF
    return ShareFetchResponse.PartitionData(
        partition_index=0,
        records=memoryview(bytes(data)),
        acquired_records=[
            ShareFetchResponse.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in ranges
        ],
    )


def test_only_acquired_records_are_returned_with_their_counts_and_missing_ones_are_gaps() -> None:
    (part,) = acquired(answer([b"0", b"1", b"2", b"3"], (1, 1, 1), (3, 5, 4)), PLACE, OPTIONS)
    assert [(each.offset, each.value, each.delivery_count) for each in part.records] == [(1, b"1", 1), (3, b"3", 4)]
    assert part.types == {4: GAP, 5: GAP}


def test_a_record_that_cannot_be_deserialized_is_released_between_the_others() -> None:
    options = ShareConsumerOptions(group_id="g", value_deserializer=int)
    first, second = acquired(answer([b"0", b"x", b"2"], (0, 2, 1)), PLACE, options)
    assert [each.value for each in first.records] == [0]
    assert first.types == {1: RELEASE}
    assert isinstance(first.error, ValueError)
    assert ([each.value for each in second.records], second.types, second.error) == ([2], {}, None)


def test_bytes_that_cannot_be_decoded_release_all_records() -> None:
    first, second = acquired(answer([b"0", b"1"], (0, 1, 1), damage=-1), PLACE, OPTIONS)
    assert isinstance(first.error, CorruptFetchError)
    assert second.types == {0: RELEASE, 1: RELEASE}


def test_an_answer_that_acquires_without_end_is_refused() -> None:
    with pytest.raises(ClientError, match="expected at most 1000000"):
        acquired(answer([b"0"], (0, 2**62, 1)), PLACE, OPTIONS)


def test_heartbeats_name_topics_only_when_they_change_and_never_partitions() -> None:
    state = ShareMemberState("g", "m", rebalance_ms=1)
    state.subscribe(["t"])
    assert state.share_request(0.0).subscribed_topic_names == ["t"]
    assigned = ShareGroupHeartbeatResponse.TopicPartitions(topic_id=T, partitions=[0])
    state.answered(
        ShareGroupHeartbeatResponse(
            member_epoch=3,
            heartbeat_interval_ms=5000,
            assignment=ShareGroupHeartbeatResponse.Assignment(topic_partitions=[assigned]),
        )
    )
    assert state.took(frozenset({(T, 0)}), state.era)
    assert state.due_at() == 5.0, "there is nothing to acknowledge"
    request = state.share_request(5.0)
    assert (request.member_epoch, request.subscribed_topic_names) == (3, None)
    assert state.share_leave_request().member_epoch == -1
