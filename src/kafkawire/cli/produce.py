"""`kafkawire produce`: lines of standard input, or files, as records."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kafkawire.cli.clients import add_client_options, client_config, ending_in_order, pair
from kafkawire.cli.commands import UsageError
from kafkawire.cli.progress import Progress
from kafkawire.cli.record_formats import unescape

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kafkawire.client.delivery import Delivery

HELP = "send lines of standard input, or files, to a topic"
EXAMPLES = (
    "echo hello | kafkawire produce orders",
    "kafkawire produce orders -K: -z lz4 < key-value-lines.txt",
    "kafkawire produce orders document.json -H source=import -k 42",
)
_CHUNK = 1 << 20
_LOOK_BACK = 50_000
_PATIENCE_MS = 10_000  # who waits at a terminal wants to know sooner than a program that a topic is not there


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC")
    parser.add_argument("files", nargs="*", metavar="FILE", help="each file is one record, unless -l is given")
    parser.add_argument("-t", dest="topic_option", metavar="TOPIC", help="the topic, as kcat takes it")
    parser.add_argument("-p", dest="partition", type=int, help="the partition (default: by key, or spread)")
    parser.add_argument("-k", dest="key", help="the key of every record")
    parser.add_argument("-K", dest="key_delimiter", metavar="DELIM", help="what stands between key and value")
    parser.add_argument("-D", dest="delimiter", default="\\n", metavar="DELIM", help="what ends a record (default \\n)")
    parser.add_argument("-H", dest="headers", action="append", default=[], metavar="NAME=VALUE", help="add a header")
    parser.add_argument("-z", dest="codec", help="compression: gzip, snappy, lz4 or zstd")
    parser.add_argument("-Z", dest="null_if_empty", action="store_true", help="an empty key or value is null")
    parser.add_argument("-l", dest="lines", action="store_true", help="read the files by records, as standard input")
    parser.add_argument("-q", dest="quiet", action="store_true", help="do not say how many records were sent")
    add_client_options(parser)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Producer

    topic = args.topic_option or args.topic
    if topic is None:
        raise UsageError("which topic? kafkawire produce TOPIC")
    files = args.files if args.topic_option is None or args.topic is None else [args.topic, *args.files]
    headers = [(name, value.encode()) for name, value in (pair(text, "-H") for text in args.headers)]
    config = client_config(args, compression_type=args.codec, linger_ms=5, max_block_ms=_PATIENCE_MS)
    pending: list[Delivery] = []
    count = 0
    typed = not files and sys.stdin.isatty()
    with (
        ending_in_order(),
        Producer(config) as producer,
        Progress("sending", stream=io.StringIO() if typed else None) as progress,
    ):
        for key, value in _records(args, files):
            pending.append(producer.send(topic, value, key, partition=args.partition, headers=headers))
            count += 1
            progress.advance(1)
            if len(pending) >= _LOOK_BACK:
                _settle(pending)
        producer.flush()
        _settle(pending)
    if not args.quiet and sys.stderr.isatty():
        print(f"{count} records sent to {topic}", file=sys.stderr)
    return 0


def _settle(pending: list[Delivery]) -> None:
    for future in pending:
        future.result()
    pending.clear()


def _records(args: argparse.Namespace, files: list[str]) -> Iterator[tuple[bytes | None, bytes | None]]:
    fixed = None if args.key is None else args.key.encode()
    between = None if args.key_delimiter is None else unescape(args.key_delimiter)
    for data in _raw_records(args, files):
        key, value = fixed, data
        if between is not None:
            first, found, rest = data.partition(between)
            if found:
                key, value = first, rest
        if args.null_if_empty:
            yield key or None, value or None
        else:
            yield key, value


def _raw_records(args: argparse.Namespace, files: list[str]) -> Iterator[bytes]:
    delimiter = unescape(args.delimiter)
    if not delimiter:
        raise UsageError("-D: expected at least one character")
    if not files:
        yield from _split(sys.stdin.buffer, delimiter)
    for name in files:
        if args.lines:
            with Path(name).open("rb") as stream:
                yield from _split(stream, delimiter)
        else:
            yield Path(name).read_bytes()


def _split(stream: BinaryIO, delimiter: bytes) -> Iterator[bytes]:
    rest = b""
    # read1 hands on what has come, so that a pipe's records go out as they are written
    while chunk := (stream.read1(_CHUNK) if hasattr(stream, "read1") else stream.read(_CHUNK)):
        *whole, rest = (rest + chunk).split(delimiter)
        yield from whole
    if rest:
        yield rest
