"""Records that survive: flush policies, failing disks, power cuts, torn writes."""

from __future__ import annotations

import errno
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
from tests.log.batches import Clock, batch, values
from tests.log.conftest import DIRECTORY

from kafkawire.messages.errors import KafkaStorageError
from kafkawire.testing.faulty_files import Fault

if TYPE_CHECKING:
    from tests.log.conftest import OpenOn

    from kafkawire.testing.faulty_files import FaultyFiles


class TestFlushPolicies:
    def test_without_a_flush_a_power_cut_may_take_everything(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk)
        log.append(batch(b"a"))
        assert values(open_on(disk.killed())) == [b"a"]
        assert values(open_on(disk.unplugged())) == []

    def test_a_flush_makes_everything_before_it_durable(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, segment_bytes=100)
        for value in (b"a", b"b", b"c"):
            log.append(batch(value))
        log.flush()
        log.append(batch(b"d"))
        assert values(open_on(disk.unplugged(), segment_bytes=100)) == [b"a", b"b", b"c"]

    def test_flush_messages_bounds_the_loss(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, flush_messages=3)
        for number in range(8):
            log.append(batch(b"%d" % number))
        assert values(open_on(disk.unplugged())) == [b"0", b"1", b"2", b"3", b"4", b"5"]

    def test_flush_ms_is_due_after_the_clock_was_set_back(
        self, disk: FaultyFiles, open_on: OpenOn, clock: Clock
    ) -> None:
        log = open_on(disk, flush_ms=1000)
        log.append(batch(b"a"))
        clock.advance(-3_600_000)
        assert log.flush_is_due(clock.now)

    def test_flush_ms_is_due_in_time(self, disk: FaultyFiles, open_on: OpenOn, clock: Clock) -> None:
        log = open_on(disk, flush_ms=1000)
        log.append(batch(b"a"))
        assert not log.flush_is_due(clock() + 999)
        assert log.flush_is_due(clock() + 1000)
        log.flush()
        assert not log.flush_is_due(clock() + 10_000)

    def test_a_finished_segment_is_flushed_soon(self, disk: FaultyFiles, open_on: OpenOn, clock: Clock) -> None:
        log = open_on(disk)
        log.append(batch(b"a"))
        assert not log.flush_is_due(clock())
        log.roll()
        assert log.flush_is_due(clock())

    def test_flush_on_ack_shows_readers_only_what_is_durable(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, flush_on_ack=True)
        result = log.append(batch(b"a", b"b"))
        assert (log.high_watermark, values(log)) == (0, [])
        log.flush()
        assert log.recovery_point > result.last_offset
        assert values(log) == values(open_on(disk.unplugged())) == [b"a", b"b"]

    def test_several_appends_share_one_sync(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, flush_on_ack=True)
        log.append(batch(b"first"))
        log.flush()
        syncs = disk.counts["sync"]
        for number in range(50):
            log.append(batch(b"%d" % number))
        log.flush()
        assert disk.counts["sync"] == syncs + 1
        assert log.high_watermark == 51

    def test_appends_go_on_while_another_thread_syncs(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, flush_on_ack=True, segment_bytes=200)
        log.append(batch(b"a"))
        flush = log.begin_flush()
        log.append(batch(b"b"))
        log.roll()
        with ThreadPoolExecutor() as pool:
            pool.submit(flush.run).result()
        log.finish_flush(flush)
        assert log.high_watermark == 1
        log.flush()
        assert values(open_on(disk.unplugged(), segment_bytes=200)) == [b"a", b"b"]

    def test_recovered_records_are_durable_before_readers_see_them(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        open_on(disk).append(batch(b"a"))
        killed = disk.killed()
        log = open_on(killed, flush_on_ack=True)
        assert log.high_watermark == 1
        assert killed.counts["sync"] >= 1


LAST = batch(b"the last append", b"of two records", producer=(1, 0, 1))


class TestTornWrites:
    @pytest.mark.parametrize("keep", range(len(LAST) + 1))
    def test_a_write_torn_at_any_byte_and_a_crash_leave_whole_batches(
        self, disk: FaultyFiles, open_on: OpenOn, keep: int
    ) -> None:
        log = open_on(disk)
        log.append(batch(b"first", producer=(1, 0, 0)))
        disk.arm(Fault("write", error=errno.EIO, keep=keep))
        disk.arm(Fault("truncate", sticky=True))
        with pytest.raises(KafkaStorageError):
            log.append(LAST)
        again = open_on(disk.killed())
        assert values(again) == ([b"first", b"the last append", b"of two records"] if keep == len(LAST) else [b"first"])
        result = again.append(LAST)
        assert (result.base_offset, result.duplicate) == (1, keep == len(LAST))

    @pytest.mark.parametrize("keep", range(0, len(LAST) + 1, 5))
    @pytest.mark.parametrize("truncate_fails", [False, True])
    def test_a_failed_append_leaves_the_log_readable_and_appendable(
        self, disk: FaultyFiles, open_on: OpenOn, keep: int, truncate_fails: bool
    ) -> None:
        log = open_on(disk)
        log.append(batch(b"first", producer=(1, 0, 0)))
        disk.arm(Fault("write", error=errno.ENOSPC, keep=keep))
        if truncate_fails:
            disk.arm(Fault("truncate"))
        with pytest.raises(KafkaStorageError, match=r"append failed: .* \(errno 28\)"):
            log.append(LAST)
        assert (log.end_offset, values(log)) == (1, [b"first"])
        log.append(batch(b"x", producer=(1, 0, 1)))
        assert values(log) == values(open_on(disk.killed())) == [b"first", b"x"]

    def test_a_full_disk_stays_one_clear_error_until_space_returns(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, segment_bytes=300)
        log.append(batch(b"before"))
        disk.arm(Fault("write", error=errno.ENOSPC, keep=3, sticky=True))
        disk.arm(Fault("create", error=errno.ENOSPC, sticky=True))
        for _ in range(6):
            with pytest.raises(KafkaStorageError):
                log.append(batch(b"refused" * 20))
        with pytest.raises(KafkaStorageError):
            log.append_marker(1, 0, 0, commit=False)
        assert values(log) == [b"before"]
        disk.faults.clear()
        for number in range(5):
            log.append(batch(b"after%d" % number))
        assert values(log) == values(open_on(disk.killed())) == [b"before", *(b"after%d" % n for n in range(5))]


class TestFailingSync:
    def test_bytes_that_a_failed_sync_lost_are_written_again(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, flush_on_ack=True)
        log.append(batch(b"a"))
        log.flush()
        log.append(batch(b"b"))
        disk.arm(Fault("sync"))
        with pytest.raises(KafkaStorageError, match="flush failed"):
            log.flush()
        assert log.high_watermark == 1
        log.append(batch(b"c"))
        log.flush()
        assert log.high_watermark == 3
        assert values(open_on(disk.unplugged())) == [b"a", b"b", b"c"]

    @pytest.mark.parametrize("kind", ["sync", "sync_directory", "rename", "write", "create"])
    @pytest.mark.parametrize("after", range(8))
    def test_whatever_fails_what_was_acknowledged_survives_a_power_cut(
        self, disk: FaultyFiles, open_on: OpenOn, kind: str, after: int
    ) -> None:
        log = open_on(disk, flush_on_ack=True, segment_bytes=250)
        disk.arm(Fault(kind, after=after, keep=7))
        acknowledged: list[bytes] = []
        for number in range(12):
            value = b"value %02d" % number
            try:
                result = log.append(batch(value, producer=(1, 0, len(acknowledged))))
                log.flush()
            except KafkaStorageError:
                result = log.append(batch(value, producer=(1, 0, len(acknowledged))))
                log.flush()
            assert log.recovery_point > result.last_offset
            acknowledged.append(value)
            assert values(open_on(disk.unplugged(), segment_bytes=250)) == acknowledged
        assert values(open_on(disk.killed(), segment_bytes=250)) == acknowledged


class TestLostRenames:
    def test_a_snapshot_or_epoch_file_that_was_not_durable_is_rebuilt(self, disk: FaultyFiles, open_on: OpenOn) -> None:
        log = open_on(disk, segment_bytes=250)
        for number in range(9):
            log.append(batch(b"%d" % number, producer=(1, 0, number)), leader_epoch=number // 3)
            log.flush()
        after = disk.unplugged()
        for entry in after.list(DIRECTORY):
            if entry.name.endswith(".snapshot") or entry.name.startswith("leader"):
                after.remove(DIRECTORY / entry.name)
        again = open_on(after, segment_bytes=250)
        assert again.epochs.entries == [(0, 0), (1, 3), (2, 6)]
        assert again.append(batch(b"8", producer=(1, 0, 8))).duplicate
