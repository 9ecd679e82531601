"""Conversion between formats: what is kept, what is lost, what is refused."""

from __future__ import annotations

import pytest
from tests.records.samples import FORMATS, rows_of_columns, sample

from kafkawire.records import BatchBuilder, Codec, InvalidRecordError, convert, read_batches

pytestmark = pytest.mark.twin


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
@pytest.mark.parametrize("to_magic", [0, 1, 2])
def test_records_survive_with_their_offsets_and_codec(magic: int, codec: Codec, to_magic: int) -> None:
    data = sample(magic, codec)
    if codec is Codec.ZSTD and to_magic < 2:
        with pytest.raises(InvalidRecordError, match="cannot hold zstd"):
            convert(data, to_magic)
        return
    converted = convert(data, to_magic)
    before, after = rows_of_columns(data), rows_of_columns(converted)
    assert {(batch.magic, batch.codec) for batch in read_batches(converted)} == {(to_magic, codec)}
    assert [(row[0], *row[3:5]) for row in after] == [(row[0], *row[3:5]) for row in before]
    if magic and to_magic:
        assert [row[1:3] for row in after] == [row[1:3] for row in before]
    else:
        assert {row[1] for row in after} == ({-1} if magic != to_magic else {row[1] for row in before})
    assert [row[5] for row in after] == ([row[5] for row in before] if to_magic == 2 else [()] * 4)


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_batches_of_the_wanted_format_are_kept_byte_for_byte(magic: int, codec: Codec) -> None:
    assert convert(sample(magic, codec) + bytes(3), magic) == sample(magic, codec)


@pytest.mark.parametrize("codec", [Codec.NONE, Codec.GZIP])
def test_append_time_stays_append_time(codec: Codec) -> None:
    down = convert(sample(2, codec, append_timestamp=66), 1)
    assert {row[1:3] for row in rows_of_columns(down)} == {(66, 1)}
    assert {row[1:3] for row in rows_of_columns(convert(down, 2))} == {(66, 1)}


def test_loose_messages_become_one_batch_and_different_times_do_not() -> None:
    assert len(list(read_batches(convert(sample(1, Codec.NONE, 0) + sample(1, Codec.NONE, 50), 2)))) == 1
    apart = sample(1, Codec.NONE, 0, append_timestamp=5) + sample(1, Codec.NONE, 50, append_timestamp=6)
    assert len(list(read_batches(convert(apart, 2)))) == 2


def test_control_batches_do_not_go_down() -> None:
    builder = BatchBuilder(is_control=True, base_offset=3)
    builder.append(bytes(4), bytes(6))
    assert convert(builder.build() + sample(2, Codec.NONE, 10), 1) == convert(sample(2, Codec.NONE, 10), 1)


def test_unknown_format_is_refused() -> None:
    with pytest.raises(InvalidRecordError, match="magic 3"):
        convert(b"", 3)
