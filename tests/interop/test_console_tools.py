"""Apache Kafka's console tools against our broker, as an operator types them."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Protocol

import pytest

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOPICS, GROUPS = "TopicCommand", "consumer.group.ConsumerGroupCommand"
CONFIGS, PRODUCER, CONSUMER = "kafka.admin.ConfigCommand", "ConsoleProducer", "consumer.ConsoleConsumer"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


class Tool(Protocol):
    """Runs a tool: its class, its options, what is typed into it; what it prints."""

    def __call__(self, name: str, *options: str, stdin: str = "") -> str: ...


@pytest.fixture
def tool(kafka: ApacheKafka, our_broker: OurBroker) -> Tool:
    def run(name: str, *options: str, stdin: str = "") -> str:
        main = name if name.startswith("kafka.") else f"org.apache.kafka.tools.{name}"
        text = kafka.run(main, "--bootstrap-server", our_broker.bootstrap, *options, stdin=stdin)
        return "\n".join(line for line in text.splitlines() if not line.startswith("SLF4J"))

    return run


@pytest.fixture
def topic(tool: Tool, request: pytest.FixtureRequest) -> str:
    """A topic of this test's own with two partitions."""
    name: str = request.node.name.replace("_", "-")
    assert tool(TOPICS, "--create", "--topic", name, "--partitions", "2") == f"Created topic {name}."
    return name


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a printed table, by its heads."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    return [dict(zip(lines[0], line, strict=False)) for line in lines[1:]]


def test_topics(tool: Tool, topic: str) -> None:
    assert topic in tool(TOPICS, "--list").split()
    tool(TOPICS, "--alter", "--topic", topic, "--partitions", "3")
    first, *partitions = tool(TOPICS, "--describe", "--topic", topic).splitlines()
    assert re.search(r"PartitionCount: 3\s+ReplicationFactor: 1", first)
    assert [re.search(r"Leader: (\d+)\s+Replicas: (\d+)\s+Isr: (\d+)", line) is not None for line in partitions] == [
        True,
        True,
        True,
    ]
    for troubled in ("--under-replicated-partitions", "--unavailable-partitions", "--under-min-isr-partitions"):
        assert tool(TOPICS, "--describe", troubled) == ""
    tool(TOPICS, "--delete", "--topic", topic)
    assert topic not in tool(TOPICS, "--list").split()


def test_producing_with_every_codec_and_consuming(tool: Tool, topic: str) -> None:
    keyed = ("--property", "parse.key=true", "--property", "key.separator=:", "--property", "null.marker=NULL")
    for codec in CODECS:
        lines = f"{codec}:first\n{codec}:second\n{codec}:NULL\n"
        tool(PRODUCER, "--topic", topic, "--compression-codec", codec, *keyed, stdin=lines)
    printed = ("print.key", "print.partition", "print.offset", "print.timestamp")
    options = [word for name in printed for word in ("--property", f"{name}=true")]
    text = tool(
        CONSUMER, "--topic", topic, "--from-beginning", "--max-messages", "15", "--timeout-ms", "20000", *options
    )
    found = [line.split("\t")[-2:] for line in text.splitlines() if line.startswith("CreateTime:")]
    assert sorted(found) == sorted([codec, value] for codec in CODECS for value in ("first", "second", "null"))
    assert "Processed a total of 15 messages" in text


