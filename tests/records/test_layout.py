"""The layout of a batch: the Python and the C numbers agree, and both agree with the struct formats."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kafkawire.records import BatchBuilder, _kernel, layout, parse_header

HEADER = Path(_kernel.__path__[0], "_layout.h").read_text()
NUMBERS = {name: int(value, 0) for name, value in re.findall(r"KW_(\w+) = (\w+)", HEADER)}
MACROS = {
    name: [int(each) for each in re.findall(r"[?:] (\d+)", body)]
    for name, body in re.findall(r"#define KW_(\w+)\(magic\) (.+)", HEADER)
}


@pytest.mark.parametrize("name", sorted(NUMBERS))
def test_the_c_numbers_are_those_of_the_python_module(name: str) -> None:
    assert NUMBERS[name] == getattr(layout, name)


def test_the_c_macros_are_the_tuples_of_the_python_module() -> None:
    assert {
        "LEGACY_KEY_AT": list(layout.LEGACY_KEY_AT),
        "CODEC_AT": [layout.CODEC_AT[2], layout.CODEC_AT[0]],
        "SMALLEST_LENGTH": list(reversed(layout.SMALLEST_LENGTHS)),
    } == MACROS


FIELDS = {
    "BASE_OFFSET_AT": 8,
    "SIZE_AT": 4,
    "LEADER_EPOCH_AT": 4,
    "MAGIC_AT": 1,
    "CRC_AT": 4,
    "ATTRIBUTES_AT": 2,
    "LAST_OFFSET_DELTA_AT": 4,
    "BASE_TIMESTAMP_AT": 8,
    "MAX_TIMESTAMP_AT": 8,
    "PRODUCER_ID_AT": 8,
    "PRODUCER_EPOCH_AT": 2,
    "BASE_SEQUENCE_AT": 4,
    "RECORD_COUNT_AT": 4,
}


def test_the_fields_of_a_header_follow_each_other_without_gaps() -> None:
    position = 0
    for name, size in FIELDS.items():
        assert getattr(layout, name) == position, name
        position += size
    assert position == layout.HEADER_SIZE == layout.BATCH.size


def test_the_formats_of_parts_cover_the_header() -> None:
    parts = (layout.ASSIGNED, layout.MAGIC_AND_CRC, layout.CHECKED)
    assert sum(part.size for part in parts) == layout.HEADER_SIZE
    assert layout.ASSIGNED.size == layout.MAGIC_AT
    assert layout.CHECKED_FROM + layout.CHECKED.size == layout.HEADER_SIZE
    assert layout.PRODUCER_ID_AT + layout.PRODUCER.size == layout.RECORD_COUNT_AT
    assert layout.MESSAGE.size == layout.LEGACY_TIMESTAMP_AT


def test_the_shape_of_a_batch_is_read_without_its_other_fields() -> None:
    builder = BatchBuilder(compression="gzip", is_transactional=True, producer_id=1, producer_epoch=0, base_sequence=0)
    builder.append(None, b"x")
    data = builder.build()
    header = parse_header(data)
    size, magic, attributes = layout.SHAPE.unpack_from(data)
    assert (size + layout.PREFIX_SIZE, magic, attributes) == (header.size, 2, header.attributes)
    assert attributes == 1 | layout.TRANSACTIONAL
