"""Directories with many partitions: made, closed and opened in little time, and without a loss."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from uuid import UUID

import pytest
from tests.log.batches import Clock, batch, values

from kafkawire.log import LogDirectory, _shutdown
from kafkawire.log._producer_snapshots import REPLAYED
from kafkawire.messages.errors import InconsistentTopicIdError, KafkaStorageError
from kafkawire.testing.faulty_files import Fault, FaultyFiles

if TYPE_CHECKING:
    from kafkawire.log import FileSystem
    from kafkawire.log.storage.files import Entry

ROOT = Path("/data")
ID = UUID(int=7)
COUNT = 40


def open_logs(files: FileSystem) -> LogDirectory:
    return LogDirectory(ROOT, files=files, clock=Clock())


def syncs(disk: FaultyFiles) -> int:
    return disk.counts.get("sync", 0) + disk.counts.get("sync_directory", 0)


@pytest.fixture(autouse=True, params=["together", "each"])
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Close all partitions by one sync of the file system, or by syncs of their own."""
    way: str = request.param
    monkeypatch.setattr(_shutdown, "TOGETHER", 1 if way == "together" else 10**9)
    return way


@pytest.fixture
def disk() -> FaultyFiles:
    return FaultyFiles()


@pytest.fixture
def empty(disk: FaultyFiles) -> LogDirectory:
    logs = open_logs(disk)
    logs.create_all("t", range(COUNT), topic_id=ID)
    return logs


@pytest.fixture
def filled(empty: LogDirectory) -> LogDirectory:
    for (_, number), log in empty.partitions.items():
        log.append(batch(b"%d" % number, producer=(number, 0, 0)))
    return empty


def test_partitions_are_made_without_a_sync_of_their_own(disk: FaultyFiles) -> None:
    logs = open_logs(disk)
    before = syncs(disk)
    logs.create_all("t", range(COUNT), topic_id=ID)
    assert syncs(disk) == before
    assert [log.topic_id for log in logs.partitions.values()] == [ID] * COUNT
    assert logs.create("t", 3, topic_id=ID) is logs.partitions["t", 3]


def test_empty_partitions_cost_nothing_to_close(disk: FaultyFiles, empty: LogDirectory) -> None:
    before = syncs(disk)
    empty.close()
    assert syncs(disk) - before < COUNT


def test_partitions_that_nobody_wrote_to_cost_nothing_to_close_again(disk: FaultyFiles, filled: LogDirectory) -> None:
    filled.close()
    again = open_logs(disk)
    assert again.was_clean
    before = syncs(disk)
    again.partitions["t", 5].append(batch(b"more"))
    again.close()
    assert syncs(disk) - before < COUNT
    last = open_logs(disk.unplugged())
    assert last.was_clean
    assert values(last.partitions["t", 5]) == [b"5", b"more"]


def test_small_partitions_without_producers_close_without_a_snapshot(disk: FaultyFiles, empty: LogDirectory) -> None:
    for log in empty.partitions.values():
        log.append(batch(b"small"))
    empty.partitions["t", 1].append(batch(b"x" * REPLAYED))
    empty.partitions["t", 2].append(batch(b"idempotent", producer=(9, 0, 0)))
    empty.close()
    have = {number for number in range(COUNT) if any(map(is_snapshot, disk.list(ROOT / f"t-{number}")))}
    assert have == {1, 2}
    again = open_logs(disk)
    before = syncs(disk)
    again.close()
    assert syncs(disk) - before < COUNT
    last = open_logs(disk.unplugged())
    assert last.was_clean
    assert [len(last.partitions["t", number].producers.entries) for number in range(4)] == [0, 0, 1, 0]
    assert values(last.partitions["t", 7]) == [b"small"]


def is_snapshot(entry: Entry) -> bool:
    return entry.name.endswith(".snapshot")


