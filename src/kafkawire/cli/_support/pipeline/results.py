"""The result of `kafkawire pipeline`: the numbers of a run, its findings, and the places of its output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.cli._support import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from kafkawire.spark import Summary

STYLES: Final[dict[str, output.Style]] = {"error": "red", "warning": "yellow", "info": "blue"}
_NUMBERS: Final = (
    *("offsets", "packets", "connections", "tls_connections", "exchanges", "undecoded", "unanswered"),
    *("batches", "records", "tombstones"),
)


def print_summary(summary: Summary) -> None:
    """Print the numbers of a run."""
    from kafkawire.spark import SegmentsSummary, readable_time

    first, last = readable_time(summary.first_timestamp), readable_time(summary.last_timestamp)
    numbers = summary.as_dict()
    files = None
    if summary.files is not None:
        files = f"{summary.files} ({output.human_size(summary.bytes or 0)})"
    if isinstance(summary, SegmentsSummary):
        files = f"{files} of {summary.partitions} partitions, {summary.topics} topics"
    fields = {
        "files": files,
        **({"topics": numbers["topics"], "partitions": numbers["partitions"]} if "offsets" in numbers else {}),
        **{name.replace("_", " "): numbers.get(name) for name in _NUMBERS},
        "time": f"{first} to {last}" if first else None,
        "missing": _missing(numbers),
        "groups": numbers.get("groups"),
        "faults": (numbers["faults"] or "none") if "faults" in numbers else None,
        "index errors": numbers.get("index_errors"),
        "took": f"{summary.seconds:.1f} s",
    }
    output.print_fields({name: value for name, value in fields.items() if value is not None})
    for columns, rows in (
        (("magic", "codec", "batches", "records", "bytes"), numbers.get("formats")),
        (("file", "position", "size", "fault"), numbers.get("fault_examples")),
    ):
        if rows:
            print()
            print_columns([name for name in columns if name in rows[0]], rows)


def _missing(numbers: Mapping[str, int]) -> str | None:
    missing, skipped = numbers.get("missing_bytes"), numbers.get("skipped_bytes")
    if not missing and not skipped:
        return None
    return f"{missing} bytes missing from the captures, {skipped} bytes outside of frames"


def print_findings(summary: Summary) -> None:
    """Print the findings, the worst first. The report has all of them."""
    if summary.findings is None:
        print("findings: no rules ran, because their tables were not written\n")
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
    """Print the places of the output."""
    extra = [table for table in ("faults", "group_offsets", "findings") if summary.rows_of(table) is not None]
    width = max(len(name) for name in (*tables, *extra, "manifest")) + 1
    for table in [*tables, *extra]:
        print(f"{table + ':':<{width}} {out}/{table}")
    print(f"{'manifest:':<{width}} {out}/manifest.json")
    print(f"{'report:':<{width}} {out}/report.html")


def print_columns(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> None:
    """Some columns of rows as a table."""
    output.print_rows(columns, ([row[name] for name in columns] for row in rows))
