"""DumpLogSegments over what our broker's clients left behind: no complaint, and its counts are the broker's.

The broker is the one that all tests share, so this reads whatever ran before; it adds work of each client of its own.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.clients.workload import CODECS, workload
from tests.interop.drivers import JavaClients, KafkaJs
from tests.interop.kcat import Kcat
from tests.interop.waiting import until

from kafkawire.client import TopicPartition
from kafkawire.client.blocking import Admin, Consumer
from kafkawire.messages._uuids import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
OFFSETS, METADATA = "__consumer_offsets", "__cluster_metadata"
OFFSET_KEY, GROUP_KEY = "1", "2"


@dataclass
class LeftBehind:
    """A stopped broker's directory, and what the broker said before it stopped."""

    directory: Path
    ranges: dict[str, tuple[int, int]] = field(default_factory=dict)
    committed: dict[tuple[str, str, int], int] = field(default_factory=dict)
    topic_ids: dict[str, str] = field(default_factory=dict)

    def files(self, partition: str, suffix: str) -> list[Path]:
        return sorted((self.directory / partition).glob(f"*{suffix}"))


@pytest.fixture(scope="module")
def left_behind(
    kafka: ApacheKafka, our_broker: OurBroker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LeftBehind]:
    logs = tmp_path_factory.mktemp("drivers")
    for client in (JavaClients(logs / "java"), KafkaJs(logs / "kafkajs")):
        work_with(client, our_broker.bootstrap)
        client.close()
    kcat = Kcat(our_broker.bootstrap)
    for codec in CODECS:
        kcat.produce("left-by-kcat", "-z", codec, lines="a\nb\nc\n")
    found = LeftBehind(our_broker.data_dir)
    ask_the_broker(our_broker.bootstrap, found)
    our_broker.stop()
    yield found
    our_broker.start()


def work_with(client: JavaClients | KafkaJs, bootstrap: str) -> None:
    topic = f"left-by-{type(client).__name__}"
    client.call("create_topic", bootstrap=bootstrap, topic=topic, partitions=2)
    client.call("create_topic", bootstrap=bootstrap, topic=f"{topic}-deleted", partitions=2)
    for codec in CODECS:
        client.produce(bootstrap, topic, workload(), codec=codec, idempotent=True)
    member = client.join(bootstrap, topic, [topic])
    until(lambda: len(member.values()) == len(CODECS) * len(workload()))
    member.commit()
    member.leave()
    client.call("delete_topic", bootstrap=bootstrap, topic=f"{topic}-deleted")


def ask_the_broker(bootstrap: str, found: LeftBehind) -> None:
    with Admin(bootstrap_servers=bootstrap) as admin, Consumer(bootstrap_servers=bootstrap) as consumer:
        for topic in admin.describe_topics(admin.list_topics(internal=True)):
            found.topic_ids[topic.name] = uuid_text(topic.id)
            places = [TopicPartition(topic.name, each) for each in topic.partitions]
            starts, ends = consumer.beginning_offsets(places), consumer.end_offsets(places)
            found.ranges.update({f"{place.topic}-{place.partition}": (starts[place], ends[place]) for place in places})
        for group in admin.list_groups():
            for place, committed in admin.list_group_offsets(group.group_id).items():
                found.committed[group.group_id, place.topic, place.partition] = committed.offset


