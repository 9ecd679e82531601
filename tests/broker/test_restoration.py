"""A node on a damaged journal: everything that the disk still holds is there, and the log names what is not."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.broker.damaged_disk import (
    JOURNAL,
    LOG,
    NOW,
    UNCHECKED,
    Disk,
    change,
    check,
    filled,
    open_node,
    warnings,
    without_journal,
)
from tests.broker.ids import take_id
from tests.broker.node_requests import batch

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._metadata.journal.log import JournalError, encode_change
from kafkawire.broker._node import Node
from kafkawire.messages import TopicRecord
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.records import BatchBuilder, scan_batches
from kafkawire.testing.faulty_files import Fault, FaultyFiles
from kafkawire.testing.manual_clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@pytest.fixture(params=[True, False], ids=["stopped", "crashed"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return filled(clean=request.param)


def positions(journal: bytes) -> Iterator[tuple[int, int]]:
    """Bytes of every kind: the position, and that in its batch. Whole headers of three batches, a few of the others."""
    scan = scan_batches(journal)
    whole = (0, scan.count // 2, scan.count - 1)
    for number, (start, size) in enumerate(zip(scan.position, scan.size, strict=True)):
        header = range(61) if number in whole else range(number % 11, 61, 11)
        yield from ((start + at, at) for at in (*header, *range(61, size, 17), size - 1))


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "crashed"])
def test_any_flipped_byte_of_the_journal_costs_no_topic(clean: bool, caplog: pytest.LogCaptureFixture) -> None:
    disk = filled(clean=clean)
    for position, in_batch in positions(disk.journal):
        damaged = bytearray(disk.journal)
        damaged[position] ^= (0x01, 0x80, 0xFF)[(position + clean) % 3]
        caplog.clear()
        told = check(disk, change(disk.copy(), LOG, bytes(damaged)), caplog).told
        if in_batch in UNCHECKED:
            assert told == [], position
        else:
            assert any(f"file={LOG} position=" in line for line in told), position


def test_changes_behind_a_damage_in_the_journal_count(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    """The creation of the second topic is lost; everything else is as it was, and the damaged file stays."""
    scan = scan_batches(disk.journal)
    damaged = bytearray(disk.journal)
    second = scan.position[2]
    damaged[second + 70] ^= 0xFF
    files = change(disk.copy(), LOG, bytes(damaged))
    node = check(disk, files, caplog).node
    assert node.topics.get("orders").configs == disk.settings["orders"]
    assert node.topics.get("clicks").configs == disk.settings["clicks"]
    assert node.topics.get("payments").configs == {"retention.ms": "-1", "retention.bytes": "-1"}
    assert node.config.integer("log.retention.ms") == 123
    assert bytes(files.names[LOG.with_name(LOG.name + ".damaged-1")].data) == bytes(damaged)


def test_log_lines_say_what_was_lost_and_what_was_done(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    damaged = bytearray(disk.journal)
    scan = scan_batches(disk.journal)
    second = scan.position[2]
    damaged[second + 70] ^= 0xFF
    open_node(change(disk.copy(), LOG, bytes(damaged)))
    lines = {record.levelname: record.getMessage() for record in caplog.records if "fault=" in record.getMessage()}
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "ERROR" in lines
    assert f"file={LOG} position={second}" in text
    assert "stated CRC" in text
    assert f"the changes of offsets {scan.base_offset[2]} to {scan.last_offset[2]} are lost" in text
    assert "`kafkawire configs unset topic payments retention.ms retention.bytes` sets them back" in text
    assert "damaged file kept file=/data/__cluster_metadata-0/00000000000000000000.log.damaged-1" in text


def without_log(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    files.remove(LOG)
    return files


def emptied(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    return change(files, LOG, b"")


def zeroed(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    return change(files, LOG, bytes(len(journal)))


def cut_in_a_batch(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    return change(files, LOG, journal[: len(journal) // 2])


def cut_between_batches(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    return change(files, LOG, journal[: scan_batches(journal).position[2]])


def with_a_zero_tail(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    middle = scan_batches(journal).position[3] + 20
    return change(files, LOG, journal[:middle] + bytes(len(journal) - middle))


def with_a_hole(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    scan = scan_batches(journal)
    return change(files, LOG, journal[: scan.position[1]] + journal[scan.position[3] :])


def with_bytes_put_in(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    middle = scan_batches(journal).position[3]
    return change(files, LOG, journal[:middle] + b"\x00" * 17 + b"\xff" * 40 + journal[middle:])


@pytest.mark.parametrize(
    "damage",
    [
        *(without_journal, without_log, emptied, zeroed, cut_in_a_batch, cut_between_batches),
        *(with_a_zero_tail, with_a_hole, with_bytes_put_in),
    ],
)
def test_a_journal_that_is_gone_or_cut_costs_no_topic(
    disk: Disk, caplog: pytest.LogCaptureFixture, damage: Callable[[FaultyFiles, bytes], FaultyFiles]
) -> None:
    files = damage(disk.copy(), disk.journal)
    assert any(f"file={JOURNAL}" in line for line in check(disk, files, caplog).told)


@pytest.mark.parametrize("which", ["0", "1"])
def test_damage_in_any_segment_of_the_journal(disk: Disk, caplog: pytest.LogCaptureFixture, which: str) -> None:
    node = open_node(disk.files)
    node.logs.partitions["__cluster_metadata", 0].roll()
    node.configure_topic(node.topics.get("orders"), {"segment.bytes": "7000"})
    node.configure_topic(node.topics.get("clicks"), {"segment.bytes": "8000"})
    node.close()
    path = sorted(name for name in disk.files.names if name.parent == JOURNAL and name.suffix == ".log")[int(which)]
    damaged = bytearray(disk.files.names[path].data)
    damaged[80] ^= 1
    files = change(disk.copy(), path, bytes(damaged))
    node = check(disk, files, caplog).node
    assert node.topics.get("clicks").configs["segment.bytes"] == "8000"
    assert len([name for name in files.names if name.parent == JOURNAL and name.suffix == ".log"]) == 1


def test_a_loss_moves_producer_ids_and_epochs_above_those_of_the_logs() -> None:
    disk = filled(clean=False)
    for _ in range(3):
        disk.files = disk.copy()
        node = open_node(disk.files)
    node.append("orders", 0, batch(b"x", producer_id=5_000_123, producer_epoch=0, base_sequence=0))
    node.close()
    again = open_node(without_journal(disk.copy(), b""))
    assert again.leader_epoch > node.leader_epoch == 3
    assert take_id(again) > 5_000_123
    assert again.append("orders", 0, batch(b"y")).base_offset == 1
    assert again.log("orders", 0).epochs.latest == again.leader_epoch


@pytest.mark.parametrize("kind", ["write", "sync", "rename", "create", "sync_directory"])
def test_a_restoration_that_is_interrupted_anywhere_is_done_again(
    disk: Disk, caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    damaged = bytearray(disk.journal)
    damaged[scan_batches(disk.journal).position[2] + 70] ^= 0xFF
    for after in range(12):
        files = change(disk.copy(), LOG, bytes(damaged))
        for name in files.names:
            if name.parent != JOURNAL:
                files.names[name].sync()
        files.arm(Fault(kind, after))
        try:
            open_node(files)
        except (KafkaStorageError, OSError):
            check(disk, files.killed(), caplog)


def test_a_change_that_no_broker_writes_is_refused_by_the_name_of_its_file(disk: Disk) -> None:
    builder = BatchBuilder(base_offset=len(open_node(disk.copy()).journal))
    builder.append(None, b"\x07nonsense", timestamp=NOW)
    journal = bytes(disk.files.names[LOG].data)
    end = scan_batches(journal).next_offset or 0
    odd = builder.build()
    files = change(disk.copy(), LOG, journal + end.to_bytes(8, "big") + odd[8:])
    with pytest.raises(JournalError, match=f"{LOG}: metadata record {end}: expected frame version 1"):
        open_node(files)
    assert bytes(files.names[LOG].data)[: len(journal)] == journal


def test_a_journal_of_apache_kafka_is_refused_unchanged(disk: Disk) -> None:
    files = disk.copy()
    files.open(JOURNAL / "quorum-state", create=True)
    with pytest.raises(
        JournalError, match=r"Apache Kafka wrote this journal .quorum-state.; `kafkawire log repair /data"
    ):
        open_node(files)
    assert bytes(files.names[LOG].data) == disk.journal


def test_a_fresh_directory_has_nothing_to_restore(caplog: pytest.LogCaptureFixture) -> None:
    files = FaultyFiles()
    open_node(files)
    open_node(files.killed())
    assert warnings(caplog) == []


def test_a_file_that_the_system_refuses_is_named(tmp_path: Path) -> None:
    from kafkawire.log.storage.files import DiskFiles

    def start() -> Node:
        return Node(BrokerConfig(), ManualClock(NOW), root=tmp_path, files=DiskFiles())

    node = start()
    node.create_topic("orders", 1)
    node.close()
    path = tmp_path / "orders-0" / LOG.name
    path.unlink()
    path.mkdir()
    with pytest.raises(KafkaStorageError, match=str(path)):
        start()


def test_a_change_is_one_batch() -> None:
    from uuid import UUID

    assert encode_change([], NOW) == b""
    assert scan_batches(encode_change([TopicRecord(name="a", topic_id=UUID(int=1))] * 3, NOW)).record_count[0] == 3
