"""Fetched bytes as records: the records that are skipped, and the order of records and errors."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.client._bulk.arrow import MOST_DECODED, MOST_STORED, ArrowDecoder
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client._consume.positions import Position
from kafkawire.client._consume.records import Chunk, ConsumerRecord, _decode, decode_chunk
from kafkawire.client.errors import CorruptFetchError
from kafkawire.client.options import ConsumerOptions
from kafkawire.records import BatchBuilder, ControlType, CorruptRecordError, transaction_marker

if TYPE_CHECKING:
    from collections.abc import Callable

PLACE = TopicPartition("t", 3)
pytestmark = pytest.mark.twin


def batch(base: int, *values: bytes, **fields: Any) -> bytes:
    builder = BatchBuilder(base_offset=base, **fields)
    for value in values:
        builder.append(None, value, timestamp=1)
    return builder.build()


def marker(base: int, producer: int, kind: ControlType) -> bytes:
    builder = BatchBuilder(
        base_offset=base, is_control=True, is_transactional=True, producer_id=producer, producer_epoch=0
    )
    builder.append(*transaction_marker(kind, 0), timestamp=1)
    return builder.build()


def txn(base: int, producer: int, *values: bytes) -> bytes:
    return batch(base, *values, is_transactional=True, producer_id=producer, producer_epoch=0, base_sequence=0)


def chunk(data: bytes, position: int = 0, end: int = 100, aborted: list[tuple[int, int]] | None = None) -> Chunk:
    return Chunk(position, end, memoryview(data), aborted or [])


def values(part: Chunk) -> list[Any]:
    found: list[Any] = []
    rest: Chunk | None = part
    while rest is not None:
        records, rest = decode_chunk(rest, PLACE, ConsumerOptions())
        found += [record.value for record in records]
    return found


def rows(part: Chunk, *columns: str) -> list[dict[str, Any]]:
    return [row for table in ArrowDecoder(columns, verify=True).parts(part, PLACE) for row in table.to_pylist()]


def test_records_before_the_position_are_left_out() -> None:
    data = batch(0, b"0", b"1", b"2") + batch(3, b"3")
    assert values(chunk(data, position=1)) == [b"1", b"2", b"3"]


ABORTED_LOG = (
    txn(0, 7, b"aborted")
    + txn(1, 8, b"committed")
    + batch(2, b"plain")
    + marker(3, 7, ControlType.ABORT)
    + txn(4, 7, b"later")
    + marker(5, 8, ControlType.COMMIT)
    + marker(6, 7, ControlType.COMMIT)
)


def test_aborted_records_are_left_out_up_to_their_marker_and_markers_always() -> None:
    part = chunk(ABORTED_LOG, aborted=[(7, 0)])
    assert values(part) == [b"committed", b"plain", b"later"]
    assert [row["value"] for row in rows(part, "value")] == [b"committed", b"plain", b"later"]


def test_without_a_list_of_aborted_transactions_everything_but_markers_is_handed_out() -> None:
    assert values(chunk(ABORTED_LOG)) == [b"aborted", b"committed", b"plain", b"later"]


def test_taking_some_records_leaves_the_rest_and_the_position_behind_the_last_taken() -> None:
    state = Position(PLACE, None)
    state.move(0)
    state.add(chunk(batch(0, b"0", b"1", b"2"), end=5))
    options = ConsumerOptions()
    assert [record.value for record in state.take(2, options)] == [b"0", b"1"]
    assert state.position == 2
    assert [record.value for record in state.take(2, options)] == [b"2"]
    assert state.position == 5
    assert state.take(2, options) == []


def test_a_chunk_without_visible_records_moves_the_position_all_the_same() -> None:
    state = Position(PLACE, None)
    state.move(0)
    state.add(chunk(marker(0, 7, ControlType.COMMIT), end=1))
    state.add(chunk(batch(1, b"1"), position=1, end=2))
    assert [record.value for record in state.take(None, ConsumerOptions())] == [b"1"]
    assert state.position == 2


def test_a_corrupt_batch_is_an_error_until_the_application_seeks_past_it() -> None:
    data = bytearray(batch(0, b"0"))
    data[-2] ^= 1
    state = Position(PLACE, None)
    state.move(0)
    state.add(chunk(bytes(data)))
    for _ in range(2):
        with pytest.raises(CorruptRecordError, match=r"t-3 at offset 0: batch at byte 0: stated CRC"):
            state.take(None, ConsumerOptions())
    assert state.position == 0
    assert len(state.take(None, ConsumerOptions(check_crcs=False))) == 1


def test_columns_without_any_of_the_records_still_have_their_rows() -> None:
    assert rows(chunk(batch(0, b"0", b"1")), "partition") == [{"partition": 3}, {"partition": 3}]


def test_records_before_a_corrupt_batch_are_handed_out_first() -> None:
    data = bytearray(batch(10, b"0", b"1") + batch(12, b"2"))
    data[-2] ^= 1
    state = Position(PLACE, None)
    state.move(10)
    state.add(chunk(bytes(data), position=10, end=13))
    assert [record.value for record in state.take(None, ConsumerOptions())] == [b"0", b"1"]
    assert state.position == 12
    with pytest.raises(CorruptFetchError, match="t-3 at offset 12: ") as caught:
        state.take(None, ConsumerOptions())
    assert (caught.value.partition, caught.value.offset) == (PLACE, 12)
    state.move(13)
    assert state.take(None, ConsumerOptions()) == []


def test_columns_of_a_corrupt_batch_name_its_place() -> None:
    data = bytearray(batch(0, b"0") + batch(1, b"1"))
    data[-2] ^= 1
    with pytest.raises(CorruptFetchError, match="t-3 at offset 1: "):
        rows(chunk(bytes(data)), "value")


def tight(base: int, count: int, size: int, **fields: Any) -> bytes:
    return batch(base, *[bytes(size)] * count, compression="zstd", **fields)


def test_a_fetch_that_decompresses_to_a_thousand_times_its_size_comes_in_bounded_parts() -> None:
    each = 1024 * 1024
    data = b"".join(tight(number * 4, 4, each) for number in range(40))
    assert len(data) < MOST_STORED < 40 * 4 * each
    decoder = ArrowDecoder(["offset", "value"], verify=True)
    for _ in decoder.parts(chunk(data, end=160), PLACE):
        pass
    sizes, offsets = [], []
    rest: Chunk | None = chunk(data, position=1, end=160)
    while rest is not None:
        table, rest = decoder.decode(rest, PLACE)
        sizes.append(table.nbytes)
        offsets += table.column("offset").to_pylist()
    assert offsets == list(range(1, 160))
    assert max(sizes) <= MOST_DECODED + 4 * each


def test_records_of_tight_batches_are_decoded_some_at_a_time() -> None:
    data = b"".join(tight(number * 4, 4, 1024 * 1024) for number in range(20))
    state = Position(PLACE, None)
    state.move(0)
    state.add(chunk(data, end=80))
    taken = state.take(None, ConsumerOptions())
    assert 4 <= len(taken) < 40
    assert state.position == len(taken)
    while state.has_data:
        taken += state.take(None, ConsumerOptions())
    assert [record.offset for record in taken] == list(range(80))
    assert state.position == 80


def everything(part: Chunk, decode: Callable[..., tuple[list[ConsumerRecord], Chunk | None]]) -> list[Any]:
    """All records of a chunk, each part's end, and the error that ends it."""
    found: list[Any] = []
    rest: Chunk | None = part
    try:
        while rest is not None:
            records, rest = decode(rest, PLACE, ConsumerOptions(), sys.maxsize)
            found += records
    except CorruptFetchError as error:
        found.append((error.offset, str(error)))
    return found


