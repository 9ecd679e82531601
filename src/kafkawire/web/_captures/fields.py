"""The fields of exchanges in the filter language."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute

from kafkawire.web._filter.columns import Field, Fields, compared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.web._filter.language import Compare

pc: Any = pyarrow.compute  # its stubs do not know most of these calls
_KNOWN: Final = {
    "api": Field("text", "api"),
    "version": Field("number", "version"),
    "client": Field("text", "client", "client id, or address"),
    "connection": Field("number", "conn_id"),
    "seq": Field("number", "seq"),
    "correlation": Field("number", "corr_id"),
    "time": Field("time", "time"),
    "wait": Field("duration", "wait_us"),
    "service": Field("duration", "service_us"),
    "request": Field("size", "req_bytes"),
    "response": Field("size", "resp_bytes"),
    "error": Field("error", "error_code"),
    "state": Field("text", "state"),
    "group": Field("text", "group_id"),
    "member": Field("text", "member_id"),
    "transaction": Field("text", "transactional_id"),
    "producer": Field("number", "producer_id"),
    "acks": Field("number", "acks"),
    "throttle": Field("duration", lambda table: pc.multiply(table["throttle_ms"].cast(pa.int64()), 1000)),
}
_OF_PARTITIONS: Final = {
    "topic": ("text", "topic"),
    "partition": ("number", "partition"),
    "offset": ("number", "fetch_offset"),
}


def exchange_key(table: pa.Table) -> Any:
    """One number per exchange."""
    return pc.add(pc.multiply(table["conn_id"], 1 << 40), table["seq"])


def exchange_fields(tables: Mapping[str, pa.Table]) -> Fields:
    """The fields of exchanges; topics and partitions are looked up in the table of partitions."""

    def special(table: pa.Table, term: Compare) -> Any:
        place = _OF_PARTITIONS.get(term.field.lower())
        if place is None or "exchange_partitions" not in tables:
            return None
        partitions = tables["exchange_partitions"]
        rows = compared(partitions[place[1]], place[0], term)  # type: ignore[arg-type]
        keys = exchange_key(partitions.filter(pc.fill_null(rows, False)))
        return pc.is_in(exchange_key(table), value_set=pc.unique(keys))

    known = {**_KNOWN, **{name: Field(kind, column) for name, (kind, column) in _OF_PARTITIONS.items()}}  # type: ignore[arg-type]
    return Fields(known, ("api", "client", "about", "group_id", "transactional_id", "state"), special)
