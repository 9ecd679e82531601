"""`kafkawire pipeline compact`, and the compaction of a running stream.

Rules:
- The command and a stream exclude each other by the lock of the directory.
- A stream compacts Delta and Iceberg by default. Parquet is compacted only if `--compact-every` asks for it, because a
  second stream that reads the files would read merged ones again.
- A stream that is asked to compact tables that cannot be compacted where they are fails at its start.
- Parquet is compacted without Spark; Delta and Iceberg need a session with their jars.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Final

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import pair
from kafkawire.cli._support.pipeline.sessions import (
    is_remote,
    log_file_for,
    open_session,
    require_spark_for,
    storage_at,
)
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse

    from pyspark.sql import SparkSession

    from kafkawire.cli._support.pipeline.sessions import How
    from kafkawire.spark import OutputDirectory, Storage

_NEVER: Final = "never"
_DEFAULT: Final = "1h"
_SIZE: Final = "128m"


def add_stream_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of a stream that compacts its tables."""
    parser.add_argument(
        "--compact-every",
        metavar="TIME",
        help="merge the small files of the tables between two triggers, this often, and when the stream ends by itself"
        f" (default {_DEFAULT} for Delta and Iceberg, {_NEVER} for Parquet: a second stream that reads its files would"
        " read merged ones again)",
    )
    _add_size(parser)


def add_compact_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument("out", metavar="DIR", help="the output directory of a run or a stream, or a URL")
    _add_size(parser)
    parser.add_argument("--table", action="append", help="compact only this table; can be repeated (default: all)")
    parser.add_argument(
        "--format", choices=("parquet", "delta", "iceberg"), help="format of the tables, only needed for a URL"
    )
    parser.add_argument("--master", metavar="URL", help="Delta, Iceberg: Spark master (default: all cores here)")
    parser.add_argument(
        "--conf", action="append", default=[], metavar="NAME=VALUE", help="Spark setting; can be repeated"
    )
    output.add_json_option(parser)


def _add_size(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file-size",
        default=_SIZE,
        metavar="SIZE",
        help=f"merge files that are smaller than this into files of about this size (default {_SIZE})",
    )


def file_size(text: str) -> int:
    """The bytes of `--file-size`."""
    from kafkawire.spark import parse_size

    return parse_size("--file-size", text)


def check_interval(text: str | None) -> float | None:
    """The seconds of `--compact-every`; None for never."""
    from kafkawire.spark import duration

    if text == _NEVER:
        return None
    seconds = duration("--compact-every", text or _DEFAULT)
    if not seconds:
        raise UsageError(f"--compact-every {text!r}: expected a time such as 10m, or {_NEVER}")
    return seconds


def interval_for(text: str | None, storage: Storage, table_format: str) -> float | None:
    """The seconds between two compactions of a stream; None if it does not compact."""
    from kafkawire.spark import is_compactable

    seconds = check_interval(text)
    is_default = table_format != "parquet" and is_compactable(storage, table_format)
    return seconds if text is not None or is_default else None


def compact(args: argparse.Namespace) -> int:
    """Run the command."""
    from kafkawire.spark import LocalStorage, OutputDirectory, format_of

    size = file_size(args.file_size)
    if is_remote(args.out) and args.format is None:
        raise UsageError("--format is needed for a URL: delta or iceberg")
    with ExitStack() as stack:
        local = None if is_remote(args.out) else OutputDirectory.reopen(LocalStorage(Path(args.out)))
        if local:
            stack.callback(local.storage.unlock)
        formats = (
            [args.format] if local is None else sorted({format_of(local.storage, each) for each in _tables(local)})
        )
        lakes = [each for each in formats if each in ("delta", "iceberg")]
        spark = None
        if lakes or local is None:
            how: How = {
                "master": args.master,
                "settings": dict(pair(text, "--conf") for text in args.conf),
                "table_format": lakes[0] if lakes else "parquet",
            }
            require_spark_for(how)
            spark = stack.enter_context(open_session(how, log_file_for(args.out)))
            local = local or OutputDirectory.reopen(storage_at(spark, args.out))
        assert local is not None
        _compact_tables(local, spark, size, args)
    return 0


def _compact_tables(
    directory: OutputDirectory, spark: SparkSession | None, size: int, args: argparse.Namespace
) -> None:
    from kafkawire.spark import compact_table

    there = _tables(directory)
    missing = sorted(set(args.table or ()) - set(there))
    if missing:
        raise UsageError(f"--table {missing[0]}: {directory.root} has {', '.join(there) or 'no tables'}")
    done = []
    for table in args.table or there:
        found = compact_table(directory.storage, table, spark, size)
        if found is not None:
            done.append(found)
    if args.json:
        output.print_json([asdict(each) for each in done])
    elif done:
        rows = ([each.table, each.format, each.before, each.after] for each in done)
        output.print_rows(("table", "format", "files", "became"), rows)
    else:
        print("no table has small files that are worth a merge")


def _tables(directory: OutputDirectory) -> list[str]:
    from kafkawire.spark import format_of

    return [table for table in directory.tables() if format_of(directory.storage, table)]
