"""The chapters of a report about live topics: what was read of them and who reads them; the rest is as of log files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kafkawire.spark.aggregates import SHOWN
from kafkawire.spark.chapters import Bars, Chapter, Grid, headings
from kafkawire.spark.report_segments import log_chapters

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.spark.chapters import Block
    from kafkawire.spark.group_offsets import GroupOffset, GroupOffsets
    from kafkawire.spark.summary import LogSummary
    from kafkawire.spark.topic_rules import PartitionRecords
    from kafkawire.spark.topics_input import ReadRange
    from kafkawire.spark.written import WrittenTables

_ROWS = 4 * SHOWN


def topic_chapters(
    tables: WrittenTables,
    summary: LogSummary,
    ranges: Sequence[ReadRange],
    read: Sequence[PartitionRecords],
    groups: GroupOffsets,
) -> list[Chapter]:
    """Everything that a report tells of topics besides the findings."""
    return [_input(tables, ranges, read, groups), *log_chapters(tables, summary), _groups(groups)]


def _input(
    tables: WrittenTables, ranges: Sequence[ReadRange], read: Sequence[PartitionRecords], groups: GroupOffsets
) -> Chapter:
    counted = {(each.topic, each.partition): each[2:] for each in read}
    grid = []
    for each in sorted(ranges, key=lambda each: (each.start - each.end, each))[:_ROWS]:
        offsets = each.end - each.start
        records, first, last = counted.get((each.topic, each.partition), (0, None, None))
        known = (records, offsets - records, first, last) if tables.has("records") else (None, None, None, None)
        grid.append([*each, offsets, *known])
    columns = headings(
        "topic | partition | log begins:count | read from:count | read to:count | log ends:count | offsets:count"
        " | records:count | offsets without a record:count | first:ms | last:ms"
    )
    lost = headings("what | offsets:count | why")
    blocks: list[Block] = [
        Grid("partitions", columns, grid, "Partitions"),
        Grid("not_read", lost, list(_not_read(ranges, groups))[:_ROWS], "Not read", "nothing: all that the logs held"),
    ]
    text = (
        "Offsets as they were when the run began. Offsets without a record are those of transaction markers, of aborted"
        " transactions where only committed records are read, and of what compaction took."
    )
    return Chapter("The input", text, blocks)


def _not_read(ranges: Sequence[ReadRange], groups: GroupOffsets) -> Iterator[list[Any]]:
    for each in ranges:
        if each.start > each.log_start:
            yield [f"{each.topic}-{each.partition}", each.start - each.log_start, f"before offset {each.start}"]
        if each.end < each.log_end:
            why = f"from offset {each.end} on: after the end asked for, or in transactions that are open"
            yield [f"{each.topic}-{each.partition}", each.log_end - each.end, why]
    if groups.problem:
        yield ["consumer groups", None, groups.problem]


def _groups(groups: GroupOffsets) -> Chapter:
    text = "What groups have committed for these topics, and how many offsets they were behind when the run began."
    rows = sorted(groups.rows, key=lambda row: (-(row.lag or 0), row.group, row.topic, row.partition))
    behind: dict[str, int] = {}
    for row in rows:
        behind[row.group] = behind.get(row.group, 0) + (row.lag or 0)
    blocks: list[Block] = []
    if any(behind.values()):
        most = sorted(behind.items(), key=lambda item: (-item[1], item[0]))[:SHOWN]
        blocks.append(Bars("lag_bars", "Offsets behind, by group", "count", most))
    columns = headings(
        "group | state | topic | partition | committed:count | log ends:count | behind:count | member | client | host"
    )
    empty = groups.problem or "no group has committed an offset of these topics, and no member reads them"
    blocks.append(Grid("group_offsets", columns, [_group_row(row) for row in rows[:_ROWS]], empty=empty))
    return Chapter("Groups", text, blocks)


def _group_row(row: GroupOffset) -> list[Any]:
    where = [row.group, row.state, row.topic, row.partition, row.committed, row.log_end, row.lag]
    return [*where, row.member, row.client, row.host]
