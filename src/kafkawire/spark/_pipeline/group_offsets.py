"""The committed offsets of consumer groups, and their lag.

Rules:
- Groups are described as administrators do it. Nothing joins a group, and nothing is committed.
- A group counts if it has committed an offset of one of the partitions, or one is assigned to a member of it.
- A missing permission, or a broker that does not answer, does not end the run; the error is reported instead.
- The lag is relative to the end of the log at the look-up. It is null without a committed offset.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema

from kafkawire.client.blocking import Admin
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ClientOptions, ConsumerOptions
from kafkawire.exceptions import KafkaWireError
from kafkawire.inspect import GroupOffset
from kafkawire.messages.errors import GroupIdNotFoundError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from kafkawire.client import GroupListing, TopicPartition

_TYPES: Final[Mapping[str, pa.DataType]] = {
    **dict.fromkeys(("group", "state", "topic"), pa.string()),
    "partition": pa.int32(),
    **dict.fromkeys(("committed", "log_start", "log_end", "lag"), pa.int64()),
    **dict.fromkeys(("member", "client", "host"), pa.string()),
}
_SCHEMA: Final = pa.schema(_TYPES)


@dataclass(frozen=True)
class GroupOffsets:
    """The groups of partitions, or the problem of the look-up."""

    rows: Sequence[GroupOffset] = ()
    problem: str | None = None

    @property
    def groups(self) -> int:
        return len({row.group for row in self.rows})

    def frame(self, spark: SparkSession) -> DataFrame:
        """One row per group and partition."""
        if not self.rows:
            # Spark does not accept an Arrow table without rows.
            return spark.createDataFrame([], from_arrow_schema(_SCHEMA))
        rows = [asdict(row) | {"lag": row.lag} for row in self.rows]
        return spark.createDataFrame(pa.Table.from_pylist(rows, _SCHEMA))


def read_group_offsets(client: Mapping[str, str], bounds: Mapping[TopicPartition, tuple[int, int]]) -> GroupOffsets:
    """The groups of partitions, which are given with the first and the end offset of their logs."""
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
    except GroupIdNotFoundError:  # the group was deleted meanwhile
        return
    for member in description.members:
        who = {"member": member.member_id, "client": member.client_id, "host": member.client_host}
        owners.update(dict.fromkeys(member.assignment, who))
    for place in sorted({*committed, *owners} & bounds.keys()):
        found = committed.get(place)
        offset = None if found is None else found.offset
        yield GroupOffset(group.group_id, description.state, *place, offset, *bounds[place], **owners.get(place, {}))
