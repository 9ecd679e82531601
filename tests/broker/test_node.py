"""The state that a node keeps through clean stops and crashes."""

from __future__ import annotations

import asyncio
import errno
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.broker.ids import take_id
from tests.broker.node_requests import batch, values

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._metadata.journal.log import JournalError, decode
from kafkawire.broker._metadata.journal.records import everything
from kafkawire.broker._node import Node
from kafkawire.broker._ops.maintenance import Maintenance
from kafkawire.messages.errors import (
    InvalidTopicError,
    KafkaStorageError,
    TopicExistsError,
    UnknownTopicOrPartitionError,
)
from kafkawire.testing.faulty_files import Fault, FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.log.storage.memory import MemoryFiles
    from kafkawire.testing.manual_clock import ManualClock


def facts(node: Node) -> list[tuple[object, ...]]:
    return [(topic.name, topic.id, topic.partitions, topic.configs) for topic in node.topics]


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "crashed"])
def test_topics_ids_settings_and_records_survive(node: Node, open_node: Callable[..., Node], clean: bool) -> None:
    node.create_topic("fresh", 1, {"retention.ms": "77"})
    node.create_topic("gone", 1)
    node.delete_topic(node.topics.get("gone"))
    node.add_partitions(node.topics.get("orders"), 3)
    node.configure_topic(node.topics.get("orders"), {"segment.bytes": "5000"})
    node.append("orders", 2, batch(b"kept"))
    before = facts(node)
    if clean:
        node.close()
    again = open_node()
    assert facts(again) == before
    assert values(again.log("orders", 2).read(0, 1000).read()) == [b"kept"]
    assert again.log("fresh", 0).config.retention_ms == 77


def test_every_start_begins_a_new_leader_epoch(open_node: Callable[..., Node]) -> None:
    first = open_node()
    assert first.leader_epoch == 0
    first.close()
    assert open_node().leader_epoch == 1
    assert open_node().leader_epoch == 2


@pytest.mark.parametrize("how", ["killed", "unplugged"])
def test_records_synced_by_a_setting_of_the_topic_survive_a_crash(clock: ManualClock, how: str) -> None:
    disk = FaultyFiles()
    node = Node(BrokerConfig({}), clock, root=Path("/data"), files=disk)
    node.create_topic("safe", 1, {"flush.on.ack": "true"})

    async def produce() -> None:
        partition = node.partition("safe", 0)
        waiting = node.durable(partition, node.append_to(partition, batch(b"kept")).last_offset)
        assert waiting is not None
        await waiting

    asyncio.run(produce())
    log = Node(BrokerConfig({}), clock, root=Path("/data"), files=getattr(disk, how)()).log("safe", 0)
    assert log.high_watermark == 1
    assert values(log.read(0, 1000).read()) == [b"kept"]


def test_a_topic_that_could_not_grow_has_grown_once_when_it_could(clock: ManualClock) -> None:
    disk = FaultyFiles()
    node = Node(BrokerConfig({}), clock, root=Path("/data"), files=disk)
    topic = node.create_topic("orders", 1)
    disk.arm(Fault("create", error=errno.ENOSPC))
    with pytest.raises(KafkaStorageError):
        node.add_partitions(topic, 2)
    refused = Node(BrokerConfig({}), clock, root=Path("/data"), files=disk.killed())
    assert refused.topics.get("orders").partitions == 1
    node.add_partitions(topic, 2)
    again = Node(BrokerConfig({}), clock, root=Path("/data"), files=disk.killed())
    assert again.topics.get("orders").partitions == 2


def test_a_name_is_free_once_the_disk_lets_its_old_topic_go(clock: ManualClock) -> None:
    disk = FaultyFiles()
    node = Node(BrokerConfig({}), clock, root=Path("/data"), files=disk)
    old = node.create_topic("orders", 3)
    node.append("orders", 1, batch(b"old"))
    disk.arm(Fault("rename", after=1))
    with pytest.raises(KafkaStorageError):
        node.delete_topic(old)
    assert "orders" not in node.topics
    fresh = node.create_topic("orders", 2)
    assert node.log("orders", 1).end_offset == 0
    again = Node(BrokerConfig({}), clock, root=Path("/data"), files=disk.killed())
    assert [(topic.id, topic.partitions) for topic in again.topics] == [(fresh.id, 2)]


def test_a_deletion_that_a_crash_interrupted_is_finished(node: Node, open_node: Callable[..., Node]) -> None:
    topic = node.topics.get("orders")
    node.logs.deletion = lambda *_: iter(())  # type: ignore[assignment, method-assign]  # the process dies before the files go
    node.delete_topic(topic)
    again = open_node()
    assert ("orders", 0) not in again.logs.partitions
    assert again.create_topic("orders", 1).id != topic.id


