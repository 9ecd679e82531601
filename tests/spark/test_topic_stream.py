"""The offsets of a stream from trigger to trigger, without Spark: the reader asked as Spark asks it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows
from tests.spark.filled_broker import FilledBroker

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.spark._topics.groups import commit_group, read_group
from kafkawire.spark._topics.lookup import START, OffsetRange
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark._topics.source import TopicPartitionRange
from kafkawire.spark._topics.stream import TopicsStreamReader
from kafkawire.spark.errors import DataLossError

if TYPE_CHECKING:
    from collections.abc import Iterator

ALL = ReadAllAvailable()
T0 = TopicPartition("t", 0)


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        broker.create_topic("t")
        broker.fill("t", 10)
        yield broker


def options(broker: FilledBroker, **more: str) -> TopicOptions:
    given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "t", "startingOffsets": "earliest"}
    return TopicOptions.parse(given | {name.replace("__", "."): text for name, text in more.items()}, is_stream=True)


def stream(broker: FilledBroker, **more: str) -> TopicsStreamReader:
    return TopicsStreamReader(options(broker, **more), ("offset",))


def ranges(reader: TopicsStreamReader, start: Any, end: Any) -> list[OffsetRange]:
    """The ranges of a batch, whose offsets went through Spark's log."""
    planned = reader.partitions(json.loads(json.dumps(start)), json.loads(json.dumps(end)))
    return [each.range for each in planned if isinstance(each, TopicPartitionRange) and each.range]


def plain(offset: dict[str, Any]) -> dict[str, Any]:
    return {topic: each for topic, each in offset.items() if topic != START}


def test_the_first_batch_carries_its_start_and_later_ones_do_not(broker: FilledBroker) -> None:
    reader = stream(broker, startingOffsets='{"t":{"0":4}}')
    first = reader.latestOffset(reader.initialOffset(), ALL)
    assert first == {"t": {"0": 10}, START: {"t": {"0": 4}}}
    assert reader.latestOffset(first, ALL) == first
    broker.fill("t", 5, first=10)
    assert reader.latestOffset(first, ALL) == {"t": {"0": 15}}
    assert ranges(reader, first, {"t": {"0": 15}}) == [OffsetRange("t", 0, 10, 15)]


def test_a_restart_before_the_first_commit_reads_the_offsets_of_that_batch(broker: FilledBroker) -> None:
    before = stream(broker, startingOffsets="latest")
    initial = before.initialOffset()
    broker.fill("t", 5, first=10)
    logged = before.latestOffset(initial, ALL)
    broker.fill("t", 100, first=15)
    again = stream(broker, startingOffsets="latest")
    assert plain(again.initialOffset()) == {"t": {"0": 115}}
    assert ranges(again, again.initialOffset(), logged) == [OffsetRange("t", 0, 10, 15)]


def test_a_first_batch_without_records_leaves_the_start_to_the_next(broker: FilledBroker) -> None:
    reader = stream(broker, startingOffsets="latest")
    initial = reader.initialOffset()
    assert reader.latestOffset(initial, ALL) == initial
    assert ranges(reader, initial, initial) == []
    broker.fill("t", 1, first=10)
    assert reader.latestOffset(initial, ALL) == {"t": {"0": 11}, START: {"t": {"0": 10}}}


def test_the_initial_offset_is_looked_up_once(broker: FilledBroker) -> None:
    reader = stream(broker, startingOffsets="latest")
    initial = reader.initialOffset()
    broker.fill("t", 5, first=10)
    assert reader.initialOffset() == initial


def test_offsets_are_the_same_text_whatever_order_topics_come_in(broker: FilledBroker) -> None:
    broker.create_topic("a", 11)
    for first, second in (("t", "a"), ("a", "t")):
        reader = stream(broker, subscribe=f"{first},{second}")
        text = json.dumps(plain(reader.initialOffset()))
        numbers = ", ".join(f'"{number}": 0' for number in range(11))
        assert text == f'{{"a": {{{numbers}}}, "t": {{"0": 0}}}}'


def test_a_checkpoint_of_sparks_own_connector_is_gone_on_from(broker: FilledBroker) -> None:
    reader = stream(broker)
    assert reader.latestOffset({"t": {"0": 7}}, ALL) == {"t": {"0": 10}}
    assert ranges(reader, {"t": {"0": 7}}, {"t": {"0": 10}}) == [OffsetRange("t", 0, 7, 10)]


