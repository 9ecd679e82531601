"""A directory of partitions."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.log.batches import NOW, Clock, batch, keyed, values

from kafkawire.log import LogConfig, LogDirectory
from kafkawire.log._cleanup.compaction import compaction
from kafkawire.log._cleanup.steps import run
from kafkawire.log.storage.files import read_file
from kafkawire.messages.errors import InconsistentTopicIdError, KafkaStorageError
from kafkawire.testing.faulty_files import Fault, FaultyFiles

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path("/data")
SMALL = LogConfig(segment_bytes=200)


@pytest.fixture
def disk(clock: Clock) -> FaultyFiles:
    return FaultyFiles(clock)


@pytest.fixture
def open_logs(disk: FaultyFiles, clock: Clock) -> Callable[..., LogDirectory]:
    def open_(on: FaultyFiles | None = None, **arguments: object) -> LogDirectory:
        return LogDirectory(ROOT, files=on or disk, clock=clock, **arguments)  # type: ignore[arg-type]  # passed through

    return open_


def test_the_root_has_kafkas_files(disk: FaultyFiles, open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs(properties={"node.id": "1", "cluster.id": "abc"})
    log = logs.create("orders", 3, topic_id=UUID(int=5), config=SMALL)
    for number in range(5):
        log.append(batch(b"%d" % number))
    log.delete_records(3)
    logs.close()
    assert {entry.name for entry in disk.list(ROOT)} == {
        "orders-3",
        "meta.properties",
        ".kafka_cleanshutdown",
        "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint",
        "log-start-offset-checkpoint",
        "cleaner-offset-checkpoint",
    }
    assert read_file(disk, ROOT / "recovery-point-offset-checkpoint") == b"0\n1\norders 3 5\n"
    assert read_file(disk, ROOT / "log-start-offset-checkpoint") == b"0\n1\norders 3 3\n"
    names = {entry.name for entry in disk.list(ROOT / "orders-3")}
    assert {"partition.metadata", "leader-epoch-checkpoint", "00000000000000000002.log"} <= names


def test_a_clean_stop_is_believed_once(disk: FaultyFiles, open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    logs.create("t", 0).append(batch(b"a"))
    logs.close()
    again = open_logs()
    assert again.was_clean
    assert values(again.partitions["t", 0]) == [b"a"]
    assert not open_logs().was_clean


def test_identity_is_kept(open_logs: Callable[..., LogDirectory]) -> None:
    first = open_logs(properties={"node.id": "7"}).properties
    assert open_logs().properties == first
    assert (first["node.id"], first["version"], len(first["directory.id"])) == ("7", "1", 22)


def test_topic_ids_are_distinguished(open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    logs.create("t", 0, topic_id=UUID(int=1))
    assert open_logs().partitions["t", 0].topic_id == UUID(int=1)
    with pytest.raises(InconsistentTopicIdError):
        logs.create("t", 0, topic_id=UUID(int=2))


def test_topic_names_with_dashes_and_digits(open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    for name in ("a-1", "a", "a-1-2"):
        logs.create(name, 2)
    assert set(open_logs().partitions) == {("a-1", 2), ("a", 2), ("a-1-2", 2)}


def test_a_deleted_partition_is_renamed_then_removed(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory], clock: Clock
) -> None:
    logs = open_logs()
    held = logs.create("t", 0)
    held.append(batch(b"a"))
    found = held.read(0, 1000)
    logs.delete("t", 0)
    (pending,) = [entry.name for entry in disk.list(ROOT) if entry.is_directory]
    assert pending.startswith("t-0.")
    assert pending.endswith("-delete")
    assert logs.create("t", 0).end_offset == 0
    again = open_logs(disk.unplugged())
    assert again.partitions["t", 0].end_offset == 0
    assert (logs.purge(), again.purge()) == (0, 1)
    clock.advance(LogConfig().file_delete_delay_ms)
    assert logs.purge() == 1
    assert [entry.name for entry in disk.list(ROOT) if entry.is_directory] == ["t-0"]
    assert len(found.read()) > 0


@pytest.mark.parametrize("restarted", [False, True])
def test_a_recreated_partition_has_nothing_of_the_one_before(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory], restarted: bool
) -> None:
    logs = open_logs()
    logs.create("t", 0)
    for number in range(8):
        logs.partitions["t", 0].append(batch(b"%d" % number))
    logs.delete_records("t", 0, 6)
    if restarted:
        logs.close()
        logs = open_logs()
    logs.delete("t", 0)
    logs.create("t", 0).append(batch(b"anew"))
    again = open_logs(disk.killed()).partitions["t", 0]
    assert (again.log_start_offset, values(again)) == (0, [b"anew"])


def test_a_checkpoint_that_is_late_does_not_bring_back_what_a_later_one_forgot(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory]
) -> None:
    logs = open_logs()
    log = logs.create("t", 0)
    for number in range(8):
        log.append(batch(b"%d" % number))
    log.delete_records(6)
    late = logs.begin_checkpoint()
    logs.delete("t", 0)
    logs.create("t", 0).append(batch(b"anew"))
    late()
    assert values(open_logs(disk.killed()).partitions["t", 0]) == [b"anew"]


def test_unchanged_checkpoints_are_not_written_again(disk: FaultyFiles, open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    logs.create("t", 0).append(batch(b"a"))
    logs.checkpoint()
    disk.counts.clear()
    logs.checkpoint()
    assert not disk.counts
    logs.partitions["t", 0].flush()
    disk.counts.clear()
    logs.checkpoint()
    assert disk.counts["rename"] == 1


def test_a_partition_costs_no_sync_before_its_first_records_are_durable_and_its_id_with_them(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory]
) -> None:
    logs = open_logs()
    disk.counts.clear()
    log = logs.create("t", 0, topic_id=UUID(int=7))
    log.append(batch(b"a"))
    assert not {"sync", "sync_directory"} & set(disk.counts)
    log.flush()
    again = open_logs(disk.unplugged()).partitions["t", 0]
    assert (again.topic_id, values(again)) == (UUID(int=7), [b"a"])


def test_a_partitions_name_is_durable_with_its_first_records(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory], monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[Path] = []
    monkeypatch.setattr(disk, "sync_directory", synced.append)
    log = open_logs().create("orders", 0)
    synced.clear()
    log.append(batch(b"a"))
    log.flush()
    assert synced == [log.directory, ROOT]
    log.append(batch(b"b"))
    log.flush()
    assert synced == [log.directory, ROOT]


def test_partitions_that_go_together_are_synced_once(disk: FaultyFiles, open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    for number in range(5):
        logs.create("t", number)
    disk.counts.clear()
    logs.delete("t", *range(5))
    assert (disk.counts["rename"], disk.counts["sync_directory"]) == (5, 1)
    assert not logs.partitions


def test_partitions_whose_names_stay_are_reported_and_the_others_are_deleted(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory]
) -> None:
    logs = open_logs()
    for number in range(3):
        logs.create("orders", number)
    disk.arm(Fault("rename", after=1))
    with pytest.raises(KafkaStorageError, match="orders-1"):
        logs.delete("orders", 0, 1, 2)
    assert list(logs.partitions) == [("orders", 1)]
    assert list(open_logs(disk.unplugged()).partitions) == [("orders", 1)]


@pytest.mark.parametrize("how", ["killed", "unplugged"])
@pytest.mark.parametrize("steps", range(1, 10))
def test_records_deleted_while_a_log_is_compacted_stay_deleted(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory], how: str, steps: int
) -> None:
    config = LogConfig(cleanup_policy="compact,delete", retention_ms=-1)
    logs = open_logs(config=config)
    log = logs.create("orders", 0)
    for number in range(4):
        log.append(keyed({b"%d" % number: b"v"}))
        log.roll()
    logs.flush()
    work = compaction(log, force=True)
    for _, step in zip(range(steps), work, strict=False):
        step()
    assert logs.delete_records("orders", 0, 2) == 2
    at_once = getattr(disk, how)()
    run(work)
    for found in (at_once, getattr(disk, how)()):
        again = open_logs(found, config=config).partitions["orders", 0]
        assert (again.log_start_offset, values(again)) == (2, [b"v", b"v"])


def test_settings_that_show_readers_less_take_nothing_from_them(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory]
) -> None:
    logs = open_logs()
    log = logs.create("orders", 0)
    log.append(batch(b"a"))
    assert log.high_watermark == 1
    logs.configure("orders", LogConfig(flush_on_ack=True))
    assert log.high_watermark == 1
    assert values(open_logs(disk.unplugged()).partitions["orders", 0]) == [b"a"]


def test_a_name_too_long_for_the_disk_is_cut(disk: FaultyFiles, open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    logs.create("t" * 249, 0)
    logs.delete("t" * 249, 0)
    (pending,) = [entry.name for entry in disk.list(ROOT) if entry.is_directory]
    assert len(pending) == 255


def test_damaged_checkpoints_cost_time_not_data(disk: FaultyFiles, open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    log = logs.create("t", 0, config=SMALL)
    for number in range(6):
        log.append(batch(b"%d" % number))
    logs.close()
    for entry in disk.list(ROOT):
        if entry.name.endswith(("checkpoint", "meta.properties")):
            disk.open(ROOT / entry.name).write(0, [b"\xff\xff"])
    disk.remove(ROOT / ".kafka_cleanshutdown")
    assert len(values(open_logs().partitions["t", 0])) == 6


def test_maintenance_flushes_retains_compacts_and_checkpoints(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory], clock: Clock
) -> None:
    logs = open_logs()
    old = logs.create("old", 0, config=LogConfig(segment_bytes=200, retention_ms=1000))
    compact = logs.create("keys", 0, config=LogConfig(segment_bytes=200, cleanup_policy="compact"))
    for number in range(8):
        old.append(batch(b"%d" % number, timestamp=NOW))
        compact.append(keyed({b"k": b"%d" % number}))
    clock.advance(2000)
    logs.maintain()
    assert values(old) == []
    assert len(values(compact)) < 4
    assert compact.cleaned_offset > 0
    again = open_logs(disk.unplugged())
    assert again.partitions["keys", 0].cleaned_offset == compact.cleaned_offset
    assert again.partitions["old", 0].log_start_offset == 8


def test_settings_can_change(open_logs: Callable[..., LogDirectory]) -> None:
    logs = open_logs()
    log = logs.create("t", 0)
    logs.configure("t", SMALL)
    for number in range(6):
        log.append(batch(b"%d" % number))
    assert len(log.segments) > 1


@pytest.mark.parametrize("kind", ["create", "write", "rename"])
def test_a_disk_that_fails_while_a_partition_is_made_says_which(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory], kind: str
) -> None:
    logs = open_logs()
    disk.arm(Fault(kind, error=errno.ENOSPC))
    with pytest.raises(KafkaStorageError, match=r"/data/t-0.*injected"):
        logs.create("t", 0, topic_id=UUID(int=7)).append(batch(b"a"))


def test_a_disk_that_fails_while_deleting_keeps_the_partition(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory]
) -> None:
    logs = open_logs()
    logs.create("t", 0)
    disk.arm(Fault("rename"))
    with pytest.raises(KafkaStorageError):
        logs.delete("t", 0)
    assert ("t", 0) in logs.partitions


def test_a_thousand_partitions_on_two_hundred_and_fifty_six_descriptors(tmp_path: Path) -> None:
    program = f"""if True:
        import resource
        from pathlib import Path
        from kafkawire.log import DiskFiles, LogDirectory
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
        files = DiskFiles()
        logs = LogDirectory(Path({str(tmp_path)!r}), files=files)
        for number in range(1000):
            logs.create("t", number).append({batch(b"x")!r})
        for number in range(1000):
            assert logs.partitions["t", number].read(0, 1000).length > 0
        print(files.open_count)
    """
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 256


def test_one_failing_partition_does_not_keep_others_from_closing(
    disk: FaultyFiles, open_logs: Callable[..., LogDirectory]
) -> None:
    logs = open_logs()
    for number in range(3):
        logs.create("t", number).append(batch(b"a"))
    disk.arm(Fault("sync", after=1))
    with pytest.raises(KafkaStorageError):
        logs.close()
    again = open_logs(disk.unplugged())
    assert not again.was_clean
    assert [len(values(again.partitions["t", number])) for number in range(3)] != [0, 0, 0]
    assert [len(values(open_logs(disk.killed()).partitions["t", number])) for number in range(3)] == [1, 1, 1]
