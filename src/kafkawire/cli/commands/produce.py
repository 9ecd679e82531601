"""`kafkawire produce`: sends lines of standard input, or files, as records."""

from __future__ import annotations

import io
import sys
from contextlib import nullcontext
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from kafkawire.cli._support.clients import add_client_options, client_config, ending_in_order, pair
from kafkawire.cli._support.numbers import count, positive
from kafkawire.cli._support.output import Progress
from kafkawire.cli._support.record_formats import unescape
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from kafkawire.client import Delivery

    _Record = tuple[bytes | None, bytes | None]

HELP = "send lines of standard input, or files, to a topic"
EXAMPLES = (
    "echo hello | kafkawire produce orders",
    "kafkawire produce orders -K: -z lz4 < key-value-lines.txt",
    "kafkawire produce orders document.json -H source=import -k 42",
    "kafkawire produce orders --transactional-id import-7 < lines.txt",
)
_CHUNK = 1 << 20
_LOOK_BACK = 50_000
_PATIENCE_MS = 10_000  # at a terminal, a missing topic should fail sooner than in a program


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topic", nargs="?", metavar="TOPIC")
    parser.add_argument("files", nargs="*", metavar="FILE", help="send each file as one record; with -l, as lines")
    parser.add_argument("-t", dest="topic_option", metavar="TOPIC", help="same as TOPIC")
    parser.add_argument("-p", dest="partition", type=count, help="partition (default: by key; without a key, spread)")
    parser.add_argument("-k", dest="key", help="key of every record")
    parser.add_argument("-K", dest="key_delimiter", metavar="DELIM", help="separator of key and value")
    parser.add_argument(
        "-D", dest="delimiter", default="\\n", metavar="DELIM", help="separator of records (default \\n)"
    )
    parser.add_argument(
        "-H", dest="headers", action="append", default=[], metavar="NAME=VALUE", help="add a header; can be repeated"
    )
    parser.add_argument("-z", dest="codec", help="compression codec: gzip, snappy, lz4 or zstd")
    parser.add_argument("-Z", dest="null_if_empty", action="store_true", help="send an empty key or value as null")
    parser.add_argument("-l", dest="lines", action="store_true", help="split the files into records, as standard input")
    parser.add_argument(
        "--transactional-id",
        metavar="ID",
        help="send the records in one transaction, which is committed at the end of the input",
    )
    parser.add_argument(
        "--commit-every",
        type=positive,
        metavar="N",
        help="with a transactional id, commit after every N records and begin another transaction",
    )
    parser.add_argument("-q", dest="quiet", action="store_true", help="do not print the number of records")
    add_client_options(parser)


def run(args: argparse.Namespace) -> int:
    from kafkawire.client.blocking import Producer

    topic = args.topic_option or args.topic
    if topic is None:
        raise UsageError("no topic: expected kafkawire produce TOPIC")
    files = args.files if args.topic_option is None or args.topic is None else [args.topic, *args.files]
    headers = [(name, value.encode()) for name, value in (pair(text, "-H") for text in args.headers)]
    config = client_config(
        args,
        compression_type=args.codec,
        linger_ms=5,
        max_block_ms=_PATIENCE_MS,
        transactional_id=args.transactional_id,
    )
    size = _transaction_size(args, is_transactional="transactional_id" in config)
    count = 0
    typed = not files and sys.stdin.isatty()
    with (
        ending_in_order(),
        Producer(config) as producer,
        Progress("sending", stream=io.StringIO() if typed else None) as progress,
    ):
        for records in _transactions(_records(args, files), size):
            with nullcontext() if size is None else producer.transaction():
                pending: list[Delivery] = []
                for key, value in records:
                    pending.append(producer.send(topic, value, key, partition=args.partition, headers=headers))
                    count += 1
                    progress.advance(1)
                    if len(pending) >= _LOOK_BACK:
                        _await_all(pending)
                producer.flush()
                _await_all(pending)
    if not args.quiet and sys.stderr.isatty():
        print(f"{count} records sent to {topic}", file=sys.stderr)
    return 0


def _transaction_size(args: argparse.Namespace, *, is_transactional: bool) -> int | None:
    """The number of records in a transaction; None without transactions."""
    if args.commit_every is not None and (not is_transactional or args.commit_every < 1):
        raise UsageError("--commit-every: expected --transactional-id and at least 1 record")
    return (args.commit_every or sys.maxsize) if is_transactional else None


def _transactions(records: Iterator[_Record], size: int | None) -> Iterator[Iterable[_Record]]:
    """The records in parts of this size; a part begins when its first record is there."""
    if size is None:
        yield records
        return
    for first in records:
        yield chain([first], islice(records, size - 1))


def _await_all(pending: list[Delivery]) -> None:
    for future in pending:
        future.result()
    pending.clear()


def _records(args: argparse.Namespace, files: list[str]) -> Iterator[_Record]:
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
    # read1 returns the bytes that are there, so that records of a pipe are sent when they are written
    while chunk := (stream.read1(_CHUNK) if hasattr(stream, "read1") else stream.read(_CHUNK)):
        *whole, rest = (rest + chunk).split(delimiter)
        yield from whole
    if rest:
        yield rest
