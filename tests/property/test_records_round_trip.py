"""Any records, in any format and codec, come back as they went in, by every way of reading and writing."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.records.samples import FORMATS, Row, rows_of_columns, rows_of_records

from kafkawire.records import BatchBuilder, Codec, convert, from_arrow, to_arrow

pytestmark = pytest.mark.twin

Records = list[tuple[bytes | None, bytes | None, int, list[tuple[str, bytes | None]], int]]
INT64 = st.integers(-(2**63), 2**63 - 1)
NULLABLE = st.none() | st.binary(max_size=40) | st.binary(min_size=250, max_size=300)
HEADERS = st.lists(st.tuples(st.text(max_size=5), st.none() | st.binary(max_size=9)), max_size=3)
RECORD = st.tuples(NULLABLE, NULLABLE, st.integers(0, 2**42) | INT64, HEADERS, st.integers(0, 70) | st.just(2**27))
BATCH = st.lists(RECORD, min_size=1, max_size=12)


def written(
    magic: int, codec: Codec, base_offset: int, records: Records, append: int | None
) -> tuple[bytes, list[Row]]:
    builder = BatchBuilder(magic=magic, compression=codec, base_offset=base_offset, append_timestamp=append)
    rows: list[Row] = []
    offset = base_offset
    for key, value, timestamp, headers, gap in records:
        offset += gap
        named = headers if magic == 2 else []
        builder.append(key, value, timestamp, named, offset)
        kind = -1 if magic == 0 else int(append is not None)
        stamp = -1 if magic == 0 else timestamp if append is None else append
        rows.append((offset, stamp, kind, key, value, tuple(named)))
        offset += 1
    return builder.build(), rows


@settings(max_examples=150)
@given(st.sampled_from(FORMATS), st.integers(1, 2**40), BATCH, st.none() | st.integers(0, 2**42))
def test_written_rows_are_read_by_both_readers(
    form: tuple[int, Codec],
    base_offset: int,
    records: Records,
    append: int | None,
) -> None:
    data, rows = written(*form, base_offset, records, append)
    assert rows_of_records(data) == rows
    assert rows_of_columns(data) == rows


@settings(max_examples=100)
@given(st.lists(st.tuples(st.sampled_from(FORMATS), BATCH), max_size=4), st.integers(1, 5))
def test_rows_written_from_columns_are_the_same_rows(
    batches: list[tuple[tuple[int, Codec], Records]],
    most: int,
) -> None:
    data, expected, offset = b"", [], 1
    for form, records in batches:
        part, rows = written(*form, offset, records, None)
        offset = rows[-1][0] + 1
        data += part
        expected += rows
    again = from_arrow(to_arrow(data), records_per_batch=most, compression="lz4" if most % 2 else "none")
    assert rows_of_columns(again) == [(row[0], row[1], 0, *row[3:]) for row in expected]


@settings(max_examples=80)
@given(st.sampled_from([form for form in FORMATS if form[1] is not Codec.ZSTD]), BATCH, st.sampled_from([0, 1, 2]))
def test_conversion_keeps_offsets_keys_and_values(
    form: tuple[int, Codec],
    records: Records,
    to_magic: int,
) -> None:
    data, rows = written(*form, 1, records, None)
    kept = [(row[0], row[3], row[4]) for row in rows_of_columns(convert(data, to_magic))]
    assert kept == [(row[0], row[3], row[4]) for row in rows]
