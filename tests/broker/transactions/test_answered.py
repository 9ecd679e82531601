"""Requests that follow EndTxn at once: none of them finds its transaction incomplete."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch
from tests.broker.raw_connection import Peer

from kafkawire.messages import (
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    FindCoordinatorRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    Message,
    OffsetFetchRequest,
    ProduceRequest,
    TxnOffsetCommitRequest,
)
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.testing import RunningBroker

ID = "answered"


def at_once(peer: Peer, requests: Sequence[tuple[Message, int]]) -> list[Any]:
    """The answers to requests that arrive together."""
    frames = [encode_request(each, version=version, correlation_id=1, client_id="peer") for each, version in requests]
    peer.socket.sendall(b"".join(frames))
    keys = [(type(each).__schema__.key, version) for each, version in requests]
    return [decode_response(peer.read_frame(), api_key=key or 0, version=version)[1] for key, version in keys]


def started(peer: Peer) -> tuple[int, int]:
    assert not peer.call(FindCoordinatorRequest(key_type=1, coordinator_keys=[ID]), 4).coordinators[0].error_code
    request = InitProducerIdRequest(transactional_id=ID, transaction_timeout_ms=60_000)
    while (answer := peer.call(request, 5)).error_code:
        assert answer.error_code == 51
    return answer.producer_id, answer.producer_epoch


def produced(topic: str, producer: tuple[int, int], sequence: int = 0) -> ProduceRequest:
    producer_id, epoch = producer
    data = batch(
        b"v", producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence, is_transactional=True, timestamp=1
    )
    return ProduceRequest(
        transactional_id=ID,
        acks=-1,
        timeout_ms=1000,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=topic, partition_data=[ProduceRequest.PartitionProduceData(index=0, records=data)]
            )
        ],
    )


def latest(topic: str) -> ListOffsetsRequest:
    """The last stable offset."""
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=1,
        topics=[ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])],
    )


def offsets(topic: str, producer: tuple[int, int]) -> TxnOffsetCommitRequest:
    place = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
        partition_index=0, committed_offset=7, committed_metadata=""
    )
    return TxnOffsetCommitRequest(
        transactional_id=ID,
        group_id=f"{topic}-group",
        producer_id=producer[0],
        producer_epoch=producer[1],
        generation_id_or_member_epoch=-1,
        topics=[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(name=topic, partitions=[place])],
    )


@pytest.mark.parametrize("commit", [True, False])
def test_requests_behind_the_end_of_a_transaction_find_it_complete(
    kafka_broker: RunningBroker, kafka_topic: str, commit: bool
) -> None:
    group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=f"{kafka_topic}-group", topics=None)
    with Peer(kafka_broker) as peer:
        producer = started(peer)
        end = EndTxnRequest(transactional_id=ID, producer_id=producer[0], producer_epoch=producer[1], committed=commit)
        following = producer[0], producer[1] + 1
        answers = at_once(
            peer,
            [
                (produced(kafka_topic, producer), 12),
                (offsets(kafka_topic, producer), 5),
                (end, 5),
                (latest(kafka_topic), 5),
                (DescribeTransactionsRequest(transactional_ids=[ID]), 0),
                (OffsetFetchRequest(groups=[group], require_stable=True), 8),
                (produced(kafka_topic, following), 12),
            ],
        )
    first, committed, ended, stable, described, fetched, second = answers
    assert not first.responses[0].partition_responses[0].error_code
    assert not committed.topics[0].partitions[0].error_code
    assert (ended.error_code, ended.producer_epoch) == (0, following[1])
    assert stable.topics[0].partitions[0].offset == 2  # the record and its marker
    assert described.transaction_states[0].transaction_state == ("CompleteCommit" if commit else "CompleteAbort")
    found = [each.committed_offset for topic in fetched.groups[0].topics for each in topic.partitions]
    assert found == ([7] if commit else [])
    assert not second.responses[0].partition_responses[0].error_code


def test_the_older_protocol_may_add_partitions_behind_the_end_of_a_transaction(
    kafka_broker: RunningBroker, kafka_topic: str
) -> None:
    with Peer(kafka_broker) as peer:
        producer = started(peer)
        places = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(name=kafka_topic, partitions=[0])]
        add = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=ID,
            v3_and_below_producer_id=producer[0],
            v3_and_below_producer_epoch=producer[1],
            v3_and_below_topics=places,
        )
        end = EndTxnRequest(transactional_id=ID, producer_id=producer[0], producer_epoch=producer[1], committed=True)
        requests: list[tuple[Message, int]] = []
        for sequence in range(20):
            requests += [(add, 3), (produced(kafka_topic, producer, sequence), 11), (end, 4)]
        answers = at_once(peer, requests)
    added = [each.results_by_topic_v3_and_below[0].results_by_partition[0] for each in answers[::3]]
    assert [each.partition_error_code for each in added] == [0] * 20
    assert [each.responses[0].partition_responses[0].base_offset for each in answers[1::3]] == list(range(0, 40, 2))
    assert [each.error_code for each in answers[2::3]] == [0] * 20
