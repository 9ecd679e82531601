"""`kafkawire demo`: the pipeline end to end, on data that it makes itself and checks itself."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kafkawire.cli import output
from kafkawire.cli.pipeline import print_columns, print_places, print_summary, run_segments
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import argparse

    import pyarrow as pa

    from kafkawire.spark.sample import Sample

HELP = "write log files of every format, run the pipeline over them, and prove that nothing was lost"
EXAMPLES = ("kafkawire demo --out demo",)
_MARK = "kafkawire-demo.json"
# So little data is read before the optimising compiler has done its work.
_SETTINGS = {"spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1"}
_SHOWN = ("topic", "partition", "offset", "timestamp", "key", "value")


class DemoError(KafkaWireError):
    """The demo cannot run here, or its result is not what went in."""


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--out", type=Path, default=Path("demo"), metavar="DIR", help="where it goes (default: demo)")
    parser.add_argument("--master", metavar="URL", help="Spark's master (default: all of this machine)")


def run(args: argparse.Namespace) -> int:
    from kafkawire.spark.sample import write_sample
    from kafkawire.spark.session import require_spark

    require_spark()
    logs, tables = _claim(args.out)
    sample = write_sample(logs)
    _tell_sample(sample)
    summary = run_segments([str(logs)], tables, overwrite=True, master=args.master, settings=_SETTINGS)
    print(f"\n{output.coloured('The pipeline on Spark', 'bold')}")
    print_summary(summary)
    found = read_records(tables / "records")
    difference = first_difference(sample.expected, found)
    if difference or summary.faults:
        raise DemoError(f"what came out is not what went in: {difference or f'{summary.faults} faults'}")
    proof = f"All {found.num_rows} records came out as they went in: key, value, headers, time and offset of each."
    print(f"\n{output.coloured(proof, 'green')}\n")
    _print_some(found)
    print(f"\n{'log files:':<10} {logs}")
    print_places(tables, ("batches", "records"), summary)
    return 0


def _claim(out: Path) -> tuple[Path, Path]:
    """The directories of a demo, emptied of an earlier one; a directory that holds anything else is left alone."""
    mark = out / _MARK
    if out.exists() and not out.is_dir():
        raise DemoError(f"{out} is a file; give a directory with --out")
    if out.is_dir() and any(out.iterdir()) and not mark.exists():
        raise DemoError(f"{out} is not empty and holds no earlier demo; give another directory with --out")
    out.mkdir(parents=True, exist_ok=True)
    mark.write_text(json.dumps({"what": "made by `kafkawire demo`, which replaces logs and tables beside this file"}))
    for name in ("logs", "tables"):
        shutil.rmtree(out / name, ignore_errors=True)
    return out / "logs", out / "tables"


def _tell_sample(sample: Sample) -> None:
    print(output.coloured("Log files with known content, as Kafka lays them out", "bold"))
    rows = []
    for writer in sample.partitions:
        files = sorted(writer.directory.glob("*.log"))
        size = sum(file.stat().st_size for file in files)
        rows.append((str(writer.directory), len(files), len(writer.rows), output.human_size(size)))
    output.print_rows(("directory", "files", "records", "size"), rows)


def read_records(path: Path) -> pa.Table:
    """The records table as it lies on disk, read without Spark."""
    import pyarrow as pa
    from pyarrow import dataset

    by_topic = dataset.partitioning(pa.schema([("topic", pa.string())]), flavor="hive")
    return dataset.dataset(path, format="parquet", partitioning=by_topic).to_table()


def first_difference(expected: pa.Table, found: pa.Table) -> str | None:
    """Where two tables of records differ first, None where they are equal."""
    if expected.num_rows != found.num_rows:
        return f"{expected.num_rows} records were written, {found.num_rows} were read"
    order: list[tuple[str, Literal["ascending", "descending"]]] = [
        (name, "ascending") for name in ("topic", "partition", "offset")
    ]
    wanted = expected.sort_by(order)
    got = found.select(expected.schema.names).sort_by(order)
    for name in expected.schema.names:
        pairs = zip(wanted[name].to_pylist(), got[name].to_pylist(), strict=True)
        for row, (one, other) in enumerate(pairs):
            if one != other:
                place = "-".join(str(wanted[part][row].as_py()) for part in ("topic", "partition"))
                return f"{place} offset {wanted['offset'][row].as_py()}: {name} was {one!r}, is {other!r}"
    return None


def _print_some(found: pa.Table) -> None:
    some = found.take(list(range(0, found.num_rows, max(1, found.num_rows // 5)))).to_pylist()[:5]
    for row in some:
        for name in ("key", "value"):
            text = row[name]
            row[name] = (
                None if text is None else text[:32].decode("utf-8", "replace") + ("..." if len(text) > 32 else "")
            )
        has_time = row["timestamp_type"] >= 0
        row["timestamp"] = row["timestamp"].isoformat(" ", "milliseconds").removesuffix("+00:00") if has_time else None
    print_columns(_SHOWN, some)