def of_each_partition(text: str) -> dict[str, list[str]]:
    """The lines of a dump by the directory of the file that they are about."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in text.splitlines():
        if about := re.match(r"Dumping .*/([^/]+)/[^/]+$", line):
            lines = found.setdefault(about[1], [])
        else:
            lines.append(line)
    return found


def test_every_log_has_the_records_that_the_broker_returned(kafka: ApacheKafka, left_behind: LeftBehind) -> None:
    topics = {name: span for name, span in left_behind.ranges.items() if not name.startswith("__")}
    files = [path for name in topics for path in left_behind.files(name, ".log")]
    dumped = of_each_partition(kafka.dump(files, "--deep-iteration"))
    offsets = {
        name: [int(offset) for line in dumped[name] for offset in re.findall(r"^\| offset: (\d+)", line)]
        for name in topics
    }
    for name, (start, end) in topics.items():
        kept = [offset for offset in offsets[name] if offset >= start]
        assert len(kept) == end - start, name
        assert kept == sorted(set(kept)), name
    assert {len(offsets[f"left-by-{name}-0"]) for name in ("JavaClients", "KafkaJs")} == {5 * len(workload())}
    assert len(offsets["left-by-kcat-0"]) == 15
    codecs = set(re.findall(r"compresscodec: (\w+)", "\n".join(dumped["left-by-JavaClients-0"])))
    assert codecs == set(CODECS)


def test_every_index_agrees_with_its_log(kafka: ApacheKafka, left_behind: LeftBehind) -> None:
    indexes = [path for name in left_behind.ranges for path in left_behind.files(name, "index")]
    assert len(indexes) >= 2 * len(left_behind.ranges)
    kafka.dump([path for path in indexes if path.suffix != ".txnindex"], "--verify-index-only")


def test_producers_are_in_the_snapshots(kafka: ApacheKafka, left_behind: LeftBehind) -> None:
    snapshots = left_behind.files("left-by-JavaClients-0", ".snapshot")
    producers = set(re.findall(r"producerId: (\d+)", kafka.dump(snapshots)))
    assert len(producers) == len(CODECS)


def payloads(text: str) -> Iterator[tuple[Any, Any]]:
    """Keys and values that the decoder of the offsets topic prints."""
    for line in text.splitlines():
        if found := re.search(r"key: (\{.*\}) payload: (\{.*\}|<DELETE>|null)$", line):
            yield json.loads(found[1]), json.loads(found[2]) if found[2].startswith("{") else None


def test_committed_offsets_are_those_that_the_broker_returned(kafka: ApacheKafka, left_behind: LeftBehind) -> None:
    logs = [path for name in left_behind.ranges if name.startswith(OFFSETS) for path in left_behind.files(name, ".log")]
    committed: dict[tuple[str, str, int], int] = {}
    groups = set()
    for key, value in payloads(kafka.dump(logs, "--offsets-decoder")):
        data = key["data"]
        if key["type"] == GROUP_KEY:
            groups |= {data["group"]}
        elif value is None:
            committed.pop((data["group"], data["topic"], data["partition"]), None)
        else:
            committed[data["group"], data["topic"], data["partition"]] = value["data"]["offset"]
    assert committed == left_behind.committed
    assert committed["left-by-JavaClients", "left-by-JavaClients", 0] == 5 * len(workload())
    assert groups >= {"left-by-JavaClients", "left-by-KafkaJs"}


def test_the_journal_has_the_topics_that_the_broker_returned(kafka: ApacheKafka, left_behind: LeftBehind) -> None:
    text = kafka.dump(left_behind.files(f"{METADATA}-0", ".log"), "--cluster-metadata-decoder")
    topics: dict[str, str] = {}
    partitions: dict[str, int] = {}
    for line in text.splitlines():
        if not (found := re.search(r"payload: (\{.*\})$", line)):
            continue
        record = json.loads(found[1])
        kind, data = record["type"], record["data"]
        if kind == "TOPIC_RECORD":
            topics[data["topicId"]] = data["name"]
        elif kind == "PARTITION_RECORD":
            partitions[data["topicId"]] = partitions.get(data["topicId"], 0) + 1
        elif kind == "REMOVE_TOPIC_RECORD":
            assert topics.pop(data["topicId"]), "a topic is made before it is removed"
            partitions.pop(data["topicId"])
    assert {name: topic_id for topic_id, name in topics.items()} == left_behind.topic_ids
    assert sum(partitions.values()) == len(left_behind.ranges)
    assert "left-by-KafkaJs-deleted" not in topics.values()
