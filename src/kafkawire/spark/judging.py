"""Diagnosis of captures on Spark: the inspector's rules, over groups of clients that each fit a worker's memory.

Rules:
- Rules look at a connection, its client, or at several clients together (who fenced whom, which topic nobody knows).
  So a run of up to `limit` rows is one group, and its findings are exactly the inspector's.
- A larger run is divided: clients, by address, go together into groups of up to `limit` rows; a client that has more
  is divided by connection, and a connection that has more by ranges of its exchanges. Rules then see a group each: an
  incident that spans groups is told once a group, or missed where no group shows enough of it.
- A group is judged by an aggregate function over Arrow columns, the one kind of grouped function that does not need
  pandas.
- Rows meet their group by a shuffle of decoded columns, without payload. Nothing but counts a connection comes to the
  driver.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812  # what every Spark user calls it
from pyspark.sql.pandas.functions import arrow_udf
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import ArrayType

from kafkawire.inspect.diagnose import Thresholds, diagnose, findings_table
from kafkawire.inspect.tables import FINDINGS, SCHEMAS
from kafkawire.spark.findings import findings_frame

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pyspark.sql import Column, DataFrame

    from kafkawire.spark.written import WrittenTables

NEEDED: Final = ("connections", "gaps", "exchanges", "exchange_partitions", "batches")
_FOUND: Final = ArrayType(from_arrow_schema(FINDINGS))
_OF_EXCHANGES: Final = ("exchanges", "exchange_partitions", "batches")
# As the inspector has them, as far as columns tell: rules that meet rows of the same time take them in this order.
_ORDER: Final = ("conn_id", "seq", "source", "topic", "partition", "base_offset")
LIMIT: Final = 200_000


class Load(NamedTuple):
    """How much of a run a connection is: its rows, and the numbers of its first and last exchange."""

    address: str
    conn_id: int
    rows: int
    first: int
    last: int


class Share(NamedTuple):
    """Exchanges of a connection, from one to another, that a group looks at."""

    conn_id: int
    first: int
    last: int
    group: int


def plan_groups(loads: Iterable[Load], limit: int = LIMIT) -> list[Share]:
    """Which group looks at which exchanges, so that no group has more rows than the limit, or about so."""
    by_client: dict[str, list[Load]] = {}
    for load in sorted(loads):
        by_client.setdefault(load.address, []).append(load)
    shares: list[Share] = []
    group = filled = 0
    for own in by_client.values():
        fits = sum(load.rows for load in own) <= limit
        units = [own] if fits else [[piece] for load in own for piece in _pieces(load, limit)]
        for unit in units:
            rows = sum(load.rows for load in unit)
            if filled and filled + rows > limit:
                group, filled = group + 1, 0
            filled += rows
            shares += [Share(load.conn_id, load.first, load.last, group) for load in unit]
    return shares


def _pieces(load: Load, limit: int) -> list[Load]:
    """A connection in ranges of exchanges that have about as many rows each as the limit allows."""
    exchanges = load.last - load.first + 1
    count = min(-(-load.rows // limit), max(exchanges, 1))
    bounds = [load.first + exchanges * number // count for number in range(count + 1)]
    return [load._replace(first=first, last=after - 1, rows=load.rows // count) for first, after in pairwise(bounds)]


def judge_captures(tables: WrittenTables, limits: Thresholds | None = None, *, limit: int = LIMIT) -> DataFrame | None:
    """The findings about a run; None where a table is missing that rules look at."""
    if not tables.has(*NEEDED):
        return None
    fits = sum(tables.rows.get(name, limit + 1) for name in NEEDED) <= limit
    shares = [] if fits else plan_groups(_loads(tables), limit)
    if not fits and not shares:
        return findings_frame(tables.spark, [])
    rows: DataFrame | None = None
    for name in NEEDED:
        frame = tables.frame(name)
        grouped = frame.withColumn("group", F.lit(0)) if fits else _grouped(frame, name, shares)
        told = grouped.select("group", *(_column(tables, each, each == name) for each in NEEDED))
        rows = told if rows is None else rows.unionByName(told)
    assert rows is not None
    judge = arrow_udf(_judge_with(limits or Thresholds()), _FOUND)  # type: ignore[call-overload]  # by its hints
    return rows.groupBy("group").agg(judge(*NEEDED).alias("found")).select(F.inline("found"))


def _grouped(frame: DataFrame, name: str, shares: Sequence[Share]) -> DataFrame:
    """The rows of a table with the group that looks at each."""
    columns = zip(Share._fields, zip(*shares, strict=True), strict=True)
    planned = pa.table({field: pa.array(column, pa.int64()) for field, column in columns})
    mine = frame.sparkSession.createDataFrame(planned).withColumnRenamed("conn_id", "own")
    within = F.col("conn_id") == F.col("own")
    if name in _OF_EXCHANGES:
        within = within & F.col("seq").between(F.col("first"), F.col("last"))
    else:
        mine = mine.select("own", "group").distinct()
    return frame.join(F.broadcast(mine), within)


def _loads(tables: WrittenTables) -> list[Load]:
    counted: DataFrame | None = None
    for name in _OF_EXCHANGES:
        each = tables.frame(name).select("conn_id", "seq")
        counted = each if counted is None else counted.unionByName(each)
    assert counted is not None
    totals = counted.groupBy("conn_id").agg(F.count(F.lit(1)).alias("rows"), F.max("seq").alias("last"))
    known = tables.frame("connections").select("conn_id", "client")
    return [
        Load(row.client.rpartition(":")[0], row.conn_id, 1 + (row.rows or 0), 0, row.last or 0)
        for row in known.join(totals, "conn_id", "left").collect()
    ]


def _column(tables: WrittenTables, name: str, present: bool) -> Column:
    schema = tables.schemas[name]
    if present:
        return F.struct(*(F.col(column) for column in schema.names)).alias(name)
    return F.lit(None).cast(schema).alias(name)


def _judge_with(limits: Thresholds) -> Callable[..., object]:
    # Spark tells what kind of function this is by hints that are the class itself.
    def judge(
        connections: pa.Array,  # type: ignore[type-arg]
        gaps: pa.Array,  # type: ignore[type-arg]
        exchanges: pa.Array,  # type: ignore[type-arg]
        exchange_partitions: pa.Array,  # type: ignore[type-arg]
        batches: pa.Array,  # type: ignore[type-arg]
    ) -> object:
        packed = (connections, gaps, exchanges, exchange_partitions, batches)
        tables = {name: _unpacked(column, name) for name, column in zip(NEEDED, packed, strict=True)}
        found = findings_table(diagnose(tables, limits)).combine_chunks().to_struct_array()
        rows = pa.concat_arrays(found.chunks) if found.num_chunks else pa.array([], found.type)
        return pa.ListArray.from_arrays(pa.array([0, len(rows)], pa.int32()), rows)[0]

    return judge


def _unpacked(packed: Any, name: str) -> pa.Table:
    """One of the tables that a group's rows were packed from."""
    schema = SCHEMAS[name]
    table = pa.Table.from_struct_array(packed.filter(packed.is_valid())).select(schema.names).cast(schema)
    order: list[tuple[str, Literal["ascending", "descending"]]] = [
        (column, "ascending") for column in _ORDER if column in schema.names
    ]
    return table.sort_by(order)