def mixed_log() -> bytes:
    stamped: dict[str, Any] = {"append_timestamp": 1_600_000_000_000, "leader_epoch": 4}
    parts = [
        batch(0, *[b"%d" % number for number in range(10)]),
        batch(10, b"late", b"later", **stamped),
        txn(12, 7, b"in a transaction"),
        marker(13, 7, ControlType.COMMIT),
        *(
            batch(14 + at, b"packed" * 50, compression=codec)
            for at, codec in enumerate(("gzip", "lz4", "zstd", "snappy"))
        ),
        batch(18, b"old", magic=1),
        batch(19, *[bytes(300)] * 5),
    ]
    builder = BatchBuilder(base_offset=24)
    builder.append(b"key", None, timestamp=5, headers=(("a", b"1"), ("b", None)))
    builder.append(None, b"", timestamp=2**40)
    return b"".join([*parts, builder.build(), batch(30)])


def test_one_pass_over_plain_batches_gives_what_batch_by_batch_gives() -> None:
    data = mixed_log()
    for position in (0, 1, 9, 10, 11, 13, 18, 20, 25, 26):
        part = chunk(data, position=position)
        expected = everything(part, _decode)
        assert everything(part, decode_chunk) == expected
        assert [record.offset for record in expected] == [
            offset for offset in (*range(13), *range(14, 26)) if offset >= position
        ]


