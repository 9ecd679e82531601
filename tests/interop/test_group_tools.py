"""The console tools of groups with epochs say the same of Apache Kafka and of us: offsets shown, reset and deleted.

A member of each group joins and leaves by raw requests, so that both brokers have the same groups.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch
from tests.broker.raw_connection import Peer
from tests.interop.answers import Asked
from tests.interop.test_same_consumer_groups import has_coordinator
from tests.interop.waiting import until

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheBroker, ApacheKafka
    from tests.interop.our_broker import OurBroker

    Said = tuple[str, str]
    Tool = Callable[..., Said]

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
CONSUMER = "consumer.group.ConsumerGroupCommand"
STREAMS = "streams.StreamsGroupCommand"
SHARE = "consumer.group.ShareGroupCommand"
TOPIC, OTHER, RECORDS, FIRST = "orders", "payments", 10, 1_700_000_000_000
MEMBER = "m" * 22
_OPEN: dict[str, Any] = {"rebalance_timeout_ms": 60_000}


@pytest.fixture(scope="module")
def both(apache_kafka: ApacheBroker, our_broker: OurBroker) -> tuple[Any, Any]:
    for broker in (apache_kafka, our_broker):
        with Asked(broker) as asked:
            kind = m.CreateTopicsRequest.CreatableTopic
            kept = [m.CreateTopicsRequest.CreatableTopicConfig(name="retention.ms", value="-1")]
            topics = [kind(name=name, num_partitions=2, replication_factor=1, configs=kept) for name in (TOPIC, OTHER)]
            asked.ask(m.CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
            until(lambda asked=asked: has_coordinator(asked))  # type: ignore[misc]
        for name in (TOPIC, OTHER):
            for partition in (0, 1):
                until(lambda broker=broker, name=name, partition=partition: produce(broker, name, partition))  # type: ignore[misc]
    return apache_kafka, our_broker


def produce(broker: Any, name: str, partition: int) -> bool:
    """Append records with one second between them; whether the broker sees the topic already."""
    for number in range(RECORDS):
        records = batch(b"x", timestamp=FIRST + 1_000 * number)
        data = m.ProduceRequest.PartitionProduceData(index=partition, records=records)
        topic = m.ProduceRequest.TopicProduceData(name=name, partition_data=[data])
        with Peer(broker) as peer:
            answer = peer.call(m.ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic]), 9)
        code = answer.responses[0].partition_responses[0].error_code
        assert not (code and number)
        if code:
            return False
    return True


@pytest.fixture
def tool(both: tuple[Any, Any], kafka: ApacheKafka) -> Tool:
    """Run a tool on both brokers; what it says of each, without what differs from run to run."""

    def run(name: str, *options: str) -> Said:
        said = []
        for broker in both:
            try:
                text = kafka.run(f"org.apache.kafka.tools.{name}", "--bootstrap-server", broker.bootstrap, *options)
            except AssertionError as failure:
                text = f"FAILED {failure}"
            said.append(plain(text, broker.bootstrap))
        return said[0], said[1]

    return run


def plain(text: str, bootstrap: str) -> str:
    text = text.replace(bootstrap, "BROKER").replace(bootstrap.rpartition(":")[2], "PORT")
    lines = [re.sub(r"\s+", " ", line).strip() for line in text.splitlines() if not line.startswith("\tat ")]
    lines = [line for line in lines if line and "SLF4J" not in line]
    table = [line for line in lines if TOPIC in line or OTHER in line]
    return "\n".join([line for line in lines if line not in table] + sorted(table))


def consumer_group(broker: Any, group: str, *, stays: bool = False) -> None:
    kind = m.ConsumerGroupHeartbeatRequest
    commit = m.OffsetCommitRequest
    with Peer(broker) as peer:
        joined = peer.call(
            kind(group_id=group, member_id=MEMBER, subscribed_topic_names=[TOPIC, OTHER], topic_partitions=[], **_OPEN),
            1,
        )
        assert not joined.error_code, joined
        topics = [
            commit.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    commit.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                    for index, offset in enumerate((4, 7))
                ],
            )
            for name in (TOPIC, OTHER)
        ]
        request = commit(
            group_id=group, member_id=MEMBER, generation_id_or_member_epoch=joined.member_epoch, topics=topics
        )
        answer = peer.call(request, 9)
        assert {each.error_code for topic in answer.topics for each in topic.partitions} == {0}, answer
        if not stays:
            assert not peer.call(kind(group_id=group, member_id=MEMBER, member_epoch=-1), 1).error_code


def same(said: Said) -> str:
    theirs, ours = said
    assert ours == theirs
    return ours


RESETS: Sequence[tuple[str, ...]] = (
    ("--to-earliest",),
    ("--to-latest",),
    ("--to-current",),
    ("--to-offset", "3"),
    ("--to-offset", "300"),
    ("--shift-by", "2"),
    ("--shift-by", "-20"),
    ("--to-datetime", "2023-11-14T22:13:25.000"),
    ("--by-duration", "PT1H"),
)


def test_consumer_groups_are_reset(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        consumer_group(broker, "reset")
    everything = ("--reset-offsets", "--group", "reset", "--all-topics")
    assert "orders" in same(tool(CONSUMER, "--describe", "--group", "reset"))
    for goal in RESETS:
        same(tool(CONSUMER, *everything, *goal, "--dry-run"))
    same(tool(CONSUMER, "--reset-offsets", "--group", "reset", "--topic", f"{TOPIC}:1", "--to-earliest", "--execute"))
    assert f"{TOPIC} 1 0 10 10" in same(tool(CONSUMER, "--describe", "--group", "reset"))
    same(tool(CONSUMER, *everything, "--shift-by", "1", "--execute"))
    assert f"{TOPIC} 1 1 10 9" in same(tool(CONSUMER, "--describe", "--group", "reset"))


def test_offsets_of_consumer_groups_go_through_a_file(both: tuple[Any, Any], tool: Tool, tmp_path: Path) -> None:
    for broker in both:
        consumer_group(broker, "filed")
    everything = ("--reset-offsets", "--group", "filed", "--all-topics")
    same(tool(CONSUMER, *everything, "--to-offset", "2", "--export", "--dry-run"))
    plan = tmp_path / "plan.csv"
    plan.write_text(f"{TOPIC},0,9\n{OTHER},1,1\n")
    same(tool(CONSUMER, "--reset-offsets", "--group", "filed", "--from-file", str(plan), "--execute"))
    described = same(tool(CONSUMER, "--describe", "--group", "filed"))
    assert f"{TOPIC} 0 9 10 1" in described
    assert f"{OTHER} 1 1 10 9" in described


def test_offsets_of_consumer_groups_are_deleted(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        consumer_group(broker, "deleted")
    same(tool(CONSUMER, "--delete-offsets", "--group", "deleted", "--topic", f"{TOPIC}:0"))
    same(tool(CONSUMER, "--delete-offsets", "--group", "deleted", "--topic", OTHER))
    described = same(tool(CONSUMER, "--describe", "--group", "deleted"))
    assert f"{TOPIC} 1" in described
    assert f"{TOPIC} 0" not in described
    assert OTHER not in described
    same(tool(CONSUMER, "--delete", "--group", "deleted"))
    same(tool(CONSUMER, "--describe", "--group", "deleted"))
    same(tool(CONSUMER, "--delete", "--group", "deleted"))


def test_consumer_groups_with_members_are_not_changed(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        consumer_group(broker, "busy", stays=True)
    same(tool(CONSUMER, "--reset-offsets", "--group", "busy", "--all-topics", "--to-earliest", "--execute"))
    same(tool(CONSUMER, "--delete-offsets", "--group", "busy", "--topic", TOPIC))
    same(tool(CONSUMER, "--delete", "--group", "busy"))
    same(tool(CONSUMER, "--describe", "--group", "busy", "--state"))


def streams_group(broker: Any, group: str, *, stays: bool = False) -> None:
    kind, commit = m.StreamsGroupHeartbeatRequest, m.OffsetCommitRequest
    topology = kind.Topology(
        epoch=0, subtopologies=[kind.Subtopology(subtopology_id="0", source_topics=[TOPIC, OTHER])]
    )
    tasks: dict[str, Any] = {"active_tasks": [], "standby_tasks": [], "warmup_tasks": []}
    with Peer(broker) as peer:
        request = kind(group_id=group, member_id=MEMBER, process_id="p", topology=topology, **tasks, **_OPEN)
        joined = peer.call(request, 0)
        assert not joined.error_code, joined
        topics = [
            commit.OffsetCommitRequestTopic(
                name=name,
                partitions=[
                    commit.OffsetCommitRequestPartition(partition_index=index, committed_offset=offset)
                    for index, offset in enumerate((4, 7))
                ],
            )
            for name in (TOPIC, OTHER)
        ]
        answer = peer.call(
            commit(group_id=group, member_id=MEMBER, generation_id_or_member_epoch=joined.member_epoch, topics=topics),
            9,
        )
        assert {each.error_code for topic in answer.topics for each in topic.partitions} == {0}, answer
        if not stays:
            assert not peer.call(kind(group_id=group, member_id=MEMBER, member_epoch=-1), 0).error_code


def test_streams_groups_are_reset_and_deleted(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        streams_group(broker, "counts")
    assert "counts" in same(tool(STREAMS, "--list"))
    same(tool(STREAMS, "--list", "--state"))
    same(tool(STREAMS, "--describe", "--group", "counts"))
    same(tool(STREAMS, "--describe", "--group", "counts", "--verbose"))
    same(tool(STREAMS, "--describe", "--group", "counts", "--members", "--verbose"))
    same(tool(STREAMS, "--describe", "--group", "counts", "--state", "--verbose"))
    everything = ("--reset-offsets", "--group", "counts", "--all-input-topics")
    for goal in RESETS:
        same(tool(STREAMS, *everything, *goal, "--dry-run"))
    same(tool(STREAMS, *everything, "--to-earliest", "--execute"))
    same(
        tool(STREAMS, "--reset-offsets", "--group", "counts", "--input-topic", f"{TOPIC}:1", "--to-latest", "--execute")
    )
    current = same(tool(STREAMS, *everything, "--to-current", "--dry-run"))
    assert f"{TOPIC} 0 0" in current
    assert f"{TOPIC} 1 10" in current
    same(tool(STREAMS, "--delete-offsets", "--group", "counts", "--input-topic", OTHER))
    assert OTHER not in same(tool(STREAMS, *everything, "--to-current", "--dry-run"))
    same(tool(STREAMS, "--delete", "--group", "counts"))
    same(tool(STREAMS, "--describe", "--group", "counts"))
    same(tool(STREAMS, "--delete", "--group", "counts"))


def test_streams_groups_with_members_are_not_changed(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        streams_group(broker, "counting", stays=True)
    same(tool(STREAMS, "--reset-offsets", "--group", "counting", "--all-input-topics", "--to-earliest", "--execute"))
    same(tool(STREAMS, "--delete-offsets", "--group", "counting", "--input-topic", TOPIC))
    same(tool(STREAMS, "--delete", "--group", "counting"))


def share_group(broker: Any, group: str, *, stays: bool = False) -> None:
    kind = m.ShareGroupHeartbeatRequest
    epoch = 0
    with Peer(broker) as peer:

        def is_assigned() -> bool:
            nonlocal epoch
            answer = peer.call(
                kind(group_id=group, member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=[TOPIC, OTHER]), 1
            )
            assert not answer.error_code, answer
            epoch = answer.member_epoch
            return answer.assignment is not None and len(answer.assignment.topic_partitions) == 2

        until(is_assigned)
        if not stays:
            assert not peer.call(kind(group_id=group, member_id=MEMBER, member_epoch=-1), 1).error_code


def test_share_groups_are_reset_and_deleted(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        share_group(broker, "workers")
    same(tool(SHARE, "--list"))
    same(tool(SHARE, "--list", "--state"))
    same(tool(SHARE, "--describe", "--group", "workers"))
    for goal in (("--to-earliest",), ("--to-latest",), ("--to-datetime", "2023-11-14T22:13:25.000")):
        same(tool(SHARE, "--reset-offsets", "--group", "workers", "--all-topics", *goal, "--dry-run"))
    same(tool(SHARE, "--reset-offsets", "--group", "workers", "--topic", TOPIC, "--to-earliest", "--execute"))
    same(tool(SHARE, "--describe", "--group", "workers", "--verbose"))
    same(tool(SHARE, "--delete-offsets", "--group", "workers", "--topic", TOPIC))
    same(tool(SHARE, "--describe", "--group", "workers"))
    same(tool(SHARE, "--delete", "--group", "workers"))
    same(tool(SHARE, "--describe", "--group", "workers"))


def test_share_groups_with_members_are_not_changed(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        share_group(broker, "working", stays=True)
    same(tool(SHARE, "--reset-offsets", "--group", "working", "--topic", TOPIC, "--to-earliest", "--execute"))
    same(tool(SHARE, "--delete-offsets", "--group", "working", "--topic", TOPIC))
    same(tool(SHARE, "--delete", "--group", "working"))


def test_tools_of_another_type_refuse(both: tuple[Any, Any], tool: Tool) -> None:
    for broker in both:
        consumer_group(broker, "c")
        streams_group(broker, "s")
        share_group(broker, "h")
    for name, group in ((CONSUMER, "s"), (CONSUMER, "h"), (STREAMS, "c"), (SHARE, "c"), (STREAMS, "h"), (SHARE, "s")):
        same(tool(name, "--describe", "--group", group))
        same(tool(name, "--delete", "--group", group))
    theirs, ours = tool("GroupsCommand", "--list")
    assert sorted(ours.splitlines()) == sorted(theirs.splitlines())
