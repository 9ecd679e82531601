"""What consumer groups have committed for partitions, and how far behind that is.

Rules:
- Groups are asked about as administrators do it; nothing joins, nothing is committed.
- A group counts if it has committed an offset of one of the partitions, or a member of it was given one.
- Who may not ask about groups, or a broker that does not answer, does not end a run: what was wrong is told instead.
- The lag is against the log's end as it was when the run looked, and null where nothing is committed.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kafkawire.client.blocking import Admin
from kafkawire.client.options import ClientOptions, ConsumerOptions, read_options
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import GroupIdNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kafkawire.client.described import GroupListing
    from kafkawire.client.metadata import TopicPartition

_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys(("group", "state", "topic"), pa.string()),
    "partition": pa.int32(),
    **dict.fromkeys(("committed", "log_start", "log_end", "lag"), pa.int64()),
    **dict.fromkeys(("member", "client", "host"), pa.string()),
}
_SCHEMA: Final = pa.schema(_TYPES)


@dataclass(frozen=True)
class GroupOffset:
    """A group and a partition that it reads; a member of it, where one has the partition."""

    group: str
    state: str
    topic: str
    partition: int
    committed: int | None
    log_start: int
    log_end: int
    member: str | None = None
    client: str | None = None
    host: str | None = None

    @property
    def lag(self) -> int | None:
        """Offsets that are there and were not read; those deleted before count too."""
        return None if self.committed is None else max(0, self.log_end - self.committed)


@dataclass(frozen=True)
class GroupOffsets:
    """The groups of some partitions, or why they could not be had."""

    rows: Sequence[GroupOffset] = ()
    problem: str | None = None

    @property
    def groups(self) -> int:
        return len({row.group for row in self.rows})

    def frame(self, spark: SparkSession) -> DataFrame:
        """A row a group and partition."""
        if not self.rows:
            # Spark does not take an Arrow table that has no rows.
            return spark.createDataFrame([], from_arrow_schema(_SCHEMA))
        rows = [asdict(row) | {"lag": row.lag} for row in self.rows]
        return spark.createDataFrame(pa.Table.from_pylist(rows, _SCHEMA))


def read_group_offsets(client: Mapping[str, str], bounds: Mapping[TopicPartition, tuple[int, int]]) -> GroupOffsets:
    """The groups that read partitions, given by the first and the end offset of their logs."""
    consumer = read_options(ConsumerOptions, client, {})
    shared = {each.name: getattr(consumer, each.name) for each in fields(ClientOptions)}
    try:
        with Admin(None, **shared) as admin:
            found = [row for group in admin.list_groups() for row in _rows(admin, group, bounds)]
    except KafkaWireError as error:
        return GroupOffsets(problem=str(error))
    return GroupOffsets(found)


def _rows(admin: Admin, group: GroupListing, bounds: Mapping[TopicPartition, tuple[int, int]]) -> Iterator[GroupOffset]:
    committed = admin.list_group_offsets(group.group_id)
    owners: dict[TopicPartition, dict[str, Any]] = {}
    try:
        (description,) = admin.describe_groups([group.group_id])
    except GroupIdNotFoundError:  # it ended just now
        return
    for member in description.members:
        who = {"member": member.member_id, "client": member.client_id, "host": member.client_host}
        owners.update(dict.fromkeys(member.assignment, who))
    for place in sorted({*committed, *owners} & bounds.keys()):
        found = committed.get(place)
        offset = None if found is None else found.offset
        yield GroupOffset(group.group_id, description.state, *place, offset, *bounds[place], **owners.get(place, {}))
