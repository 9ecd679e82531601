"""Decoded keys and values in tables of records.

Rules:
- A decoded column has the type that the schema of the reader gives. It has the name of the bytes, and replaces them,
  unless `names` has another name for it.
- `bad` decides about records that cannot be decoded. `raise`: the error has the offset. `drop`: they are left out.
  `column`: they are null, `value_fault` has the reason and `value_bytes` the bytes if they were replaced. Both are
  null in other rows.
- Headers are read too, because serialisers may put the id of a schema there.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

from kafkawire.values.errors import MalformedValueError, SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from kafkawire.values._framing import Headers
    from kafkawire.values.decoder import Decoder

SIDES: Final = ("key", "value")
ON_BAD: Final = ("raise", "column", "drop")
_FAULT: Final = "fault"
_BYTES: Final = "bytes"


@dataclass(frozen=True)
class ValueColumns:
    """The decoders of keys and values, and what becomes of those that cannot be decoded."""

    key: Decoder | None = None
    value: Decoder | None = None
    bad: Literal["raise", "column", "drop"] = "raise"
    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.bad not in ON_BAD:
            raise SchemaError(f"bad is {self.bad!r}, expected {', '.join(ON_BAD)}")

    @property
    def decoders(self) -> dict[str, Decoder]:
        """The decoders by the column that they decode."""
        return {name: made for name, made in zip(SIDES, (self.key, self.value), strict=True) if made is not None}

    def fields(self) -> list[pa.Field[Any]]:
        """The columns that are decoded, and those about faults."""
        found = []
        for side, decoder in self.decoders.items():
            found.append(pa.field(self.name_of(side), decoder.arrow_type))
            if self.bad == "column":
                found.append(pa.field(f"{side}_{_FAULT}", pa.string()))
                if self.name_of(side) == side:
                    found.append(pa.field(f"{side}_{_BYTES}", pa.binary()))
        return found

    def name_of(self, side: str) -> str:
        """The name of a decoded column."""
        return self.names.get(side, side)

    def all_names(self, stored: Sequence[str]) -> list[str]:
        """The names of all columns of a table with these columns of records."""
        return [*stored, *(each.name for each in self.fields() if each.name not in stored)]

    def stored(self, columns: Sequence[str]) -> list[str]:
        """The columns of records that must be read for these columns."""
        own = {name: side for side in self.decoders for name in (f"{side}_{_FAULT}", f"{side}_{_BYTES}")}
        own |= {self.name_of(side): side for side in self.decoders}
        sides = [side for side in self.decoders if self.bad == "drop" or side in {own.get(name) for name in columns}]
        needed = dict.fromkeys(own.get(name, name) for name in columns)
        if sides:
            needed |= dict.fromkeys((*sides, "headers", "offset"))
        return list(needed)

    def decode(self, batch: pa.RecordBatch, columns: Sequence[str], place: str) -> pa.RecordBatch:
        """Decode the columns of a batch; `place` is the partition, for errors."""
        found: dict[str, pa.Array[Any]] = {name: batch.column(name) for name in batch.schema.names}
        bad: set[int] = set()
        headers = _headers(found["headers"]) if "headers" in found else None
        for side, decoder in self.decoders.items():
            if side not in found:
                continue
            data = found[side]
            found[self.name_of(side)], faults = decoder.column(data.to_pylist(), headers)
            if faults and self.bad == "raise":
                row, fault = next(iter(faults.items()))
                raise MalformedValueError(f"{place} at offset {found['offset'][row].as_py()}, {side}: {fault}")
            bad.update(faults)
            if self.bad == "column":
                found[f"{side}_{_FAULT}"] = pa.array([faults.get(row) for row in range(len(data))], pa.string())
                is_bad = pa.array([row in faults for row in range(len(data))], pa.bool_())
                found[f"{side}_{_BYTES}"] = pc.if_else(is_bad, data, pa.scalar(None, data.type))
        made = pa.RecordBatch.from_arrays([found[name] for name in columns], list(columns))
        if not bad or self.bad != "drop":
            return made
        return made.take(pa.array([row for row in range(made.num_rows) if row not in bad], pa.int64()))


def _headers(column: pa.Array[Any]) -> list[Headers | None] | None:
    """The headers of each record; None if no record has any."""
    lengths = pc.max(pc.list_value_length(column)).as_py()
    if not lengths:
        return None
    return [[(each["key"], each["value"]) for each in row or ()] for row in column.to_pylist()]
