"""A node on a damaged directory: everything that the disk still holds is there, and the log names what is not."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.broker.asking import batch, values
from tests.broker.ids import take_id

from kafkawire.broker.clock import ManualClock
from kafkawire.broker.configs import BrokerConfig
from kafkawire.broker.journal import JournalError, encode_change
from kafkawire.broker.node import Node
from kafkawire.log.faults import Fault, FaultyFiles
from kafkawire.messages import TopicRecord
from kafkawire.messages.errors import KafkaStorageError
from kafkawire.records import BatchBuilder, scan_batches

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from uuid import UUID

ROOT = Path("/data")
JOURNAL = ROOT / "__cluster_metadata-0"
LOG = JOURNAL / "00000000000000000000.log"
NOW = 1_700_000_000_000
UNCHECKED = range(12, 16)
"""The bytes of a batch header that hold the leader epoch, which no checksum covers and nothing depends on."""


@dataclass
class Disk:
    """The content of a data directory, and what it is known to hold."""

    files: FaultyFiles
    ids: dict[str, UUID]
    producer_id: int
    leader_epoch: int
    settings: dict[str, dict[str, str]] = field(default_factory=dict)

    def copy(self) -> FaultyFiles:
        return self.files.killed()

    @property
    def journal(self) -> bytes:
        return bytes(self.files.names[LOG].data)


def open_node(files: FaultyFiles) -> Node:
    return Node(BrokerConfig(), ManualClock(NOW), root=ROOT, files=files)


def filled(*, clean: bool) -> Disk:
    files = FaultyFiles()
    node = open_node(files)
    for name in ("orders", "payments", "clicks"):
        node.create_topic(name, 2, {"retention.ms": "77", "segment.bytes": "5000"})
    node.delete_topic(node.create_topic("gone", 1))
    node.add_partitions(node.topics.get("payments"), 3)
    producer_id = take_id(node)
    for topic in node.topics:
        produced = batch(b"of " + topic.name.encode(), producer_id=producer_id, producer_epoch=0, base_sequence=0)
        node.append(topic.name, topic.partitions - 1, produced)
    node.configure_broker("", {"log.retention.ms": "123"})
    node.configure_topic(node.topics.get("clicks"), {"segment.bytes": "6000"})
    node.logs.checkpoint()
    ids = {topic.name: topic.id for topic in node.topics}
    settings = {topic.name: topic.configs for topic in node.topics}
    if clean:
        node.close()
    return Disk(files, ids, producer_id, node.leader_epoch, settings)


@pytest.fixture(params=[True, False], ids=["stopped", "crashed"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return filled(clean=request.param)


class Checked(NamedTuple):
    """A node after its second start, and the warnings of its first."""

    node: Node
    told: list[str]


def check(disk: Disk, files: FaultyFiles, caplog: pytest.LogCaptureFixture) -> Checked:
    """Open a node: every topic with a directory is there, works, and a second start has nothing to report."""
    node = open_node(files)
    told = warnings(caplog)
    assert {name: topic.id for name in disk.ids if (topic := node.topics.find(name))} == disk.ids
    assert {topic.name for topic in node.topics} <= {*disk.ids, "gone"}
    for name, partitions in (("orders", 2), ("payments", 3), ("clicks", 2)):
        assert node.topics.get(name).partitions == partitions
        log = node.log(name, partitions - 1)
        assert values(log.read(0, 1000).read()) == [b"of " + name.encode()]
        assert log.config.retention_ms in (77, -1)
        node.append(name, 0, batch(b"more"))
    assert take_id(node) > disk.producer_id
    assert node.leader_epoch >= disk.leader_epoch
    node.delete_topic(node.create_topic("fresh", 1))
    node.close()
    caplog.clear()
    again = open_node(files)
    assert warnings(caplog) == []
    assert {name: again.topics.get(name).id for name in disk.ids} == disk.ids
    return Checked(again, told)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def change(files: FaultyFiles, path: Path, content: bytes) -> FaultyFiles:
    file = files.open(path)
    file.truncate(0)
    file.write(0, [content])
    return files


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


def test_what_is_behind_a_damage_in_the_journal_counts(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
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
    second = scan_batches(disk.journal).position[2]
    damaged[second + 70] ^= 0xFF
    open_node(change(disk.copy(), LOG, bytes(damaged)))
    lines = {record.levelname: record.getMessage() for record in caplog.records if "fault=" in record.getMessage()}
    text = "\n".join(record.getMessage() for record in caplog.records)
    assert "ERROR" in lines
    assert f"file={LOG} position={second}" in text
    assert "stated CRC" in text
    assert "the changes of offsets 6 to 10 are lost" in text
    assert "`kafkawire configs unset topic payments retention.ms retention.bytes` sets them back" in text
    assert "damaged file kept file=/data/__cluster_metadata-0/00000000000000000000.log.damaged-1" in text


def without_journal(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    for name in [name for name in files.names if name.parent == JOURNAL]:
        files.remove(name)
    files.remove_directory(JOURNAL)
    return files


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


def test_partitions_whose_record_is_lost_are_found_again(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    """The change that added partition 2 is lost, and the topic is known."""
    scan = scan_batches(disk.journal)
    added = next(n for n in range(scan.count) if n > 4 and scan.record_count[n] == 1)
    damaged = bytearray(disk.journal)
    for number in range(4, added + 2):
        damaged[scan.position[number] + 65] ^= 0xFF
    node = check(disk, change(disk.copy(), LOG, bytes(damaged)), caplog).node
    assert node.topics.get("payments").configs == disk.settings["payments"]


def test_a_topic_that_grew_without_a_record_stays_as_it_is(disk: Disk) -> None:
    node = open_node(disk.files)
    node.logs.create("orders", 2, topic_id=disk.ids["orders"])
    assert open_node(disk.copy()).topics.get("orders").partitions == 2


def test_internal_topics_are_adopted_with_their_own_settings() -> None:
    files = FaultyFiles()
    node = open_node(files)
    topic = node.internal_topic("__consumer_offsets")
    node.append(topic.name, 0, batch(b"position"))
    again = open_node(without_journal(files.killed(), b""))
    found = again.topics.get("__consumer_offsets")
    assert (found.id, found.partitions, found.configs) == (topic.id, topic.partitions, topic.configs)
    assert found.configs["cleanup.policy"] == "compact"


def test_directories_without_ids_get_one_id() -> None:
    disk = filled(clean=True)
    files = without_journal(disk.copy(), b"")
    for index in range(3):
        files.remove(ROOT / f"payments-{index}" / "partition.metadata")
    topic = open_node(files).topics.get("payments")
    assert (topic.id != disk.ids["payments"], topic.partitions) == (True, 3)
    again = open_node(files.killed())
    assert again.topics.get("payments").id == topic.id == again.log("payments", 0).topic_id


def set_id(files: FaultyFiles, partition: str, text: str) -> None:
    change(files, ROOT / partition / "partition.metadata", f"version: 0\ntopic_id: {text}".encode())


@pytest.mark.parametrize("has_journal", [True, False])
def test_a_directory_with_the_id_of_another_topic_is_moved_aside(
    has_journal: bool, caplog: pytest.LogCaptureFixture
) -> None:
    disk = filled(clean=True)
    files = disk.copy() if has_journal else without_journal(disk.copy(), b"")
    set_id(files, "payments-2", "AAAAAAAAAAAAAAAAAAAAAQ")
    node = open_node(files)
    topic = node.topics.get("payments")
    assert (topic.id, topic.partitions) == (disk.ids["payments"], 3 if has_journal else 2)
    stray = next(path for path in files.folders if path.name.endswith("-stray"))
    assert values(bytes(files.names[stray / LOG.name].data)) == [b"of payments"]
    assert 'file=/data/payments-2 fault="the topic id is AAAAAAAAAAAAAAAAAAAAAQ' in caplog.text
    assert stray.name in caplog.text
    if has_journal:
        assert node.log("payments", 2).end_offset == 0
    caplog.clear()
    open_node(files.killed())
    assert "fault=" not in caplog.text


@pytest.mark.parametrize("content", [b"", b"version: 0\ntopic_id: ???", b"\xff\xfe\x00", b"flip"])
def test_a_damaged_topic_id_is_written_again(content: bytes, caplog: pytest.LogCaptureFixture) -> None:
    disk = filled(clean=True)
    files = disk.copy()
    path = ROOT / "payments-2" / "partition.metadata"
    if content == b"flip":
        content = bytes(files.names[path].data)
        content = content[:-4] + bytes([content[-4] ^ 1]) + content[-3:]
    change(files, path, content)
    node = open_node(files)
    assert node.log("payments", 2).topic_id == disk.ids["payments"]
    assert values(node.log("payments", 2).read(0, 1000).read()) == [b"of payments"]
    assert f'file={path} fault="the topic id is damaged"' in caplog.text
    caplog.clear()
    open_node(files.killed())
    assert "fault=" not in caplog.text


def test_a_directory_that_is_missing_is_told_of(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    files = disk.copy()
    for name in [name for name in files.names if name.parent == ROOT / "orders-0"]:
        files.remove(name)
    files.remove_directory(ROOT / "orders-0")
    node = open_node(files)
    assert node.log("orders", 0).end_offset == 0
    assert 'file=/data/orders-0 fault="1 of 2 partitions have no directory" remedy="created empty"' in caplog.text


def test_a_directory_that_was_only_begun_is_filled(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    files = disk.copy()
    for name in [name for name in files.names if name.parent == ROOT / "orders-0"]:
        files.remove(name)
    assert open_node(files).log("orders", 0).end_offset == 0
    assert "fault=" not in caplog.text


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("backup", "the name is not that of a partition"),
        ("orders-x", "the name is not that of a partition"),
        ("a+b-0", "the name is not that of a partition"),
        ("orders-99999999999", "the name is not that of a partition"),
        ("orders-007", "partition 7 of orders is expected under the name orders-7"),
    ],
)
def test_odd_names_are_told_of_and_left_alone(
    disk: Disk, caplog: pytest.LogCaptureFixture, name: str, words: str
) -> None:
    files = disk.copy()
    files.make_directory(ROOT / name)
    files.open(ROOT / name / "precious", create=True).write(0, [b"data"])
    node = open_node(files)
    assert {topic.name for topic in node.topics} == set(disk.ids)
    assert bytes(files.names[ROOT / name / "precious"].data) == b"data"
    assert f'file={ROOT / name} fault="{words}' in caplog.text


def test_somebodys_folder_does_not_become_thousands_of_partitions(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    files = disk.copy()
    files.make_directory(ROOT / "backup-2024")
    files.open(ROOT / "backup-2024" / LOG.name, create=True).write(0, [batch(b"kept")])
    assert "backup" not in open_node(files).topics
    assert "2024 partitions before it are missing" in caplog.text


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"node.id=7\ncluster.id=abc\n", "node.id is 7, this broker's is 1; start with -c node.id=7"),
        (b"broker.id=x\n", "node.id is x, this broker's is 1"),
    ],
)
def test_the_directory_of_another_node_is_refused_unchanged(disk: Disk, content: bytes, words: str) -> None:
    files = change(disk.copy(), ROOT / "meta.properties", content)
    before = {name: bytes(file.data) for name, file in files.names.items()}
    with pytest.raises(JournalError, match=f"/data/meta.properties: {words}"):
        open_node(files)
    assert {name: bytes(file.data) for name, file in files.names.items() if name.name != ".lock"} == {
        name: content for name, content in before.items() if name.name != ".lock"
    }


@pytest.mark.parametrize(
    ("content", "words"),
    [(None, "is missing"), (b"", "has no cluster.id"), (b"\xff\xfe", "has no cluster.id"), (b"node.id=1", "has no")],
)
def test_a_lost_cluster_id_is_told_of(
    disk: Disk, caplog: pytest.LogCaptureFixture, content: bytes | None, words: str
) -> None:
    files = disk.copy()
    if content is None:
        files.remove(ROOT / "meta.properties")
    else:
        change(files, ROOT / "meta.properties", content)
    node = open_node(files)
    assert f'file=/data/meta.properties fault="{words}' in caplog.text
    assert node.cluster_id in caplog.text
    caplog.clear()
    assert open_node(files.killed()).cluster_id == node.cluster_id
    assert "fault=" not in caplog.text


def test_a_file_in_the_place_of_a_partition_is_refused(disk: Disk) -> None:
    files = disk.copy()
    for name in [name for name in files.names if name.parent == ROOT / "orders-1"]:
        files.remove(name)
    files.remove_directory(ROOT / "orders-1")
    files.open(ROOT / "orders-1", create=True)
    with pytest.raises(JournalError, match=r"/data/orders-1: is a file where the directory of a partition is expected"):
        open_node(files)


def test_a_file_with_the_name_of_another_partition_is_told_of(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    files = disk.copy()
    files.open(ROOT / "refunds-0", create=True).write(0, [b"kept"])
    open_node(files)
    assert 'file=/data/refunds-0 fault="is a file with the name of a partition" remedy="left alone"' in caplog.text
    assert bytes(files.names[ROOT / "refunds-0"].data) == b"kept"


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
    from kafkawire.log.files import DiskFiles

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
