"""Options of commands that inspect captures and log directories: inputs and thresholds; and a summary of the inputs."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire.cli._support import output
from kafkawire.cli._support.clients import pair
from kafkawire.cli._support.numbers import port
from kafkawire.cli._support.output import Progress
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from kafkawire.inspect import Reading, Thresholds

_SUFFIXES = (".pcap", ".pcapng", ".cap")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """Add the arguments for the inputs to a command."""
    parser.add_argument(
        "inputs", nargs="+", type=Path, metavar="FILE|DIR", help="captures, directories of them, or log directories"
    )
    parser.add_argument(
        "-p", "--port", action="append", type=port, help="read only connections that use this port; can be repeated"
    )
    parser.add_argument(
        "--topics",
        type=Path,
        metavar="FILE",
        help="file with lines `ID NAME`, the names of topics that the traffic names by id",
    )
    parser.add_argument("--log-dir", type=Path, metavar="DIR", help="log directory from which topic ids are read")


def add_set_option(parser: argparse.ArgumentParser) -> None:
    """Add --set to a command."""
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set a threshold of the rules, which docs/inspect.md lists; can be repeated",
    )


def read_thresholds(settings: Iterable[str]) -> Thresholds:
    """The thresholds with these settings. An unknown name raises an error that suggests the closest one.

    >>> read_thresholds(["slow_ms=200"]).slow_ms
    200.0
    """
    from dataclasses import fields, replace
    from difflib import get_close_matches

    from kafkawire.inspect import Thresholds

    limits = Thresholds()
    known = [each.name for each in fields(Thresholds)]
    for setting in settings:
        name, value = pair(setting, "--set")
        if name not in known:
            close = get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"; did you mean {close[0]}?" if close else f"; expected one of {', '.join(sorted(known))}"
            raise UsageError(f"--set {setting}: no threshold {name!r}{hint}")
        kind = type(getattr(limits, name))
        try:
            limits = replace(limits, **{name: kind(value)})
        except ValueError:
            raise UsageError(f"--set {setting}: expected {'a whole number' if kind is int else 'a number'}") from None
    return limits


@contextmanager
def without_collections() -> Iterator[None]:
    """Keep the garbage collector off: rows live until the end, and visiting millions of them takes long."""
    import gc

    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def read_inputs(
    args: argparse.Namespace,
    *,
    partitions: bool = True,
    transactions: bool = True,
    records: bool = False,
    values: bool = False,
) -> Reading:
    """Read the captures and log directories that the arguments name; which tables, as in `read_captures`."""
    import pyarrow as pa

    from kafkawire.inspect import TopicNames, read_captures

    captures, logs = _split(args.inputs)
    topics = TopicNames()
    if args.topics is not None:
        topics.learn_file(args.topics)
    for folder in (*logs, *([] if args.log_dir is None else [args.log_dir])):
        topics.learn_directories(folder)
    ports = set(args.port) if args.port else None
    with Progress("reading exchanges") as progress:
        reading = read_captures(
            captures,
            ports=ports,
            partitions=partitions,
            transactions=transactions,
            records=records,
            values=values,
            topics=topics,
            progress=progress.advance,
        )
    if logs:
        from kafkawire.inspect import read_directories

        total = sum(path.stat().st_size for folder in logs for path in folder.rglob("*.log"))
        with Progress("reading logs", total, unit="bytes") as progress:
            stored = read_directories(logs, records=records, values=values, progress=progress.advance)
        for name, table in stored.items():
            known = reading.tables.get(name)
            reading.tables[name] = table if known is None else pa.concat_tables([known, table])
    return reading


def is_traffic(args: argparse.Namespace) -> bool:
    """Whether the inputs have captures."""
    return bool(_split(args.inputs)[0])


def page_source(args: argparse.Namespace) -> Any:
    """The inputs as a source of the page: the captures, or else the log directories."""
    from kafkawire.web import CaptureSource, LogSource

    captures, logs = _split(args.inputs)
    return CaptureSource(captures, reading=read_inputs(args)) if captures else LogSource(logs)


def _split(inputs: list[Path]) -> tuple[list[Path], list[Path]]:
    """The captures and the log directories among the inputs."""
    captures: list[Path] = []
    logs: list[Path] = []
    for path in inputs:
        if path.suffix == ".log" and path.stem.isdecimal():
            raise UsageError(f"{path}: expected the directory of the log; `kafkawire log dump` reads single files")
        if not path.is_dir():
            captures.append(path)
            continue
        from kafkawire.inspect import find_partitions

        found = [each for each in sorted(path.iterdir()) if _is_capture(each)]
        if not found and not find_partitions(path):
            raise UsageError(f"{path}: neither captures ({', '.join(_SUFFIXES)}) nor partitions in this directory")
        captures += found
        logs += [] if found else [path]
    return captures, logs


def _is_capture(path: Path) -> bool:
    return path.is_file() and any(suffix in _SUFFIXES for suffix in path.suffixes)


def print_summary(reading: Reading) -> None:
    """Print a summary of the inputs: packets, connections, time and gaps; partitions and batches of logs."""
    files = reading.tables["segment_files"].to_pylist() if "segment_files" in reading.tables else []
    if files:
        partitions = {(row["topic"], row["partition"]) for row in files}
        bad = sum(row["state"] in ("damaged", "cut") for row in files)
        batches = sum(row["entries"] for row in files if row["kind"] == "log")
        size = output.human_size(sum(row["size"] for row in files))
        text = f"{len(partitions)} partitions, {len(files)} files of {size}, {batches} batches, {bad} files damaged"
        output.print_fields({"logs": text})
    if not reading.packets and files:
        return
    connections = reading.tables["connections"].to_pylist()
    kinds: dict[str, int] = {}
    for row in connections:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    listed = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
    times = [row["t_first"] for row in connections if row["t_first"]]
    ends = [row["t_last"] for row in connections if row["t_last"]]
    fields: dict[str, object] = {
        "packets": f"{reading.packets} TCP packets in {reading.files} {'file' if reading.files == 1 else 'files'}",
        "connections": f"{len(connections)} ({listed})" if connections else 0,
        "exchanges": len(reading.tables["exchanges"]),
    }
    if times:
        fields["time"] = f"{min(times):%Y-%m-%d %H:%M:%S} to {max(ends):%H:%M:%S} UTC"
    missing = sum(row["missing_bytes"] for row in connections)
    skipped = sum(row["skipped_bytes"] for row in connections if row["kind"] == "kafka")
    if missing or skipped:
        fields["gaps"] = f"{missing} bytes missing from the capture, {skipped} bytes outside of frames (--table gaps)"
    encrypted = kinds.get("tls", 0)
    if encrypted:
        fields["tls"] = f"{encrypted} connections are encrypted; record the traffic with kafkawire proxy instead"
    output.print_fields(fields)
