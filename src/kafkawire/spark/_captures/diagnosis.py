"""Diagnosis of captures on Spark: the inspector's rules, over groups of clients that fit the memory of a worker.

Rules:
- Rules read a connection, a client, or several clients together (such as fencing, or unknown topics). So a run of up to
  `limit` rows is one group, and its findings are exactly the inspector's.
- A larger run is split into groups of clients, by address, of up to `limit` rows. A larger client is split by
  connection, and a larger connection by ranges of its exchanges. An incident that spans groups is reported once per
  group, or missed if no group shows enough of it.
- An aggregate function over Arrow columns diagnoses a group, because other grouped functions need pandas.
- A shuffle of decoded columns, without payload, brings rows to their group. The driver receives only counts per
  connection.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  # the usual name
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType

from kafkawire.inspect import (
    FINDINGS,
    SCHEMAS,
    TRANSACTIONS,
    Thresholds,
    find_incidents,
    findings_table,
    traffic_table,
)
from kafkawire.spark._pipeline.summary import findings_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import Column, DataFrame

    from kafkawire.spark._pipeline.output import WrittenTables

NEEDED: Final = ("connections", "gaps", "exchanges", "exchange_partitions", "batches")
_FOUND: Final = ArrayType(from_arrow_schema(FINDINGS))
_TRANSACTIONS: Final = ArrayType(from_arrow_schema(TRANSACTIONS))
_OF_EXCHANGES: Final = ("exchanges", "exchange_partitions", "batches")
# The inspector's order, as far as columns define it; rules use it for rows of the same time.
_ORDER: Final = ("conn_id", "seq", "source", "topic", "partition", "base_offset")
LIMIT: Final = 200_000


class ConnectionLoad(NamedTuple):
    """The size of a connection: its rows, and the numbers of its first and last exchange."""

    address: str
    conn_id: int
    rows: int
    first: int
    last: int


class GroupShare(NamedTuple):
    """A range of exchanges of a connection that belongs to a group."""

    conn_id: int
    first: int
    last: int
    group: int


def plan_groups(loads: Iterable[ConnectionLoad], limit: int = LIMIT) -> list[GroupShare]:
    """Assign exchanges to groups, so that no group has many more rows than the limit."""
    by_client: dict[str, list[ConnectionLoad]] = {}
    for load in sorted(loads):
        by_client.setdefault(load.address, []).append(load)
    shares: list[GroupShare] = []
    group = filled = 0
    for own in by_client.values():
        fits = sum(load.rows for load in own) <= limit
        units = [own] if fits else [[piece] for load in own for piece in _pieces(load, limit)]
        for unit in units:
            rows = sum(load.rows for load in unit)
            if filled and filled + rows > limit:
                group, filled = group + 1, 0
            filled += rows
            shares += [GroupShare(load.conn_id, load.first, load.last, group) for load in unit]
    return shares


def _pieces(load: ConnectionLoad, limit: int) -> list[ConnectionLoad]:
    """Split a connection into ranges of exchanges with about as many rows as the limit allows."""
    exchanges = load.last - load.first + 1
    count = min(-(-load.rows // limit), max(exchanges, 1))
    bounds = [load.first + exchanges * number // count for number in range(count + 1)]
    return [load._replace(first=first, last=after - 1, rows=load.rows // count) for first, after in pairwise(bounds)]


def diagnose_captures(
    tables: WrittenTables, limits: Thresholds | None = None, *, limit: int = LIMIT
) -> DataFrame | None:
    """The findings of a run; None if a table of the rules is missing."""
    if not tables.has(*NEEDED):
        return None
    rows = _in_groups(tables, limit)
    if rows is None:
        return findings_frame(tables.spark, [])
    chosen = limits or Thresholds()
    diagnosis = _gathered(lambda group: findings_table(find_incidents(group, chosen)))
    judge = arrow_udf(diagnosis, _FOUND)  # type: ignore[call-overload]  # by its hints
    return rows.groupBy("group").agg(judge(*NEEDED).alias("found")).select(F.inline("found"))


def captured_transactions(tables: WrittenTables, *, limit: int = LIMIT) -> DataFrame | None:
    """The transactions of a run, found in the groups of the diagnosis; None if a table is missing."""
    rows = _in_groups(tables, limit) if tables.has(*NEEDED) else None
    if rows is None:
        return None
    found = arrow_udf(_gathered(traffic_table), _TRANSACTIONS)  # type: ignore[call-overload]  # by its hints
    return rows.groupBy("group").agg(found(*NEEDED).alias("found")).select(F.inline("found"))


def _in_groups(tables: WrittenTables, limit: int) -> DataFrame | None:
    """The rows of all tables, each in its column, with their groups; None if there are none."""
    fits = sum(tables.rows.get(name, limit + 1) for name in NEEDED) <= limit
    shares = [] if fits else plan_groups(_loads(tables), limit)
    if not fits and not shares:
        return None
    rows: DataFrame | None = None
    for name in NEEDED:
        frame = tables.frame(name)
        grouped = frame.withColumn("group", F.lit(0)) if fits else _grouped(frame, name, shares)
        packed = grouped.select("group", *(_column(tables, each, each == name) for each in NEEDED))
        rows = packed if rows is None else rows.unionByName(packed)
    return rows


def _grouped(frame: DataFrame, name: str, shares: Sequence[GroupShare]) -> DataFrame:
    """The rows of a table with their groups."""
    columns = zip(GroupShare._fields, zip(*shares, strict=True), strict=True)
    planned = pa.table({field: pa.array(column, pa.int64()) for field, column in columns})
    mine = frame.sparkSession.createDataFrame(planned).withColumnRenamed("conn_id", "own")
    within = F.col("conn_id") == F.col("own")
    if name in _OF_EXCHANGES:
        within = within & F.col("seq").between(F.col("first"), F.col("last"))
    else:
        mine = mine.select("own", "group").distinct()
    return frame.join(F.broadcast(mine), within)


def _loads(tables: WrittenTables) -> list[ConnectionLoad]:
    counted: DataFrame | None = None
    for name in _OF_EXCHANGES:
        each = tables.frame(name).select("conn_id", "seq")
        counted = each if counted is None else counted.unionByName(each)
    assert counted is not None
    totals = counted.groupBy("conn_id").agg(F.count(F.lit(1)).alias("rows"), F.max("seq").alias("last"))
    known = tables.frame("connections").select("conn_id", "client")
    return [
        ConnectionLoad(row.client.rpartition(":")[0], row.conn_id, 1 + (row.rows or 0), 0, row.last or 0)
        for row in known.join(totals, "conn_id", "left").collect()
    ]


def _column(tables: WrittenTables, name: str, present: bool) -> Column:
    schema = tables.schemas[name]
    if present:
        return F.struct(*(F.col(column) for column in schema.names)).alias(name)
    return F.lit(None).cast(schema).alias(name)


def _gathered(made: Callable[[dict[str, pa.Table]], pa.Table]) -> Callable[..., object]:
    """A function over the columns of a group, which makes a table of its tables."""

    # Spark recognises the kind of function by its type hints, which must be the class itself.
    def judge(
        connections: pa.Array,  # type: ignore[type-arg]
        gaps: pa.Array,  # type: ignore[type-arg]
        exchanges: pa.Array,  # type: ignore[type-arg]
        exchange_partitions: pa.Array,  # type: ignore[type-arg]
        batches: pa.Array,  # type: ignore[type-arg]
    ) -> object:
        packed = (connections, gaps, exchanges, exchange_partitions, batches)
        tables = {name: _unpacked(column, name) for name, column in zip(NEEDED, packed, strict=True)}
        found = made(tables).combine_chunks().to_struct_array()
        rows = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
        return pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)[0]

    return judge


def _unpacked(packed: Any, name: str) -> pa.Table:
    """One of the tables of a group."""
    schema = SCHEMAS[name]
    table = pa.Table.from_struct_array(packed.filter(packed.is_valid())).select(schema.names).cast(schema)
    order: list[tuple[str, Literal["ascending", "descending"]]] = [
        (column, "ascending") for column in _ORDER if column in schema.names
    ]
    return table.sort_by(order)
