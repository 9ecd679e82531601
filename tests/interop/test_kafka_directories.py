"""We read what Apache Kafka's broker leaves, and it goes on where we stopped."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.apache_kafka import NEWEST, PREVIOUS, ApacheKafka
from tests.log.batches import batch, records

from kafkawire.broker._metadata.journal.log import JournalError
from kafkawire.cli.main import main
from kafkawire.client import BulkReader, TopicPartition
from kafkawire.client.blocking import Admin, Producer
from kafkawire.inspect import read_directories
from kafkawire.log import DiskFiles, LogDirectory
from kafkawire.log._offline.findings import verify_paths
from kafkawire.log._offline.log_file import open_log
from kafkawire.messages import OffsetFetchRequest
from kafkawire.messages.errors import ErrorCode
from kafkawire.testing._running import RunningBroker

if TYPE_CHECKING:
    from kafkawire.log import Partition

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
aiokafka = pytest.importorskip("aiokafka", reason="aiokafka produces what Kafka writes")
JOURNAL = "__cluster_metadata-0"
OPEN = "left open"
"""The transactional id whose transaction was open when the broker stopped."""
CODECS = (None, "gzip", "snappy", "lz4", "zstd")


@pytest.fixture(scope="module", params=[NEWEST, PREVIOUS], ids=lambda release: release.version)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory that a broker of each release wrote: every codec, transactions, a compacted topic, groups."""
    directory = tmp_path_factory.mktemp("theirs")
    with ApacheKafka(request.param).broker(directory) as address:
        asyncio.run(_produce(address))
    return directory


async def _produce(address: str) -> None:
    from aiokafka.admin import AIOKafkaAdminClient, NewTopic

    compacted = {"cleanup.policy": "compact", "segment.ms": "500", "min.cleanable.dirty.ratio": "0.01"}
    admin = AIOKafkaAdminClient(bootstrap_servers=address)
    await admin.start()
    await admin.create_topics(
        [
            *(NewTopic(name, 1, 1) for name in ("plain", "transactions", "open")),
            NewTopic("keys", 1, 1, topic_configs=compacted),
        ]
    )
    await admin.close()
    for codec in CODECS:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=address, compression_type=codec, enable_idempotence=True
        ) as producer:
            for number in range(200):
                await producer.send("plain", b"value %d" % number, key=b"%d" % number, headers=[("codec", b"x")])
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=address, transactional_id="t") as producer:
        for number in range(6):
            await producer.begin_transaction()
            await producer.send_and_wait("transactions", b"%d" % number)
            await (producer.abort_transaction() if number % 2 else producer.commit_transaction())
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=address, transactional_id=OPEN) as producer:
        await producer.begin_transaction()
        await producer.send_and_wait("open", b"never committed")
        await producer.send_offsets_to_transaction({aiokafka.TopicPartition("plain", 0): 7}, "copier")
    async with aiokafka.AIOKafkaConsumer(
        "plain", bootstrap_servers=address, group_id="readers", auto_offset_reset="earliest", enable_auto_commit=False
    ) as consumer:
        await consumer.getone()
        await consumer.commit()
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=address) as producer:
        for number in range(40):
            await producer.send_and_wait("keys", b"%d" % number, key=b"%d" % (number % 5))
            await asyncio.sleep(0.05)
    await asyncio.sleep(2)


def test_the_inspector_finds_nothing_wrong(made: Path) -> None:
    read = read_directories([made / "data"])
    states = {row["state"] for row in read["segment_files"].to_pylist()}
    assert "ok" in states
    assert states <= {"ok", "leftover"}
    assert read["index_errors"].num_rows == 0
    assert all(read["batches"]["crc_ok"].to_pylist())


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made / "data", tmp_path / "data"))


def open_partition(root: Path, topic: str) -> Partition:
    return LogDirectory(root, files=DiskFiles()).partitions[topic, 0]


def test_every_file_verifies(copy: Path) -> None:
    assert list(verify_paths([copy])) == []


@pytest.mark.parametrize("clean", [True, False])
def test_records_of_every_codec(copy: Path, clean: bool) -> None:
    if not clean:
        (copy / ".kafka_cleanshutdown").unlink()
    log = open_partition(copy, "plain")
    assert log.cut_bytes == 0
    assert [record.value for record in records(log)] == [b"value %d" % number for number in range(200)] * 5
    assert len(log.producers.entries) == 5


@pytest.mark.parametrize("clean", [True, False])
def test_transactions(copy: Path, clean: bool) -> None:
    if not clean:
        (copy / ".kafka_cleanshutdown").unlink()
    log = open_partition(copy, "transactions")
    assert log.last_stable_offset == log.end_offset
    assert [entry.first_offset for entry in log.aborted_transactions(0, log.end_offset)] == [2, 6, 10]


def test_a_compacted_topic(copy: Path) -> None:
    log = open_partition(copy, "keys")
    found = {record.key: record.value for record in records(log)}
    assert found == {b"%d" % key: b"%d" % (35 + key) for key in range(5)}
    assert len(records(log)) < 40
    log.compact(force=True)
    assert {record.key: record.value for record in records(log)} == found


def test_kafka_goes_on_where_we_stopped(kafka: ApacheKafka, made: Path, tmp_path: Path) -> None:
    shutil.copytree(made / "data", tmp_path / "data")
    logs = LogDirectory(tmp_path / "data", files=DiskFiles())
    logs.partitions["plain", 0].append(batch(b"from us", timestamp=logs.clock()))
    logs.partitions["keys", 0].compact(force=True)
    logs.close()
    with kafka.broker(tmp_path) as address:
        values = asyncio.run(_consume(address, "plain", 1001))
    assert values[-1] == b"from us"
    assert list(verify_paths([tmp_path / "data"])) == []


