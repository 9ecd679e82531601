"""Records as objects, and reading from several threads at once."""

from __future__ import annotations

import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.records.samples import FORMATS, rows_of_columns, sample

from kafkawire.records import (
    HEADER_SIZE,
    BatchBuilder,
    Codec,
    CorruptRecordError,
    Record,
    read_batches,
    to_arrow,
)

pytestmark = pytest.mark.twin


def test_records_are_equal_by_their_fields() -> None:
    record = Record(1, 2, b"k", None, (("h", b"v"),))
    assert record == Record(1, 2, b"k", None, (("h", b"v"),))
    assert record != Record(1, 2, b"k", b"", (("h", b"v"),))
    assert record != object()
    assert Record(1, 2, None, None).headers == ()


def test_records_are_shown_with_their_fields() -> None:
    assert repr(Record(1, 2, b"k", None)) == "Record(offset=1, timestamp=2, key=b'k', value=None, headers=())"


def test_records_can_be_pickled_and_matched() -> None:
    (batch,) = read_batches(sample(2, FORMATS[-1][1]))
    records = list(batch.records())
    assert pickle.loads(pickle.dumps(records)) == records
    match records[0]:
        case Record(offset, _, key, value, _):
            assert (offset, key, value) == (100, b"key", b"value")
        case _:
            pytest.fail("a record does not match its own class")


def test_records_outlive_their_batch_and_buffer() -> None:
    buffer = bytearray(sample(2, FORMATS[0][1]))
    records = list(next(read_batches(buffer)).records())
    kept = [(record.key, record.value) for record in records]
    buffer[:] = bytes(len(buffer))
    assert [(record.key, record.value) for record in records] == kept


def test_records_that_are_dropped_and_recreated_keep_their_fields_apart() -> None:
    builder = BatchBuilder()
    for step in range(1000):
        builder.append(b"%d" % step, None if step % 3 else b"v" * step, step)
    batch = next(read_batches(builder.build()))
    for kept in (1, 7, 300, 1000):
        records: list[Record] = []
        for record in batch.records():
            records = [*records[-kept + 1 :], record] if kept > 1 else [record]
        assert [(r.offset, r.timestamp, r.key, r.value, r.headers) for r in records] == [
            (step, step, b"%d" % step, None if step % 3 else b"v" * step, ()) for step in range(1000 - kept, 1000)
        ]


def test_threads_do_not_share_what_unpacks() -> None:
    data = b"".join(sample(magic, codec, 1000 * step) for step, (magic, codec) in enumerate(FORMATS)) * 20
    expected = to_arrow(data)
    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(to_arrow, [data] * 16):
            assert found.equals(expected)
    assert rows_of_columns(data)


def outcome(form: Any, payload: bytes, base_offset: int) -> list[object]:
    """The records that a form of the kernel reads up to the fault, and its error."""
    found: list[object] = []
    try:
        records = form.records(payload, 9, base_offset, 5, 7, False, 4)
        found.extend(tuple(getattr(record, name) for name in Record.__match_args__) for record in records)
    except CorruptRecordError as error:
        found.append(str(error))
    return found


def test_both_forms_read_the_same_from_damaged_records() -> None:
    compiled, python = (pytest.importorskip(f"kafkawire.records._kernel.{name}") for name in ("_kernel", "kernel"))
    payload = bytearray(sample(2, Codec.NONE)[HEADER_SIZE:])
    for at in range(len(payload)):
        kept = payload[at]
        for byte in (0, 1, 2, 3, 0x7F, 0x80, 0xFF, kept ^ 1, kept ^ 0x80, kept + 2 & 0xFF):
            payload[at] = byte
            for base_offset in (0, 2**63 - 2):
                damaged = bytes(payload)
                assert outcome(compiled, damaged, base_offset) == outcome(python, damaged, base_offset), (at, byte)
        payload[at] = kept
