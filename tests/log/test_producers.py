"""The state that a partition keeps about its producers."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from kafkawire.log._producer_snapshots import SnapshotError, decode_snapshot, encode_snapshot
from kafkawire.log._producers import ProducerBatch, Producers, TransactionEnd
from kafkawire.log.config import LogConfig
from kafkawire.log.partition import Partition
from kafkawire.messages.errors import (
    InvalidProducerEpochError,
    InvalidTxnStateError,
    KafkaStorageError,
    OutOfOrderSequenceError,
    TransactionCoordinatorFencedError,
)
from kafkawire.records import BatchBuilder
from kafkawire.testing.faulty_files import Fault, FaultyFiles

MAX = 2**31 - 1


def produced(first: int, last: int, *, epoch: int = 0, offset: int = 0, transactional: bool = False) -> ProducerBatch:
    count = last - first if last >= first else MAX - first + 1 + last
    return ProducerBatch(9, epoch, first, last, offset, offset + count, 100, transactional)


def marker(offset: int, *, epoch: int = 0, coordinator: int = 0, commit: bool = True) -> TransactionEnd:
    return TransactionEnd(9, epoch, coordinator, commit, offset, 100)


@pytest.fixture
def producers() -> Producers:
    """Producer 9 wrote seven batches of two records: sequences 0 to 13."""
    producers = Producers()
    for number in range(7):
        producers.append(produced(2 * number, 2 * number + 1, offset=2 * number))
    return producers


@pytest.mark.parametrize("number", range(2, 7))
def test_a_duplicate_of_any_of_the_last_five_batches_is_known_with_its_offsets(
    producers: Producers, number: int
) -> None:
    known = producers.find_duplicate(produced(2 * number, 2 * number + 1))
    assert known is not None
    assert (known.first_offset, known.last_offset) == (2 * number, 2 * number + 1)


@pytest.mark.parametrize(
    "batch",
    [
        pytest.param(produced(2, 3), id="older than five batches"),
        pytest.param(produced(12, 12), id="part of a known batch"),
        pytest.param(produced(12, 14), id="more than a known batch"),
        pytest.param(produced(12, 13, epoch=1), id="same sequences in another epoch"),
    ],
)
def test_only_the_exact_range_in_the_same_epoch_is_a_duplicate(producers: Producers, batch: ProducerBatch) -> None:
    assert producers.find_duplicate(batch) is None


@pytest.mark.parametrize(
    ("last", "batch", "refusal"),
    [
        (13, produced(14, 14), None),
        (13, produced(15, 15), OutOfOrderSequenceError),
        (13, produced(13, 14), OutOfOrderSequenceError),
        (13, produced(2, 3), OutOfOrderSequenceError),
        (13, produced(0, 0, epoch=1), None),
        (13, produced(1, 1, epoch=1), OutOfOrderSequenceError),
        (MAX, produced(0, 0), None),
        (MAX, produced(1, 1), OutOfOrderSequenceError),
    ],
)
def test_sequences_follow_each_other(last: int, batch: ProducerBatch, refusal: type[Exception] | None) -> None:
    producers = Producers()
    producers.append(produced(last - 1, last))
    if refusal is None:
        producers.check(batch)
    else:
        with pytest.raises(refusal):
            producers.check(batch)


def test_a_batch_may_wrap_around_the_largest_sequence() -> None:
    producers = Producers()
    producers.append(produced(MAX - 1, 1))
    producers.check(produced(2, 2))
    assert producers.find_duplicate(produced(MAX - 1, 1)) is not None


def test_an_unknown_producer_may_start_anywhere() -> None:
    Producers().check(produced(77, 80))


def test_an_epoch_never_falls(producers: Producers) -> None:
    producers.append(produced(0, 0, epoch=3))
    with pytest.raises(InvalidProducerEpochError, match="producer 9: epoch 2, expected 3 or later"):
        producers.check(produced(0, 0, epoch=2))


def test_batches_of_one_append_follow_each_other_too() -> None:
    with pytest.raises(OutOfOrderSequenceError):
        Producers().check(produced(5, 6), produced(0, 3))


def test_a_transaction_is_open_from_its_first_batch_to_its_marker() -> None:
    producers = Producers()
    producers.append(produced(0, 1, offset=10, transactional=True))
    producers.append(produced(2, 3, offset=12, transactional=True))
    assert producers.first_unstable_offset(100) == 10
    with pytest.raises(InvalidTxnStateError):
        producers.check(produced(4, 4))
    aborted = producers.append_marker(marker(14, commit=False))
    assert aborted is not None
    assert (aborted.first_offset, aborted.last_offset, aborted.last_stable_offset) == (10, 14, 15)
    assert producers.first_unstable_offset(100) is None


def test_a_transaction_whose_marker_readers_cannot_see_is_still_unstable() -> None:
    producers = Producers()
    producers.append(produced(0, 1, offset=10, transactional=True))
    producers.append_marker(marker(12))
    assert producers.first_unstable_offset(12) == 10
    assert producers.first_unstable_offset(13) is None


def test_an_abort_remembers_the_stable_offset_that_other_open_transactions_leave() -> None:
    producers = Producers()
    producers.append(ProducerBatch(1, 0, 0, 0, 5, 5, 100, True))
    producers.append(produced(0, 0, offset=6, transactional=True))
    aborted = producers.append_marker(marker(7, commit=False))
    assert aborted is not None
    assert aborted.last_stable_offset == 5


def test_a_commit_or_a_marker_without_data_aborts_nothing(producers: Producers) -> None:
    assert producers.append_marker(marker(14, commit=False)) is None
    producers.append(produced(14, 14, offset=15, transactional=True))
    assert producers.append_marker(marker(16)) is None


@pytest.mark.parametrize(
    ("epoch", "coordinator", "refusal"),
    [(1, 5, InvalidProducerEpochError), (2, 4, TransactionCoordinatorFencedError)],
)
def test_markers_of_the_past_are_refused(epoch: int, coordinator: int, refusal: type[Exception]) -> None:
    producers = Producers()
    producers.append_marker(marker(0, epoch=2, coordinator=5))
    with pytest.raises(refusal):
        producers.check_marker(9, epoch, coordinator)


def test_a_marker_with_a_new_epoch_clears_the_cached_batches(producers: Producers) -> None:
    producers.append_marker(marker(14, epoch=1))
    assert producers.find_duplicate(produced(12, 13)) is None
    producers.check(produced(0, 0, epoch=1))


def test_silent_producers_are_forgotten_unless_a_transaction_is_open(producers: Producers) -> None:
    producers.append(ProducerBatch(1, 0, 0, 0, 50, 50, 100, True))
    assert producers.expire(1099, 1000) == []
    assert producers.expire(1100, 1000) == [9]
    assert list(producers.entries) == [1]


def test_a_snapshot_keeps_all_cached_batches_and_the_open_transaction(producers: Producers) -> None:
    producers.append(produced(14, 16, offset=14, transactional=True))
    restored = Producers(decode_snapshot(encode_snapshot(producers.entries.values())))
    assert restored.first_unstable_offset(100) == 14
    assert restored.entries == producers.entries
    assert restored.find_duplicate(produced(12, 13)) == producers.find_duplicate(produced(12, 13)) is not None


def test_a_snapshot_keeps_the_time_of_a_batch_apart_from_that_of_a_later_marker(producers: Producers) -> None:
    producers.append(produced(14, 16, offset=14, transactional=True))
    producers.append_marker(marker(17)._replace(timestamp=500))
    restored = Producers(decode_snapshot(encode_snapshot(producers.entries.values())))
    assert restored.entries == producers.entries
    assert encode_snapshot(restored.entries.values()) == encode_snapshot(producers.entries.values())


def test_a_snapshot_restores_a_batch_that_wrapped() -> None:
    producers = Producers()
    producers.append(produced(MAX - 1, 1))
    restored = Producers(decode_snapshot(encode_snapshot(producers.entries.values())))
    assert restored.find_duplicate(produced(MAX - 1, 1)) is not None


def test_a_damaged_snapshot_is_refused(producers: Producers) -> None:
    sound = encode_snapshot(producers.entries.values())
    for position in range(len(sound)):
        damaged = bytearray(sound)
        damaged[position] ^= 0x10
        with pytest.raises(SnapshotError):
            decode_snapshot(bytes(damaged))
        with pytest.raises(SnapshotError):
            decode_snapshot(sound[:position])


def test_a_producer_begins_with_the_batch_that_the_disk_refused() -> None:
    files = FaultyFiles()
    files.make_directory(Path("/logs/orders-0"))
    log = Partition(files, Path("/logs/orders-0"), LogConfig(), clock=lambda: 0)
    for hold in (False, True):
        first, second = (idempotent(sequence, producer_id=7 + hold) for sequence in (0, 1))
        files.arm(Fault("write", error=errno.ENOSPC))
        with pytest.raises(KafkaStorageError):
            write(log, first, hold=hold)
        with pytest.raises(OutOfOrderSequenceError, match="sequence 1, expected 0, which the disk refused"):
            log.append(second)
        assert not log.append(first).duplicate
        assert not log.append(second).duplicate


def write(log: Partition, batch: bytes, *, hold: bool) -> None:
    log.append(batch, hold=hold)
    log.write_held()


def idempotent(sequence: int, producer_id: int) -> bytes:
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=0, base_sequence=sequence)
    builder.append(b"k", b"%d" % sequence, timestamp=1)
    return builder.build()
