"""A broker on a real directory that was damaged while it was away, as its clients see it."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING
from uuid import UUID

import pytest

from kafkawire.broker._metadata.journal.files import read_kafka
from kafkawire.broker._metadata.journal.log import encode_change
from kafkawire.client.blocking import Admin, Consumer, Producer
from kafkawire.log import DiskFiles
from kafkawire.messages import ConfigRecord, RemoveTopicRecord, TopicRecord
from kafkawire.records import BatchBuilder, scan_batches
from kafkawire.testing._running import RunningBroker

if TYPE_CHECKING:
    from pathlib import Path

JOURNAL = "__cluster_metadata-0"
LOG = "00000000000000000000.log"
TOPICS = ("clicks", "orders", "payments")


@pytest.fixture(params=["stopped", "killed"])
def left(tmp_path: Path, request: pytest.FixtureRequest) -> tuple[Path, dict[str, UUID]]:
    """A directory that a broker left with three topics, and their ids."""
    data = tmp_path / "running"
    with RunningBroker(data) as broker:
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin, Producer(bootstrap_servers=servers) as producer:
            for name in TOPICS:
                broker.create_topic(name, 2, {"retention.ms": "86400000"})
                for number in range(10):
                    producer.send_and_wait(name, b"%s %d" % (name.encode(), number), partition=number % 2)
            ids = {topic.name: topic.id for topic in admin.describe_topics(list(TOPICS))}
        if request.param == "killed":
            shutil.copytree(data, tmp_path / "left")
    if request.param == "stopped":
        data.rename(tmp_path / "left")
    return tmp_path / "left", ids


def remove_journal(directory: Path) -> None:
    shutil.rmtree(directory)


def remove_log(directory: Path) -> None:
    (directory / LOG).unlink()


def flip_early_byte(directory: Path) -> None:
    flip(directory / LOG, 90)


def flip_middle_byte(directory: Path) -> None:
    path = directory / LOG
    scan = scan_batches(path.read_bytes())
    flip(path, scan.position[scan.count // 2] + 70)


def flip_last_byte(directory: Path) -> None:
    flip(directory / LOG, -1)


def cut_in_half(directory: Path) -> None:
    data = (directory / LOG).read_bytes()
    (directory / LOG).write_bytes(data[: len(data) // 2])


def flip(path: Path, position: int) -> None:
    data = bytearray(path.read_bytes())
    data[position] ^= 0xFF
    path.write_bytes(data)


@pytest.mark.parametrize(
    "damage", [remove_journal, remove_log, flip_early_byte, flip_middle_byte, flip_last_byte, cut_in_half]
)
def test_clients_find_every_topic_and_record_again(
    left: tuple[Path, dict[str, UUID]], damage: object, caplog: pytest.LogCaptureFixture
) -> None:
    data, ids = left
    assert callable(damage)
    damage(data / JOURNAL)
    with RunningBroker(data) as broker:
        assert f"file={data / JOURNAL}" in caplog.text
        servers = broker.bootstrap_servers
        with Admin(bootstrap_servers=servers) as admin, Producer(bootstrap_servers=servers) as producer:
            assert {topic.name: topic.id for topic in admin.describe_topics(list(TOPICS))} == ids
            broker.create_topic("fresh")
            for name in (*TOPICS, "fresh"):
                producer.send_and_wait(name, b"more", partition=0)
        for name in TOPICS:
            found = {record.value for record in broker.records(name)}
            assert found == {b"more", *(b"%s %d" % (name.encode(), number) for number in range(10))}
        with Consumer(*TOPICS, bootstrap_servers=servers, auto_offset_reset="earliest", group_id="g") as consumer:
            taken = 0
            while taken < 33:
                taken += sum(map(len, consumer.getmany(timeout_ms=10_000).values()))
        broker.call(lambda: broker.broker.node.delete_topic(broker.broker.node.topics.get("clicks")))
    caplog.clear()
    with RunningBroker(data) as broker:
        assert [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING] == []
        names = {topic.name for topic in broker.broker.node.topics if not topic.is_internal}
        assert names == {"orders", "payments", "fresh"}


def test_a_settings_loss_keeps_old_records(left: tuple[Path, dict[str, UUID]]) -> None:
    data, _ = left
    shutil.rmtree(data / JOURNAL)
    with RunningBroker(data, config={"log.retention.ms": "1"}) as broker:
        log = broker.broker.node.log("orders", 0)
        broker.call(log.roll)
        assert broker.call(log.apply_retention) == []
        assert log.log_start_offset == 0


def test_settings_are_read_from_a_journal_of_apache_kafka(tmp_path: Path) -> None:
    """A snapshot and a log, each with the control records that Kafka puts first."""
    control = BatchBuilder(is_control=True)
    control.append(b"\x00\x00\x00\x02", b"\x00\x00", timestamp=0)
    one, other = UUID(int=1), UUID(int=2)

    def setting(topic: str, name: str, value: str | None) -> ConfigRecord:
        return ConfigRecord(resource_type=2, resource_name=topic, name=name, value=value)

    def at(offset: int, batch: bytes) -> bytes:
        return offset.to_bytes(8, "big") + batch[8:]

    snapshot = [TopicRecord(name="a", topic_id=one), setting("a", "retention.ms", "1"), setting("a", "x.y", "2")]
    name = "00000000000000000005-0000000001.checkpoint"
    (tmp_path / name).write_bytes(control.build() + at(1, encode_change(snapshot, 0)))
    stale = encode_change([setting("a", "retention.ms", "99")], 0)
    since = [TopicRecord(name="b", topic_id=other), setting("a", "x.y", None), RemoveTopicRecord(topic_id=UUID(int=9))]
    (tmp_path / LOG).write_bytes(at(0, control.build()) + at(4, stale) + at(5, encode_change(since, 0)))
    state = read_kafka(DiskFiles(), tmp_path)
    assert {topic.name: topic.configs for topic in state.topics} == {"a": {"retention.ms": "1"}, "b": {}}
    assert set(state.removed) == {UUID(int=9)}