def test_our_broker_refuses_kafkas_journal_and_a_repair_finds_nothing_wrong(
    copy: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journal = {path.name: path.read_bytes() for path in (copy / JOURNAL).iterdir()}
    with pytest.raises(JournalError, match="Apache Kafka wrote this journal"), RunningBroker(copy):
        pass
    assert main(["log", "repair", str(copy), "--apply"]) == 0
    assert capsys.readouterr().out == "no fault found\n"
    assert {path.name: path.read_bytes() for path in (copy / JOURNAL).iterdir()} == journal


def test_our_broker_goes_on_where_kafka_stopped(copy: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journal = {path.name: path.read_bytes() for path in (copy / JOURNAL).iterdir()}
    assert main(["log", "repair", str(copy), "--adopt", "--apply"]) == 0
    assert "Apache Kafka wrote this journal" in capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in (copy / f"{JOURNAL}.kafka").iterdir()} == journal
    with RunningBroker(copy) as broker:
        configs = {topic.name: topic.configs for topic in broker.broker.node.topics}
        assert configs["plain"] == {}
        assert configs["keys"]["cleanup.policy"] == "compact"
        assert configs["__transaction_state"]["cleanup.policy"] == "compact"
        assert len(broker.records("plain")) == 1000
        assert broker.produce("plain", b"from us") == 1000
        largest = max(max(log.producers.entries, default=-1) for log in broker.broker.node.logs.partitions.values())
        assert broker.broker.node.producer_ids.next_block > largest
        assert broker.broker.node.features.level("transaction.version") == 2
        group = broker.broker.node.groups.find("readers")
        assert group is not None
        assert group.offsets["plain", 0].offset == 1
    assert main(["log", "repair", str(copy)]) == 0


def test_our_coordinator_goes_on_with_the_transactional_ids_of_kafka(copy: Path) -> None:
    assert main(["log", "repair", str(copy), "--adopt", "--apply"]) == 0
    plain = TopicPartition("plain", 0)
    with RunningBroker(copy) as broker:
        server: Any = {"bootstrap_servers": broker.bootstrap_servers}
        with Admin(**server) as admin:
            ended, opened = admin.describe_transactions(["t", OPEN])
            assert (ended.state, ended.start_ms is None, ended.partitions) == ("CompleteAbort", False, [])
            assert (opened.state, opened.timeout_ms) == ("Ongoing", 60_000)
            assert sorted(place.topic for place in opened.partitions) == ["__consumer_offsets", "open"]
            (known,) = admin.describe_producers([TopicPartition("open", 0)])[TopicPartition("open", 0)]
            assert (known.producer_id, known.open_since) == (opened.producer_id, 0)
            assert _stable_offset_error(admin, "copier") == ErrorCode.UNSTABLE_OFFSET_COMMIT
        for name, topic, before in (("t", "transactions", ended), (OPEN, "open", opened)):
            with Producer(**server, transactional_id=name) as producer, producer.transaction():
                producer.send(topic, b"from us")
                producer.send_offsets_to_transaction({plain: 9}, "copier")
            with Admin(**server) as admin:
                (after,) = admin.describe_transactions([name])
            assert (after.state, after.producer_id) == ("CompleteCommit", before.producer_id)
            assert after.producer_epoch > before.producer_epoch
            with BulkReader(**server, isolation_level="read_committed") as reader:
                found = [value for part in reader.read(topic, 0, 0) for value in part.column("value").to_pylist()]
            assert found == ([b"0", b"2", b"4", b"from us"] if name == "t" else [b"from us"])
        with Admin(**server) as admin:
            assert admin.list_group_offsets("copier")[plain].offset == 9


def _stable_offset_error(admin: Admin, group: str) -> int:
    topics = [OffsetFetchRequest.OffsetFetchRequestTopics(name="plain", partition_indexes=[0])]
    asked = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=group, topics=topics)
    answer: Any = admin.raw(OffsetFetchRequest(groups=[asked], require_stable=True), version=9)
    return int(answer.groups[0].topics[0].partitions[0].error_code)


def test_kafka_goes_on_after_our_repair(kafka: ApacheKafka, made: Path, tmp_path: Path) -> None:
    """One batch of a log is lost, and an empty one has its offsets: Kafka's tools and its broker take it as it is."""
    data = Path(shutil.copytree(made / "data", tmp_path / "data"))
    path = data / "plain-0" / "00000000000000000000.log"
    columns = open_log(path).columns
    content = bytearray(path.read_bytes())
    content[columns["position"][1] + 70] ^= 0xFF
    path.write_bytes(content)
    lost = columns["record_count"][1]
    assert main(["log", "repair", str(data), "--keep-after", "--apply"]) == 0
    text = kafka.dump([path, path.with_suffix(".index"), path.with_suffix(".timeindex")], "--deep-iteration")
    assert "count: 0 " in text
    with kafka.broker(tmp_path) as address:
        assert len(asyncio.run(_consume(address, "plain", 1000 - lost))) == 1000 - lost


async def _consume(address: str, topic: str, count: int) -> list[bytes | None]:
    found: list[bytes | None] = []
    async with aiokafka.AIOKafkaConsumer(
        topic, bootstrap_servers=address, auto_offset_reset="earliest", group_id=None
    ) as consumer:
        while len(found) < count:
            for batches in (await consumer.getmany(timeout_ms=10_000)).values():
                found += [record.value for record in batches]
    return found
