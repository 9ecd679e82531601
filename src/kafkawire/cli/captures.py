"""What commands over captures share: which files to read, and what to say of them first."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.cli import output
from kafkawire.cli.commands import UsageError
from kafkawire.cli.progress import Progress
from kafkawire.inspect.capture import Reading, read_captures
from kafkawire.inspect.topics import TopicNames

if TYPE_CHECKING:
    import argparse

_SUFFIXES = (".pcap", ".pcapng", ".cap")


def add_inputs(parser: argparse.ArgumentParser) -> None:
    """The arguments that say what to read."""
    parser.add_argument("inputs", nargs="+", type=Path, metavar="FILE|DIR", help="captures, or directories of them")
    parser.add_argument("-p", "--port", action="append", type=int, help="only connections that use this port")
    parser.add_argument("--topics", type=Path, metavar="FILE", help="lines `ID NAME`, for topics known by id only")
    parser.add_argument("--log-dir", type=Path, metavar="DIR", help="take topic ids from this log directory")


def read_inputs(args: argparse.Namespace, *, records: bool = False, values: bool = False) -> Reading:
    """Read the captures that the arguments name."""
    topics = TopicNames()
    if args.topics is not None:
        topics.learn_file(args.topics)
    if args.log_dir is not None:
        topics.learn_directories(args.log_dir)
    ports = set(args.port) if args.port else None
    with Progress("reading exchanges") as progress:
        return read_captures(
            _files(args.inputs), ports=ports, records=records, values=values, topics=topics, progress=progress.advance
        )


def _files(inputs: list[Path]) -> list[Path]:
    files: list[Path] = []
    for path in inputs:
        if not path.is_dir():
            files.append(path)
            continue
        found = [each for each in sorted(path.iterdir()) if _is_capture(each)]
        if not found:
            raise UsageError(f"{path}: no captures ({', '.join(_SUFFIXES)}) in this directory")
        files += found
    return files


def _is_capture(path: Path) -> bool:
    return path.is_file() and any(suffix in _SUFFIXES for suffix in path.suffixes)


def print_summary(reading: Reading) -> None:
    """Print what was read: packets, connections, time, and what is missing."""
    connections = reading.tables["connections"].to_pylist()
    kinds: dict[str, int] = {}
    for row in connections:
        kinds[row["kind"]] = kinds.get(row["kind"], 0) + 1
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items(), key=lambda item: -item[1]))
    times = [row["t_first"] for row in connections if row["t_first"]]
    ends = [row["t_last"] for row in connections if row["t_last"]]
    fields: dict[str, object] = {
        "packets": f"{reading.packets} TCP packets in {len({row['file'] for row in connections})} files",
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