def test_a_deleted_topic_whose_log_lost_its_id_does_not_come_back(
    node: Node, open_node: Callable[..., Node], files: MemoryFiles
) -> None:
    node.append("orders", 0, batch(b"old"))
    node.logs.delete = lambda *_: None  # type: ignore[method-assign]  # the power fails before the names are durable
    node.delete_topic(node.topics.get("orders"))
    for name in [name for name in files.names if name.name == "partition.metadata"]:
        files.remove(name)
    again = open_node()
    again.create_topic("orders", 2)
    assert again.log("orders", 0).end_offset == 0


def test_a_creation_that_a_crash_interrupted_is_finished(node: Node, open_node: Callable[..., Node]) -> None:
    node.logs.creation = lambda *_, **__: iter(())  # type: ignore[assignment, method-assign]  # dies before that
    node.create_topic("fresh", 2)
    assert open_node().log("fresh", 1).end_offset == 0


def test_a_topic_whose_logs_cannot_be_made_is_not_there_afterwards_either(
    node: Node, open_node: Callable[..., Node]
) -> None:
    def refuse(*_: object, **__: object) -> Iterator[None]:
        raise KafkaStorageError("no space left")

    node.logs.creation = refuse  # type: ignore[assignment, method-assign]  # a full disk
    with pytest.raises(KafkaStorageError):
        node.create_topic("fresh", 2)
    assert "fresh" not in node.topics
    assert "fresh" not in open_node().topics


@pytest.mark.parametrize("hold", [False, True])
def test_a_full_disk_is_logged_now_and_then(clock: ManualClock, caplog: pytest.LogCaptureFixture, hold: bool) -> None:
    files = FaultyFiles(clock.now)
    node = Node(BrokerConfig(), clock, root=Path("/data"), files=files)
    node.create_topic("orders", 1)
    fault = Fault("write", error=errno.ENOSPC, sticky=True)
    files.arm(fault)

    def refused() -> None:
        with pytest.raises(KafkaStorageError):
            write(node, hold=hold)

    for _ in range(5):
        refused()
    assert caplog.text.count("records are refused, /data/orders-0") == 1
    clock.advance(10_000)
    refused()
    assert caplog.text.count("records are refused, /data/orders-0") == 2
    files.faults.remove(fault)
    write(node, hold=hold)
    assert node.log("orders", 0).end_offset == 1


def write(node: Node, *, hold: bool) -> None:
    log = node.log("orders", 0)
    group = node.hold(log, more=True) if hold else None
    node.append("orders", 0, batch(b"a"), hold=hold)
    node.write_held()
    if group is not None and log in group.failures:
        raise group.failures[log]


def test_directories_of_no_topic_are_left_alone(
    node: Node, open_node: Callable[..., Node], files: MemoryFiles, caplog: pytest.LogCaptureFixture
) -> None:
    node.logs.create("stranger", 0)
    again = open_node()
    assert ("stranger", 0) in again.logs.partitions
    with pytest.raises(UnknownTopicOrPartitionError):
        again.log("stranger", 0)
    assert "belongs to no topic" in caplog.text


@pytest.mark.parametrize(
    ("name", "error"),
    [("orders", TopicExistsError), ("", InvalidTopicError), ("a b", InvalidTopicError), ("x" * 250, InvalidTopicError)],
)
def test_names_that_cannot_be_given(node: Node, name: str, error: type[Exception]) -> None:
    with pytest.raises(error):
        node.create_topic(name, 1)


def test_the_journal_is_never_cut_by_retention(node: Node, clock: ManualClock, open_node: Callable[..., Node]) -> None:
    clock.advance(400 * 86_400_000)
    node.configure_topic(node.topics.get("orders"), {"segment.bytes": "5000"})
    asyncio.run(Maintenance(node).apply_retention())
    node.logs.maintain()
    node.close()
    assert "orders" in open_node().topics


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "crashed"])
def test_a_long_journal_is_rewritten_with_the_same_content(
    node: Node, open_node: Callable[..., Node], monkeypatch: pytest.MonkeyPatch, clean: bool
) -> None:
    monkeypatch.setattr("kafkawire.broker._metadata.start.JOURNAL_SLACK", 10)
    topic = node.topics.get("orders")
    for number in range(100):
        node.configure_topic(topic, {"segment.bytes": str(5000 + number), "retention.ms": None})
    node.configure_broker("", {"log.retention.ms": "123"})
    given = take_id(node)
    before, length = facts(node), len(node.journal)
    if clean:
        node.close()
    again = open_node()
    assert len(again.journal) < 20 < length
    for reopened in (again, open_node()):
        assert facts(reopened) == before
        assert reopened.config.integer("log.retention.ms") == 123
        assert take_id(reopened) > given


