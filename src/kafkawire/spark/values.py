"""Columns of records as Spark wants them.

Rules:
- Times are microseconds in UTC; one that does not fit is null, as Spark could not hold it either.
- A record without headers has null headers, as with Spark's own connector, not an empty list.
"""

from __future__ import annotations

from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

TIME: Final = pa.timestamp("us", tz="UTC")
HEADERS: Final = pa.list_(pa.field("element", pa.struct([("key", pa.string()), ("value", pa.binary())])))
_LARGEST: Final = pa.scalar((2**63 - 1) // 1000, pa.int64())
_SMALLEST: Final = pa.scalar(-((2**63 - 1) // 1000), pa.int64())


def null_where_empty(column: pa.Array[Any]) -> pa.Array[Any]:
    """Headers, null where there are none."""
    assert isinstance(column, pa.ListArray)
    lengths = pc.list_value_length(column)
    if not pc.max(lengths).as_py():
        return pa.nulls(len(column), HEADERS)
    # A mask needs offsets that start at the array's own beginning, which a slice's need not.
    whole = column if column.offset == 0 else pa.concat_arrays([column])
    empty = pc.equal(lengths, pa.scalar(0, pa.int32()))
    return pa.ListArray.from_arrays(whole.offsets, whole.values, type=HEADERS, mask=empty)


def as_microseconds(column: pa.Array[Any]) -> pa.Array[Any]:
    """Times of milliseconds as Spark's."""
    try:
        return column.cast(TIME)
    except pa.ArrowInvalid:
        milliseconds = column.cast(pa.int64())
        fits = pc.and_(pc.less_equal(milliseconds, _LARGEST), pc.greater_equal(milliseconds, _SMALLEST))
        held: pa.Array[Any] = pc.if_else(fits, column, pa.scalar(None, column.type))
        return held.cast(TIME)
