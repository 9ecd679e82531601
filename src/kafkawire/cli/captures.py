"""What commands over captures and log directories share: which files to read, and what to say of them first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from kafkawire.cli import output
from kafkawire.cli.commands import UsageError
from kafkawire.cli.progress import Progress
from kafkawire.inspect.capture import Reading, read_captures
from kafkawire.inspect.directories import read_directories
from kafkawire.inspect.sources.segments import find_partitions
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    import argparse

_SUFFIXES = (".pcap", ".pcapng", ".cap")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what to read."""
    parser.add_argument(
        "inputs", nargs="+", type=Path, metavar="FILE|DIR", help="captures, directories of them, or log directories"
    )
    parser.add_argument("-p", "--port", action="append", type=int, help="only connections that use this port")
    parser.add_argument("--topics", type=Path, metavar="FILE", help="lines `ID NAME`, for topics known by id only")
    parser.add_argument("--log-dir", type=Path, metavar="DIR", help="take topic ids from this log directory")


def read_inputs(args: argparse.Namespace, *, records: bool = False, values: bool = False) -> Reading:
    """Read the captures and log directories that the arguments name."""
    captures, logs = _sorted_out(args.inputs)
    topics = TopicNames()
    if args.topics is not None:
        topics.learn_file(args.topics)
    for folder in (*logs, *([] if args.log_dir is None else [args.log_dir])):
        topics.learn_directories(folder)
    ports = set(args.port) if args.port else None
    with Progress("reading exchanges") as progress:
        reading = read_captures(
            captures, ports=ports, records=records, values=values, topics=topics, progress=progress.advance
        )
    if logs:
        total = sum(path.stat().st_size for folder in logs for path in folder.rglob("*.log"))
        with Progress("reading logs", total, unit="bytes") as progress:
            stored = read_directories(logs, records=records, values=values, progress=progress.advance)
        for name, table in stored.items():
            known = reading.tables.get(name)
            reading.tables[name] = table if known is None else pa.concat_tables([known, table])
    return reading


def _sorted_out(inputs: list[Path]) -> tuple[list[Path], list[Path]]:
    """The captures and the log directories among the inputs."""
    captures: list[Path] = []
    logs: list[Path] = []
    for path in inputs:
        if path.suffix == ".log" and path.stem.isdecimal():
            raise UsageError(f"{path}: name the directory of the log, or see `kafkawire log dump`")
        if not path.is_dir():
            captures.append(path)
            continue
        found = [each for each in sorted(path.iterdir()) if _is_capture(each)]
        if not found and not find_partitions(path):
            raise UsageError(f"{path}: neither captures ({', '.join(_SUFFIXES)}) nor partitions in this directory")
        captures += found
        logs += [] if found else [path]
    return captures, logs


def _is_capture(path: Path) -> bool:
    return path.is_file() and any(suffix in _SUFFIXES for suffix in path.suffixes)


def print_summary(reading: Reading) -> None:
    """Print what was read: packets, connections, time, what is missing; partitions and batches of logs."""
    files = reading.tables["segment_files"].to_pylist() if "segment_files" in reading.tables else []
    if files:
        partitions = {(row["topic"], row["partition"]) for row in files}
        bad = sum(row["state"] in ("damaged", "cut") for row in files)
        batches = sum(row["entries"] for row in files if row["kind"] == "log")
        size = output.human_size(sum(row["bytes"] for row in files))
        text = f"{len(partitions)} partitions, {len(files)} files of {size}, {batches} batches, {bad} files damaged"
        output.print_fields({"logs": text})
    if not reading.packets and files:
        return
    connections = reading.tables["connections"].to_pylist()
    kinds: dict[str, int] = {}
    for row in connections:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
    times = [row["t_first"] for row in connections if row["t_first"]]
    ends = [row["t_last"] for row in connections if row["t_last"]]
    fields: dict[str, object] = {
        "packets": f"{reading.packets} TCP packets in {reading.files} files",
        "connections": f"{len(connections)} ({told})" if connections else 0,
        "exchanges": len(reading.tables["exchanges"]),
    }
    if times:
        fields["time"] = f"{min(times):%Y-%m-%d %H:%M:%S} to {max(ends):%H:%M:%S} UTC"
    missing = sum(row["missing_bytes"] for row in connections)
    skipped = sum(row["skipped_bytes"] for row in connections if row["kind"] == "kafka")
    if missing or skipped:
        fields["gaps"] = f"{missing} bytes missing from the capture, {skipped} bytes in no frame (--table gaps)"
    encrypted = kinds.get("tls", 0)
    if encrypted:
        fields["tls"] = f"{encrypted} connections are encrypted; decrypt them elsewhere, or record with kafkawire proxy"
    output.print_fields(fields)