def test_a_trigger_reads_at_most_what_is_allowed_shared_among_partitions(broker: FilledBroker) -> None:
    broker.create_topic("big")
    broker.fill("big", 90)
    reader = stream(broker, subscribe="t,big", maxOffsetsPerTrigger="20")
    assert reader.getDefaultReadLimit() == ReadMaxRows(20)
    end = reader.latestOffset(reader.initialOffset(), ReadMaxRows(20))
    assert plain(end) == {"big": {"0": 18}, "t": {"0": 2}}
    assert reader.reportLatestOffset() == {"big": {"0": 90}, "t": {"0": 10}}
    assert plain(reader.latestOffset(end, ALL)) == {"big": {"0": 90}, "t": {"0": 10}}


def test_a_trigger_waits_for_enough_to_read_but_not_for_ever(
    broker: FilledBroker, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr("kafkawire.spark._topics.stream.time.monotonic", lambda: now)
    reader = stream(broker, minOffsetsPerTrigger="5", maxTriggerDelay="60s")
    limit = reader.getDefaultReadLimit()
    assert limit == ReadMinRows(5)
    first = reader.latestOffset(reader.initialOffset(), limit)
    broker.fill("t", 4, first=10)
    now += 59
    assert reader.latestOffset(first, limit) == first
    now += 1
    second = reader.latestOffset(first, limit)
    assert second == {"t": {"0": 14}}
    broker.fill("t", 5, first=14)
    assert reader.latestOffset(second, limit) == {"t": {"0": 19}}


def test_a_trigger_that_has_waited_still_reads_no_more_than_allowed(broker: FilledBroker) -> None:
    reader = stream(broker, minOffsetsPerTrigger="4", maxOffsetsPerTrigger="6")
    limit = reader.getDefaultReadLimit()
    first = reader.latestOffset(reader.initialOffset(), limit)
    second = reader.latestOffset(first, limit)
    assert (plain(first), plain(second)) == ({"t": {"0": 6}}, {"t": {"0": 10}})
    broker.fill("t", 3, first=10)
    assert reader.latestOffset(second, limit) == second
    assert reader.latestOffset(second, ALL) == {"t": {"0": 13}}


def test_available_now_ends_with_what_was_there_and_does_not_wait(broker: FilledBroker) -> None:
    reader = stream(broker, minOffsetsPerTrigger="7", maxOffsetsPerTrigger="8")
    reader.prepareForTriggerAvailableNow()
    initial = reader.initialOffset()
    broker.fill("t", 50, first=10)
    broker.add_partitions("t", 2)
    limit = reader.getDefaultReadLimit()
    first = reader.latestOffset(initial, limit)
    second = reader.latestOffset(first, limit)
    assert (plain(first), second) == ({"t": {"0": 8}}, {"t": {"0": 10}})
    assert reader.latestOffset(second, limit) == second


def test_new_partitions_are_read_from_their_beginning(broker: FilledBroker) -> None:
    reader = stream(broker, startingOffsets="latest")
    initial = reader.initialOffset()
    broker.add_partitions("t", 2)
    broker.fill("t", 3, partition=1)
    end = reader.latestOffset(initial, ALL)
    assert plain(end) == {"t": {"0": 10, "1": 3}}
    assert ranges(reader, initial, end) == [OffsetRange("t", 1, 0, 3)]


def test_a_new_partition_that_lost_its_beginning_is_data_lost(broker: FilledBroker) -> None:
    broker.add_partitions("t", 2)
    broker.fill("t", 8, partition=1)
    broker.delete_records("t", 1, before=3)
    start, end = {"t": {"0": 10}}, {"t": {"0": 10, "1": 8}}
    with pytest.raises(DataLossError, match="t-1 is new and starts at offset 3, not at 0"):
        ranges(stream(broker), start, end)
    assert ranges(stream(broker, failOnDataLoss="false"), start, end) == [OffsetRange("t", 1, 3, 8)]


def test_deleted_records_fail_or_are_skipped(broker: FilledBroker) -> None:
    broker.delete_records("t", 0, before=6)
    start, end = {"t": {"0": 2}}, {"t": {"0": 10}}
    with pytest.raises(DataLossError, match="t-0: offset 2 is before the start of the log, 6"):
        ranges(stream(broker), start, end)
    assert ranges(stream(broker, failOnDataLoss="false"), start, end) == [OffsetRange("t", 0, 6, 10)]


def test_a_recreated_topic_is_lost_data(broker: FilledBroker) -> None:
    broker.delete_topic("t")
    broker.create_topic("t")
    broker.fill("t", 4)
    start = {"t": {"0": 10}}
    strict, lenient = stream(broker), stream(broker, failOnDataLoss="false")
    end = lenient.latestOffset(start, ALL)
    assert end == {"t": {"0": 4}}
    with pytest.raises(DataLossError, match="the position is offset 10, but the log ends at 4"):
        ranges(strict, start, end)
    assert ranges(lenient, start, end) == []
    broker.fill("t", 2)
    assert ranges(lenient, end, lenient.latestOffset(end, ALL)) == [OffsetRange("t", 0, 4, 6)]


@pytest.mark.parametrize("records", [4, 10, 12])
def test_a_topic_recreated_between_triggers_is_noticed_by_its_id(broker: FilledBroker, records: int) -> None:
    strict, lenient = stream(broker), stream(broker, failOnDataLoss="false")
    for reader in (strict, lenient):
        assert plain(reader.latestOffset(reader.initialOffset(), ALL)) == {"t": {"0": 10}}
    broker.delete_topic("t")
    broker.create_topic("t")
    broker.fill("t", records)
    start = {"t": {"0": 10}}
    with pytest.raises(DataLossError, match=r"topic 't' was deleted and created again: its id .* became "):
        strict.latestOffset(start, ALL)
    end = lenient.latestOffset(start, ALL)
    assert ranges(lenient, start, end) == [OffsetRange("t", 0, 0, records)]
    assert ranges(stream(broker, failOnDataLoss="false"), start, end) == [OffsetRange("t", 0, 0, records)]
    assert lenient.latestOffset(end, ALL) == end
    broker.fill("t", 1)
    after = lenient.latestOffset(end, ALL)
    assert after == {"t": {"0": records + 1}}
    assert ranges(lenient, end, after) == [OffsetRange("t", 0, records, records + 1)]


def test_a_topic_that_is_gone_fails_or_is_left_out(broker: FilledBroker) -> None:
    broker.create_topic("other")
    broker.fill("other", 2)
    start = {"other": {"0": 0}, "t": {"0": 7}}
    lenient = stream(broker, subscribe="t,other", failOnDataLoss="false")
    broker.delete_topic("t")
    with pytest.raises(DataLossError, match=r"missing, or not among the topics .* t-0 \(read up to offset 7\)"):
        stream(broker, subscribe="t,other").latestOffset(start, ALL)
    end = lenient.latestOffset(start, ALL)
    assert end == {"other": {"0": 2}}
    assert ranges(lenient, start, end) == [OffsetRange("other", 0, 0, 2)]
    assert lenient.latestOffset(end, ALL) == end


def test_a_checkpoint_of_a_query_over_another_topic_is_reported_as_such(broker: FilledBroker) -> None:
    broker.create_topic("other")
    with pytest.raises(DataLossError, match=r"not among the topics of this query: t-0 \(read up to offset 7\)"):
        stream(broker, subscribe="other").latestOffset({"t": {"0": 7}}, ALL)


def test_finished_batches_are_committed_to_the_group_the_last_one_too(broker: FilledBroker) -> None:
    group = {"kafka__group__id": "g", "commitOffsets": "true"}
    reader, asked = stream(broker, **group), options(broker, **group)
    first = reader.latestOffset(reader.initialOffset(), ALL)
    assert read_group(asked, [T0]) == {}
    assert reader.latestOffset(first, ALL) == first
    assert read_group(asked, [T0]) == {T0: 10}
    before = broker.count("OffsetCommit")
    reader.commit(first)
    assert broker.count("OffsetCommit") == before


def test_a_group_is_not_committed_to_unless_that_was_asked_for(broker: FilledBroker) -> None:
    reader = stream(broker, kafka__group__id="g")
    first = reader.latestOffset(reader.initialOffset(), ALL)
    reader.latestOffset(first, ALL)
    reader.commit(first)
    assert broker.count("OffsetCommit") == 0


def test_a_stream_starts_where_its_group_stands(broker: FilledBroker) -> None:
    group = {"kafka__group__id": "g", "startingOffsets": "group"}
    assert plain(stream(broker, **group).initialOffset()) == {"t": {"0": 10}}
    commit_group(options(broker, **group), {T0: 3})
    assert plain(stream(broker, **group).initialOffset()) == {"t": {"0": 3}}


def test_the_partitions_of_a_topic_are_remembered_as_long_as_asked(broker: FilledBroker) -> None:
    reader = stream(broker, partition__metadata__cache__ttl__ms="60000")
    start = reader.initialOffset()
    before = broker.count("Metadata")
    reader.latestOffset(start, ALL)
    assert broker.count("Metadata") == before
