"""Planning a batch read against a running broker: where it starts and ends, and what is refused."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest
from tests.spark.filled_broker import TIME, FilledBroker

from kafkawire.client import BulkReader, RequestTimeoutError
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.exceptions import KafkaWireError
from kafkawire.spark._topics.groups import commit_group
from kafkawire.spark._topics.lookup import OffsetRange, TopicLookup, plan_batch
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark.errors import DataLossError, SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("orders", 2)
        broker.fill("orders", 100)
        broker.fill("orders", 10, partition=1)
        broker.create_topic("my-orders-2")
        broker.fill("my-orders-2", 3)
        yield broker


def plan(broker: FilledBroker, **options: str) -> list[OffsetRange]:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, **options}
    return plan_batch(TopicOptions.parse(given, is_stream=False))


STARTS_AND_ENDS: list[tuple[dict[str, str], int, int]] = [
    ({"startingOffsets": '{"orders":{"0":90}}'}, 90, 100),
    ({"startingOffsets": '{"orders":{"0":-2}}', "endingOffsets": '{"orders":{"0":5}}'}, 0, 5),
    ({"endingOffsets": '{"orders":{"0":-1}}'}, 0, 100),
    ({"startingTimestamp": str(TIME + 95_000)}, 95, 100),
    (
        {"startingOffsetsByTimestamp": f'{{"orders":{{"0":{TIME + 20_500}}}}}', "endingTimestamp": str(TIME + 30_000)},
        21,
        30,
    ),
    ({"endingOffsetsByTimestamp": f'{{"orders":{{"0":{TIME + 3_000}}}}}'}, 0, 3),
    ({"startingOffsets": '{"orders":{"0":98}}', "endingTimestamp": str(TIME + 10**9)}, 98, 100),
    ({"startingTimestamp": str(TIME + 10**9), "startingOffsetsByTimestampStrategy": "latest"}, 100, 100),
]


@pytest.mark.parametrize(("options", "first", "end"), STARTS_AND_ENDS, ids=lambda value: str(value)[:60])
def test_reading_starts_and_ends_where_the_options_say(
    broker: FilledBroker, options: dict[str, str], first: int, end: int
) -> None:
    found = plan(broker, assign='{"orders":[0]}', **options)
    assert found == ([OffsetRange("orders", 0, first, end)] if first < end else [])


REFUSED: list[tuple[dict[str, str], str]] = [
    ({"subscribe": "no-such-topic"}, "topic 'no-such-topic'"),
    ({"assign": '{"orders":[7]}'}, "no such partition: orders-7"),
    (
        {"subscribe": "orders", "startingOffsets": '{"orders":{"0":1}}'},
        "must name exactly the partitions that are read",
    ),
    (
        {"assign": '{"orders":[0]}', "endingOffsets": '{"orders":{"0":1,"1":1}}'},
        "endingOffsets must name exactly the partitions that are read",
    ),
    (
        {"subscribe": "my-orders-2", "startingTimestamp": str(TIME + 10**9)},
        "no record at or after that time in my-orders-2-0",
    ),
    (
        {"assign": '{"orders":[1]}', "startingOffsets": '{"orders":{"1":8}}', "endingOffsets": '{"orders":{"1":4}}'},
        "is offset 8, after endingOffsets, 4",
    ),
    (
        {"assign": '{"orders":[1]}', "startingOffsets": '{"orders":{"1":80}}'},
        "startingOffsets is offset 80, after the end of the log, 10",
    ),
    ({"subscribe": "orders", "kafka.auto.offset.reset": "latest"}, "cannot be set"),
    ({}, "expected exactly one of assign, subscribe, subscribePattern, found none"),
]


@pytest.mark.parametrize(("options", "problem"), REFUSED, ids=lambda value: str(value)[:50])
def test_unreadable_topics_are_refused_with_a_reason(
    broker: FilledBroker, options: dict[str, str], problem: str
) -> None:
    with pytest.raises(KafkaWireError) as refused:
        plan(broker, **options)
    assert problem in str(refused.value)


def test_a_lookup_that_fails_for_a_while_is_tried_again(broker: FilledBroker) -> None:
    broker.fail_next("ListOffsets", "LEADER_NOT_AVAILABLE", times=2)
    assert plan(broker, subscribe="my-orders-2") == [OffsetRange("my-orders-2", 0, 0, 3)]


def test_an_unreachable_broker_is_given_up_after_the_time_of_one_lookup() -> None:
    attempts: list[str] = []

    class Unreachable(BulkReader):
        def partitions(self, topic: str) -> list[int]:
            attempts.append(topic)
            return super().partitions(topic)

    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{nobody_listens.getsockname()[1]}"
        given = {"kafka.bootstrap.servers": place, "subscribe": "orders", "kafka.default.api.timeout.ms": "300"}
        options = TopicOptions.parse(given, is_stream=False)
        lookup = TopicLookup(options, Unreachable(config=dict(options.client)))
        with pytest.raises(RequestTimeoutError, match=rf"given up after 0.3 s .*no broker answers: {place}"):
            lookup.partitions()
    assert attempts == ["orders"]


def test_offsets_of_a_group_are_where_a_read_starts_and_the_earliest_where_it_has_none(broker: FilledBroker) -> None:
    group = {"subscribe": "orders", "kafka.group.id": "planned", "startingOffsets": "group"}
    options = TopicOptions.parse(
        {"kafka.bootstrap.servers": broker.bootstrap_servers, **group, "commitOffsets": "true"}, is_stream=True
    )
    commit_group(options, {TopicPartition("orders", 0): 97})
    assert plan(broker, **group) == [OffsetRange("orders", 0, 97, 100), OffsetRange("orders", 1, 0, 10)]


def test_assign_reads_the_partitions_that_exist_and_names_the_others(
    broker: FilledBroker, caplog: pytest.LogCaptureFixture
) -> None:
    found = plan(broker, assign='{"orders":[1,7]}', startingOffsets='{"orders":{"1":4,"7":0}}')
    assert found == [OffsetRange("orders", 1, 4, 10)]
    assert "assign: no such partition: orders-7; the others are read" in caplog.text


@pytest.mark.parametrize("fails", ["true", "false"])
def test_a_start_after_the_end_is_refused_as_by_the_connector(broker: FilledBroker, fails: str) -> None:
    given = {"assign": '{"orders":[0]}', "startingOffsets": '{"orders":{"0":90}}', "failOnDataLoss": fails}
    with pytest.raises(SourceOptionError, match="startingOffsets is offset 90, after endingTimestamp, 5"):
        plan(broker, **given, endingTimestamp=str(TIME + 5_000))
    with pytest.raises(SourceOptionError, match="startingOffsets is offset 900, after the end of the log, 100"):
        plan(broker, **{**given, "startingOffsets": '{"orders":{"0":900}}'})


def test_committed_offsets_after_the_end_are_data_loss(broker: FilledBroker) -> None:
    group = {"subscribe": "orders", "kafka.group.id": "ahead", "startingOffsets": "group"}
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, **group, "commitOffsets": "true"}
    commit_group(TopicOptions.parse(given, is_stream=True), {TopicPartition("orders", 0): 900})
    with pytest.raises(DataLossError, match="startingOffsets is offset 900, after the end of the log, 100"):
        plan(broker, **group)
    assert plan(broker, **group, failOnDataLoss="false") == [OffsetRange("orders", 1, 0, 10)]


def test_a_message_of_the_client_names_the_option_as_it_was_given(broker: FilledBroker, tmp_path: Path) -> None:
    missing = str(tmp_path / "nowhere.pem")
    given = {"kafka.security.protocol": "SSL", "kafka.ssl.truststore.location": missing, "subscribe": "orders"}
    with pytest.raises(SourceOptionError, match=r"^kafka\.ssl\.truststore\.location"):
        plan(broker, **given)
