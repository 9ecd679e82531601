"""Fetched bytes as records: what is left out, and in which order it is told."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire.client.decoding import Chunk, chunk_to_arrow, decode_chunk
from kafkawire.client.metadata import TopicPartition
from kafkawire.client.options import ConsumerOptions
from kafkawire.client.positions import Position
from kafkawire.records import BatchBuilder, ControlType, CorruptRecordError, transaction_marker

PLACE = TopicPartition("t", 3)


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
    return [record.value for record in decode_chunk(part, PLACE, ConsumerOptions())]


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
    columns = chunk_to_arrow(part, PLACE, ["value"], verify=True)
    assert columns.column("value").to_pylist() == [b"committed", b"plain", b"later"]


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
        with pytest.raises(CorruptRecordError):
            state.take(None, ConsumerOptions())
    assert state.position == 0
    assert len(state.take(None, ConsumerOptions(check_crcs=False))) == 1


def test_columns_without_any_of_the_records_still_have_their_rows() -> None:
    columns = chunk_to_arrow(chunk(batch(0, b"0", b"1")), PLACE, ["partition"], verify=True)
    assert columns.to_pylist() == [{"partition": 3}, {"partition": 3}]
