"""Look-ups of offsets: the number of requests depends on leaders, not on topics."""

from __future__ import annotations

from tests.spark.filled_broker import FilledBroker

from kafkawire.client import BulkReader
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.offsets import EARLIEST, LATEST
from kafkawire.spark._topics.lookup import plan_batch
from kafkawire.spark._topics.options import TopicOptions


def test_a_plan_over_many_topics_asks_each_leader_once_for_each_question() -> None:
    with FilledBroker() as broker:
        for number in range(12):
            broker.create_topic(f"t{number}", 3, {"retention.ms": -1})
            broker.fill(f"t{number}", 5)
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribePattern": r"t\d+"}
        before = broker.count("ListOffsets")
        planned = plan_batch(TopicOptions.parse(given, is_stream=False))
        asked = broker.count("ListOffsets") - before
    assert sorted((each.topic, each.size) for each in planned) == sorted((f"t{number}", 5) for number in range(12))
    assert asked == 4  # the start, the end, and whether both still exist


def test_offsets_of_several_topics_and_times_come_at_once() -> None:
    with FilledBroker() as broker:
        for name in ("a", "b"):
            broker.create_topic(name, 1, {"retention.ms": -1})
            broker.fill(name, 7)
        with BulkReader(bootstrap_servers=broker.bootstrap_servers) as reader:
            found = reader.offsets_of({TopicPartition("a", 0): LATEST, TopicPartition("b", 0): EARLIEST})
            assert reader.offsets_of({}) == {}
    assert found == {TopicPartition("a", 0): 7, TopicPartition("b", 0): 0}