@pytest.mark.parametrize("gone", [(".log",), ("partition.metadata",), (".log", ".index", ".timeindex", ".metadata")])
def test_empty_partitions_open_after_a_power_cut_that_took_their_files(
    disk: FaultyFiles, empty: LogDirectory, gone: tuple[str, ...]
) -> None:
    empty.close()
    for after in (disk.unplugged(), disk.killed()):
        for path in list(after.names):
            if path.name.endswith(gone):
                after.remove(path)
        again = open_logs(after)
        assert again.was_clean
        assert len(again.partitions) == COUNT
        for number in range(COUNT):
            log = again.create("t", number, topic_id=ID)
            assert (log.end_offset, log.topic_id, log.findings) == (0, ID, [])
            assert log.append(batch(b"x")).base_offset == 0
        again.close()
        assert values(open_logs(after.unplugged()).partitions["t", 0]) == [b"x"]


def test_everything_written_outlasts_a_clean_stop_and_a_power_cut(disk: FaultyFiles, filled: LogDirectory) -> None:
    filled.close()
    again = open_logs(disk.unplugged())
    assert again.was_clean
    for (_, number), log in again.partitions.items():
        assert (values(log), log.topic_id, log.findings) == ([b"%d" % number], ID, [])
        assert log.append(batch(b"%d" % number, producer=(number, 0, 0))).duplicate


def test_a_log_that_shrank_to_nothing_keeps_its_offsets_and_producers(disk: FaultyFiles, filled: LogDirectory) -> None:
    log = filled.partitions["t", 1]
    log.roll()
    filled.delete_records("t", 1, 1)
    filled.close()
    again = open_logs(disk.unplugged()).partitions["t", 1]
    assert (again.log_start_offset, again.end_offset) == (1, 1)
    assert again.append(batch(b"1", producer=(1, 0, 0))).duplicate


def test_many_partitions_are_closed_by_one_sync(disk: FaultyFiles, filled: LogDirectory, way: str) -> None:
    before = syncs(disk)
    filled.close()
    assert disk.counts.get("whole_sync", 0) == (way == "together")
    assert (syncs(disk) - before < COUNT) == (way == "together")


def test_a_file_system_without_a_sync_of_its_own_syncs_each_file(
    disk: FaultyFiles, filled: LogDirectory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FaultyFiles, "whole_sync", lambda *_: None)
    filled.close()
    again = open_logs(disk.unplugged())
    assert again.was_clean
    assert [values(log) for log in again.partitions.values()] == [[b"%d" % key[1]] for key in again.partitions]


@pytest.mark.parametrize("seed", range(8))
def test_a_sync_of_all_that_fails_loses_no_durable_record_and_leaves_no_clean_mark(seed: int, way: str) -> None:
    if way == "each":
        return
    disk = FaultyFiles(dice=Random(seed))
    logs = open_logs(disk)
    for number, log in enumerate(logs.create_all("t", range(COUNT), topic_id=ID)):
        log.append(batch(b"%d" % number))
    logs.flush()
    for log in logs.partitions.values():
        log.append(batch(b"later"))
    disk.arm(Fault("whole_sync"))
    with pytest.raises(KafkaStorageError, match="syncing the file system"):
        logs.close()
    after = [disk.unplugged(Random(seed)), disk.killed()]
    for again in map(open_logs, after):
        assert not again.was_clean
        for (_, number), log in again.partitions.items():
            assert values(log)[0] == b"%d" % number
            assert values(log)[1:] in ([], [b"later"])
    assert all(len(values(log)) == 2 for log in again.partitions.values())