def test_a_journal_rewritten_and_not_yet_cut_has_the_same_content(node: Node, open_node: Callable[..., Node]) -> None:
    node.configure_topic(node.topics.get("orders"), {"segment.bytes": "5000", "retention.ms": "7"})
    node.configure_topic(node.topics.get("orders"), {"segment.bytes": None})
    node.delete_topic(node.create_topic("gone", 3))
    before = facts(node)
    node.journal.write(everything(node))
    assert facts(open_node()) == before


def test_a_change_of_any_size_fits_the_journal(node: Node) -> None:
    record = node.journal.replay()
    length = len(node.journal)
    node.journal.write([next(record)] * 30_000)
    assert len(node.journal) == length + 30_000


def test_retention_lets_old_records_go(node: Node, clock: ManualClock) -> None:
    node.configure_topic(node.topics.get("orders"), {"retention.ms": "1000"})
    node.append("orders", 0, batch(b"old", timestamp=clock.now()))
    clock.advance(5000)
    asyncio.run(Maintenance(node).apply_retention())
    assert node.log("orders", 0).log_start_offset == 1


def test_compaction_keeps_the_last_of_each_key(node: Node, clock: ManualClock) -> None:
    node.create_topic("compacted", 1, {"cleanup.policy": "compact", "segment.bytes": "200"})
    for number in range(20):
        node.append("compacted", 0, batch(b"%d" % number, timestamp=clock.now()))
    clock.advance(1000)
    asyncio.run(Maintenance(node).compact())
    log = node.log("compacted", 0)
    kept = values(log.read(log.log_start_offset, 1 << 20).read())
    assert len(kept) < 20
    assert values(log.read(19, 1 << 20).read())[-1] == b"19"


def test_files_of_what_was_deleted_go_after_their_delay(node: Node, files: MemoryFiles, clock: ManualClock) -> None:
    node.append("orders", 0, batch(b"a"))
    log = node.log("orders", 0)
    log.roll()
    log.delete_records(1)
    node.delete_topic(node.create_topic("gone", 1))

    def left() -> tuple[bool, bool]:
        asyncio.run(Maintenance(node).remove_files())
        segments = any(name.suffix == ".deleted" for name in files.names)
        return segments, any(name.name.endswith("-delete") for name in files.folders)

    assert left() == (True, True)
    clock.advance(log.config.file_delete_delay_ms)
    assert left() == (False, False)


def test_timers_repeat_until_they_are_stopped(node: Node, clock: ManualClock) -> None:
    interval = node.config.integer("log.retention.check.interval.ms")
    node.configure_topic(node.topics.get("orders"), {"retention.ms": "1000"})
    maintenance = Maintenance(node)
    log = node.log("orders", 0)

    def pass_time_after_an_append() -> None:
        node.append("orders", 0, batch(b"old", timestamp=clock.now()))
        clock.advance(interval + 2000)

    async def scenario() -> None:
        maintenance.start()
        kinds = clock.timers
        for start in (1, 2):
            pass_time_after_an_append()
            async with asyncio.timeout(60):
                while log.log_start_offset < start or clock.timers < kinds:
                    await asyncio.sleep(0.001)
        await maintenance.stop()
        assert (kinds, clock.timers) == (5, 0)
        pass_time_after_an_append()
        await node.flusher.drain()

    asyncio.run(scenario())
    assert log.log_start_offset == 2


def test_bytes_that_are_not_a_metadata_record_are_refused() -> None:
    with pytest.raises(JournalError, match="metadata record 5: expected frame version 1"):
        decode(b"\x07\x02\x00", 5)
    assert decode(b"\x01\x7e\x00", 5) is None


def test_a_compacted_topic_with_gaps_is_recovered_without_a_word(
    node: Node, open_node: Callable[..., Node], caplog: pytest.LogCaptureFixture
) -> None:
    node.create_topic("compacted", 1, {"cleanup.policy": "compact", "segment.bytes": "200"})
    for number in range(40):
        node.append("compacted", 0, batch(b"%d" % number, key=b"%d" % (number % 3)))
    log = node.log("compacted", 0)
    log.flush()
    log.compact(force=True)
    assert len(list(log.segments)) > 1
    again = open_node().log("compacted", 0)
    assert (again.end_offset, again.findings) == (40, [])
    assert "missing" not in caplog.text
