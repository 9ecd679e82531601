"""A node on a directory whose partitions and journal disagree: it adopts, completes, refuses, and logs what it did."""

from __future__ import annotations

import pytest
from tests.broker.damaged_disk import LOG, ROOT, Disk, change, check, filled, open_node, without_journal
from tests.broker.node_requests import batch, values

from kafkawire.broker._metadata.journal.log import JournalError
from kafkawire.records import scan_batches
from kafkawire.testing.faulty_files import FaultyFiles


@pytest.fixture(params=[True, False], ids=["stopped", "crashed"])
def disk(request: pytest.FixtureRequest) -> Disk:
    return filled(clean=request.param)


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


def test_a_missing_directory_is_reported(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
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
def test_odd_names_are_reported_and_left_alone(
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
def test_a_lost_cluster_id_is_reported(
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


def test_a_file_with_the_name_of_another_partition_is_reported(disk: Disk, caplog: pytest.LogCaptureFixture) -> None:
    files = disk.copy()
    files.open(ROOT / "refunds-0", create=True).write(0, [b"kept"])
    open_node(files)
    assert 'file=/data/refunds-0 fault="is a file with the name of a partition" remedy="left alone"' in caplog.text
    assert bytes(files.names[ROOT / "refunds-0"].data) == b"kept"