@pytest.mark.parametrize("seed", range(40))
def test_a_power_cut_or_a_kill_at_any_moment_of_a_close_loses_nothing(seed: int) -> None:
    dice = Random(seed)
    disk = FaultyFiles(dice=dice)
    logs = open_logs(disk)
    for number, log in enumerate(logs.create_all("t", range(4), topic_id=ID)):
        log.append(batch(b"%d" % number, producer=(number, 0, 0)))
    logs.flush()
    logs.partitions["t", 1].append(batch(b"later", producer=(1, 0, 1)))
    disk.cut_after(dice.randrange(30))
    with suppress(KafkaStorageError, OSError):
        logs.close()
    for after in (disk.unplugged(dice), disk.killed()):
        again = open_logs(after)
        for (_, number), log in again.partitions.items():
            assert values(log)[0] == b"%d" % number
            assert log.append(batch(b"%d" % number, producer=(number, 0, 0))).duplicate
    assert values(again.partitions["t", 1]) == [b"1", b"later"]


@pytest.mark.parametrize("kind", ["sync", "write", "rename", "sync_directory", "whole_sync"])
def test_one_that_cannot_be_closed_keeps_the_others_from_nothing_but_the_clean_mark(
    disk: FaultyFiles, filled: LogDirectory, kind: str, way: str
) -> None:
    if kind == ("sync" if way == "together" else "whole_sync"):
        return
    disk.arm(Fault(kind))
    with pytest.raises(KafkaStorageError):
        filled.close()
    again = open_logs(disk.unplugged())
    assert not again.was_clean
    whole = sum(values(log) == [b"%d" % number] for (_, number), log in again.partitions.items())
    assert whole >= (0 if kind == "whole_sync" else COUNT - 1)


def test_partitions_are_not_there_before_their_creation_has_ended(disk: FaultyFiles) -> None:
    logs = open_logs(disk)
    work = logs.creation("t", range(3), topic_id=ID)
    step = next(work)
    assert logs.partitions == {}
    step()
    assert logs.partitions == {}
    with pytest.raises(StopIteration):
        next(work)
    assert sorted(logs.partitions) == [("t", 0), ("t", 1), ("t", 2)]


@pytest.mark.parametrize("after", range(0, 16, 3))
def test_a_disk_that_fails_while_partitions_are_made_leaves_none(disk: FaultyFiles, after: int) -> None:
    logs = open_logs(disk)
    disk.arm(Fault("create", after=after))
    with pytest.raises(KafkaStorageError):
        logs.create_all("t", range(4), topic_id=ID)
    assert logs.partitions == {}
    assert [entry.name for entry in disk.list(ROOT) if entry.is_directory] == []
    assert len(logs.create_all("t", range(4), topic_id=ID)) == 4


def test_partitions_of_another_topic_id_are_refused_before_any_is_made(empty: LogDirectory) -> None:
    with pytest.raises(InconsistentTopicIdError):
        empty.create_all("t", range(COUNT + 2), topic_id=UUID(int=8))
    assert len(empty.partitions) == COUNT


def test_a_segment_that_could_not_be_started_does_not_end_the_log(disk: FaultyFiles) -> None:
    logs = open_logs(disk)
    log = logs.create("t", 0)
    log.append(batch(b"a"))
    disk.arm(Fault("create", after=2))
    disk.arm(Fault("remove", sticky=True))
    with pytest.raises(KafkaStorageError):
        log.roll()
    disk.faults.clear()
    log.append(batch(b"b"))
    logs.close()
    again = open_logs(disk)
    assert again.was_clean
    log = again.partitions["t", 0]
    assert values(log) == [b"a", b"b"]
    (finding,) = log.findings
    assert "00000000000000000001.log: removed, 0 bytes" in finding


def test_a_directory_on_disk_is_closed_and_opened_again(tmp_path: Path) -> None:
    logs = LogDirectory(tmp_path / "data", clock=Clock())
    for number, log in enumerate(logs.create_all("t", range(COUNT), topic_id=ID)):
        log.append(batch(b"%d" % number, producer=(number, 0, 0)))
    logs.close()
    again = LogDirectory(tmp_path / "data", clock=Clock())
    assert again.was_clean
    for (_, number), log in again.partitions.items():
        assert (values(log), log.topic_id, log.findings) == ([b"%d" % number], ID, [])
        assert log.append(batch(b"%d" % number, producer=(number, 0, 0))).duplicate
    again.close()