def test_groups(tool: Tool, topic: str) -> None:
    tool(PRODUCER, "--topic", topic, stdin="a\nb\nc\nd\n")
    reading = ("--topic", topic, "--group", topic, "--timeout-ms", "20000", "--from-beginning")
    tool(CONSUMER, *reading, "--max-messages", "4")
    states = {row["GROUP"]: row["STATE"] for row in rows(tool(GROUPS, "--list", "--state"))}
    assert states[topic] == "Empty"
    text = tool(GROUPS, "--describe", "--group", topic).replace(f"Consumer group '{topic}' has no active members.", "")
    told = rows(text)
    assert sum(int(row["CURRENT-OFFSET"]) for row in told) == sum(int(row["LOG-END-OFFSET"]) for row in told) == 4
    assert {row["LAG"] for row in told} == {"0"}
    assert "Empty" in tool(GROUPS, "--describe", "--group", topic, "--state")
    tool(GROUPS, "--reset-offsets", "--group", topic, "--topic", topic, "--to-earliest", "--execute")
    again = tool(CONSUMER, *reading, "--max-messages", "4")
    assert sorted(again.split()[:4]) == ["a", "b", "c", "d"]
    assert "Successful" in tool(GROUPS, "--delete-offsets", "--group", topic, "--topic", topic)
    assert "was successful" in tool(GROUPS, "--delete", "--group", topic)
    assert topic not in tool(GROUPS, "--list").split()
    assert topic not in tool("GroupsCommand", "--list")


def test_settings_of_a_topic(tool: Tool, topic: str) -> None:
    tool(CONFIGS, "--alter", "--topic", topic, "--add-config", "retention.ms=5000,max.message.bytes=2000000")
    told = tool(CONFIGS, "--describe", "--topic", topic)
    assert "retention.ms=5000" in told
    assert "max.message.bytes=2000000" in told
    tool(CONFIGS, "--alter", "--topic", topic, "--delete-config", "retention.ms")
    assert "retention.ms" not in tool(CONFIGS, "--describe", "--topic", topic)
    assert "retention.ms=604800000" in tool(CONFIGS, "--describe", "--topic", topic, "--all")


def test_settings_of_the_broker(tool: Tool) -> None:
    everywhere = ("--entity-type", "brokers", "--entity-default")
    tool(CONFIGS, "--alter", "--broker", "1", "--add-config", "log.cleaner.threads=2")
    tool(CONFIGS, "--alter", *everywhere, "--add-config", "log.retention.ms=700000000")
    told = tool(CONFIGS, "--describe", "--broker", "1")
    assert "log.cleaner.threads=2" in told
    assert "log.retention.ms=700000000" in tool(CONFIGS, "--describe", *everywhere)
    assert "node.id=1" in tool(CONFIGS, "--describe", "--broker", "1", "--all")
    tool(CONFIGS, "--alter", *everywhere, "--delete-config", "log.retention.ms")
    tool(CONFIGS, "--alter", "--broker", "1", "--delete-config", "log.cleaner.threads")
    assert "log.cleaner.threads" not in tool(CONFIGS, "--describe", "--broker", "1")


@pytest.mark.parametrize("kind", ["groups", "users", "clients", "ips", "client-metrics"])
def test_settings_that_nobody_has(tool: Tool, kind: str) -> None:
    assert "Error" not in tool(CONFIGS, "--describe", "--entity-type", kind)


def test_offsets_and_the_deletion_of_records(tool: Tool, topic: str, tmp_path: Path) -> None:
    tool(PRODUCER, "--topic", topic, stdin="".join(f"line {number}\n" for number in range(10)))

    def offsets(*time: str) -> dict[int, int]:
        lines = tool("GetOffsetShell", "--topic", topic, *time).split()
        return {int(partition): int(offset) for _, partition, offset in (line.split(":") for line in lines)}

    ends = offsets()
    assert sum(ends.values()) == 10
    full = max(ends, key=lambda partition: ends[partition])
    plan = tmp_path / "delete.json"
    plan.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": full, "offset": 3}]}))
    told = tool("DeleteRecordsCommand", "--offset-json-file", str(plan))
    assert f"partition: {topic}-{full}\tlow_watermark: 3" in told
    assert offsets("--time", "earliest")[full] == 3
    assert offsets("--time", "earliest-local")[full] == 3
    assert offsets("--time", "max-timestamp")[full] < ends[full]
    assert offsets("--time", "0")[full] == 3


