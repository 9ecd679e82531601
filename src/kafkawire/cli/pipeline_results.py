"""What `kafkawire pipeline` prints of a run: its numbers, its findings, and where its results are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.cli import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kafkawire.spark.summary import Summary

STYLES: Final[dict[str, output.Style]] = {"error": "red", "warning": "yellow", "info": "blue"}
_NUMBERS: Final = (
    *("offsets", "packets", "connections", "tls_connections", "exchanges", "undecoded", "unanswered"),
    *("batches", "records", "tombstones"),
)


def print_summary(summary: Summary) -> None:
    """The numbers of a run, for people."""
    from kafkawire.spark.summary import SegmentsSummary, readable_time

    first, last = readable_time(summary.first_timestamp), readable_time(summary.last_timestamp)
    told = summary.as_dict()
    files = None
    if summary.files is not None:
        files = f"{summary.files} ({output.human_size(summary.bytes or 0)})"
    if isinstance(summary, SegmentsSummary):
        files = f"{files} of {summary.partitions} partitions, {summary.topics} topics"
    fields = {
        "files": files,
        **({"topics": told["topics"], "partitions": told["partitions"]} if "offsets" in told else {}),
        **{name.replace("_", " "): told.get(name) for name in _NUMBERS},
        "time": f"{first} to {last}" if first else None,
        "missing": _missing(told),
        "groups": told.get("groups"),
        "faults": (told["faults"] or "none") if "faults" in told else None,
        "index errors": told.get("index_errors"),
        "took": f"{summary.seconds:.1f} s",
    }
    output.print_fields({name: value for name, value in fields.items() if value is not None})
    for columns, rows in (
        (("magic", "codec", "batches", "records", "bytes"), told.get("formats")),
        (("file", "position", "size", "fault"), told.get("fault_examples")),
    ):
        if rows:
            print()
            print_columns([name for name in columns if name in rows[0]], rows)


def _missing(told: Mapping[str, int]) -> str | None:
    missing, skipped = told.get("missing_bytes"), told.get("skipped_bytes")
    if not missing and not skipped:
        return None
    return f"{missing} bytes missing from the captures, {skipped} bytes in no frame"


def print_findings(summary: Summary) -> None:
    """What is wrong, the worst first; the report tells all of it."""
    if summary.findings is None:
        print("findings: not looked for, without the tables that rules look at\n")
        return
    total = sum(summary.findings.values())
    if not total:
        print("findings: none\n")
        return
    for row in summary.worst:
        head = output.coloured(f"{row['level']:<8}", STYLES[row["level"]])
        print(f"{head} {row['rule']}: {output.visible(row['text'])}")
    if total > len(summary.worst):
        print(f"and {total - len(summary.worst)} more")
    print()


def print_places(out: Path | str, tables: Sequence[str], summary: Summary) -> None:
    """Where the results of a run are."""
    extra = [table for table in ("faults", "group_offsets", "findings") if summary.rows_of(table) is not None]
    width = max(len(name) for name in (*tables, *extra, "manifest")) + 1
    for table in [*tables, *extra]:
        print(f"{table + ':':<{width}} {out}/{table}")
    print(f"{'manifest:':<{width}} {out}/manifest.json")
    print(f"{'report:':<{width}} {out}/report.html")


def print_columns(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Some columns of rows as a table."""
    output.print_rows(columns, ([row[name] for name in columns] for row in rows))
