"""Blocks of rows that are added for several places."""

from __future__ import annotations

import pyarrow as pa

from kafkawire.inspect._tables.rows import Block, PlacedRows

COLUMNS: list[tuple[str, pa.DataType]] = [
    *(("conn_id", pa.int64()), ("seq", pa.int64())),
    *(("topic", pa.string()), ("partition", pa.int32())),
]
SCHEMA = pa.schema(COLUMNS)


def test_blocks_are_added_again_also_after_their_rows_were_taken() -> None:
    rows = PlacedRows(SCHEMA, ("conn_id", "seq"))
    one, two = Block([{"topic": "a", "partition": 0}, {"topic": "a", "partition": 1}]), Block([{"topic": "b"}])
    rows.add(one, 1, 1)
    rows.add(two, 1, 2)
    rows.add(Block([]), 1, 3)
    rows.add(one, 1, 4)
    first = [(1, 1, "a", 0), (1, 1, "a", 1), (1, 2, "b", None), (1, 4, "a", 0), (1, 4, "a", 1)]
    assert [tuple(row.values()) for row in rows.take().to_pylist()] == first
    assert rows.take().equals(SCHEMA.empty_table())
    rows.add(two, 2, 1)
    rows.add(one, 2, 2)
    assert [tuple(row.values()) for row in rows.take().to_pylist()] == [
        (2, 1, "b", None),
        *[(2, 2, "a", n) for n in (0, 1)],
    ]