def test_any_damaged_byte_gives_what_batch_by_batch_gives() -> None:
    data = mixed_log()
    for at in range(len(data)):
        damaged = bytearray(data)
        damaged[at] ^= 1 << at % 8
        part = chunk(bytes(damaged))
        assert everything(part, decode_chunk) == everything(part, _decode), at


def test_a_batch_at_the_last_offset_gives_what_batch_by_batch_gives() -> None:
    last = 2**63 - 1
    moved = (last - 1).to_bytes(8, "big") + batch(0, b"a", b"b")[8:]  # the CRC does not cover the offset
    damaged = batch(5, b"c")[:-1] + b"!"
    part = chunk(moved + damaged, position=last - 1)
    found = everything(part, decode_chunk)
    assert found == everything(part, _decode)
    assert [record.offset for record in found[:2]] == [last - 1, last]
    assert found[2][0] == 5


def test_a_run_ends_with_the_batch_that_gives_enough_records() -> None:
    data = b"".join(batch(number * 10, *[b"v"] * 10) for number in range(8))
    records, rest = decode_chunk(chunk(data), PLACE, ConsumerOptions(), 25)
    assert [record.offset for record in records] == list(range(30))
    assert rest is not None
    assert (rest.position, len(rest.records)) == (30, len(data) * 5 // 8)


def test_parts_know_which_aborted_transactions_ended_before_them() -> None:
    large = b"x" * (MOST_DECODED // 2)
    packed: dict[str, Any] = {"is_transactional": True, "producer_epoch": 0, "base_sequence": 0, "compression": "zstd"}
    data = b"".join(
        [
            batch(0, b"aborted", producer_id=7, **packed),
            batch(1, large, compression="zstd"),
            batch(2, large, compression="zstd"),
            marker(3, 7, ControlType.ABORT),
            batch(4, large, compression="zstd"),
            batch(5, large, compression="zstd"),
            batch(6, b"committed", producer_id=7, **packed),
            batch(7, large, compression="zstd"),
            batch(8, b"aborted again", producer_id=7, **packed),
            batch(9, large, compression="zstd"),
        ]
    )
    part = chunk(data, end=10, aborted=[(7, 0), (7, 8)])
    rest: Chunk | None = part
    decoder = ArrowDecoder(["offset"], verify=True)
    decoder._most = 1
    seen: list[Any] = []
    parts = 0
    while rest is not None:
        table, rest = decoder.decode(rest, PLACE)
        decoder._most, parts = 1, parts + 1
        seen += table.column("offset").to_pylist()
    assert parts == 10
    assert seen == [1, 2, 4, 5, 6, 7, 9]
    assert [value for value in values(part) if value != large] == [b"committed"]