def test_directories(tool: Tool, topic: str, our_broker: OurBroker) -> None:
    tool(PRODUCER, "--topic", topic, stdin="line\n")
    text = tool("LogDirsCommand", "--describe", "--topic-list", topic)
    told = json.loads(next(line for line in text.splitlines() if line.startswith("{")))
    ((place,),) = (broker["logDirs"] for broker in told["brokers"])
    assert (place["logDir"], place["error"]) == (str(our_broker.data_dir), None)
    sizes = {each["partition"]: each["size"] for each in place["partitions"]}
    on_disk = {
        name: sum(path.stat().st_size for path in (our_broker.data_dir / name).glob("*.log"))
        for name in (f"{topic}-0", f"{topic}-1")
    }
    assert sizes == on_disk
    assert sum(sizes.values()) > 0


def test_the_cluster(tool: Tool) -> None:
    versions = tool("BrokerApiVersionsCommand")
    assert "(id: 1 rack: null isFenced: false)" in versions
    assert "Produce(0): 0 to 13 [usable: 13]" in versions
    quorum = tool("MetadataQuorumCommand", "describe", "--status")
    assert re.search(r"LeaderId:\s+1\n", quorum)
    assert "Leader" in tool("MetadataQuorumCommand", "describe", "--replication")
    assert "Error" not in tool("FeatureCommand", "describe")


def test_the_id_of_the_cluster(kafka: ApacheKafka, our_broker: OurBroker) -> None:
    server = ("--bootstrap-server", our_broker.bootstrap)
    named = kafka.run("org.apache.kafka.tools.ClusterTool", "cluster-id", *server)
    assert re.search(r"Cluster ID: [\w-]{22}", named)
    assert "unfenced" in kafka.run("org.apache.kafka.tools.ClusterTool", "list-endpoints", *server)


def test_elections_and_reassignments(tool: Tool, topic: str, tmp_path: Path) -> None:
    plan, moved = tmp_path / "plan.json", tmp_path / "topics.json"
    partitions = [{"topic": topic, "partition": 0, "replicas": [1]}]
    plan.write_text(json.dumps({"version": 1, "partitions": partitions}))
    moved.write_text(json.dumps({"version": 1, "topics": [{"topic": topic}]}))
    elect = ("LeaderElectionCommand", "--election-type", "preferred")
    assert "Valid replica already elected" in tool(*elect, "--path-to-json-file", str(plan))
    reassign = "reassign.ReassignPartitionsCommand"
    assert "No partition reassignments found" in tool(reassign, "--list")
    wanted = ("--topics-to-move-json-file", str(moved), "--broker-list", "1")
    assert "Proposed partition reassignment" in tool(reassign, "--generate", *wanted)
    plan_file = ("--reassignment-json-file", str(plan))
    assert "Successfully started" in tool(reassign, "--execute", *plan_file)
    assert f"Reassignment of partition {topic}-0 is completed" in tool(reassign, "--verify", *plan_file)


def test_transactions_and_producers(tool: Tool, topic: str) -> None:
    tool(PRODUCER, "--topic", topic, stdin="line\n")
    assert rows(tool("TransactionsCommand", "list")) == []
    assert rows(tool("TransactionsCommand", "find-hanging", "--broker-id", "1")) == []
    found = [
        row["LastSequence"]
        for partition in "01"
        for row in rows(tool("TransactionsCommand", "describe-producers", "--topic", topic, "--partition", partition))
    ]
    assert found == ["0"]


def test_performance_and_verification(kafka: ApacheKafka, our_broker: OurBroker, tool: Tool, topic: str) -> None:
    size = ("--num-records", "20000", "--record-size", "100", "--throughput", "-1")
    props = ("--producer-props", f"bootstrap.servers={our_broker.bootstrap}", "acks=all", "compression.type=lz4")
    text = kafka.run("org.apache.kafka.tools.ProducerPerformance", "--topic", topic, *size, *props)
    assert "20000 records sent" in text
    consumed = tool("ConsumerPerformance", "--topic", topic, "--messages", "20000", "--timeout", "20000")
    assert re.search(r", 20000, ", consumed)
    sent = tool("VerifiableProducer", "--topic", topic, "--max-messages", "5")
    assert sent.count("producer_send_success") == 5
