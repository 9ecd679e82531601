"""`kafkawire consume`: records of topics as text, JSON or Parquet.

Rules:
- A group starts at its committed offsets, and at the beginning if it has none, unless -o says otherwise.
- Only offsets after printed records are committed. So a group that printed nothing stays as it was.
- Arrow is needed only to write Parquet.
- Parquet with -s has decoded columns. With --bad-values bytes it also has columns for faults and their bytes.
"""

from __future__ import annotations

import sys
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal
from urllib.parse import quote

from kafkawire.cli._support.clients import add_client_options, admin_config, client_config, ending_in_order
from kafkawire.cli._support.numbers import count
from kafkawire.cli._support.output import Progress, add_web_option
from kafkawire.cli._support.pages import show_source
from kafkawire.cli._support.read_ranges import find_ranges, parse_offsets
from kafkawire.cli._support.record_formats import as_json, formatter, unescape
from kafkawire.cli._support.topic_names import find_topics, is_pattern, split_names
from kafkawire.cli._support.values import add_value_options, as_text, decoders_of, serdes_of, take_registry_options
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Generator, Iterable, Iterator

    from kafkawire.cli._support.read_ranges import OffsetSpec, Ranges
    from kafkawire.cli._support.values import Serdes
    from kafkawire.client import ConsumerRecord, TopicPartition
    from kafkawire.client.blocking import Consumer

HELP = "print the records of topics, or write them to a Parquet file"
EXAMPLES = (
    "kafkawire consume orders -o beginning -e",
    "kafkawire consume orders -o -10 -f '%t-%p@%o %k: %s\\n'",
    "kafkawire consume orders -o beginning -o orders.parquet",
    "kafkawire consume -G billing orders payments --json",
    "kafkawire consume orders -e -J -s value=avro -r http://localhost:8081",
    "kafkawire consume orders -e -s key=i -s value=protobuf:orders.proto#Order",
    "kafkawire consume -G billing orders -o beginning -e",
    "kafkawire consume orders -e --isolation read_committed",
)
_RESETS: Final = {"": "earliest", "stored": "earliest", "beginning": "earliest", "end": "latest"}
_COMMIT_SECONDS: Final = 5.0
_ON_BAD: Final[dict[str, Literal["raise", "column", "drop"]]] = {"fail": "raise", "bytes": "column", "skip": "drop"}
_LOOK_FOR_END_MS: Final = 200


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help="a topic, a list with commas, or a pattern")
    parser.add_argument("-t", dest="more_topics", action="append", default=[], metavar="TOPIC", help="same as TOPIC")
    parser.add_argument(
        "-p",
        dest="partitions",
        type=count,
        action="append",
        metavar="PARTITION",
        help="read only this partition; can be repeated; not with -G, whose members share the partitions",
    )
    parser.add_argument(
        "-o",
        dest="places",
        action="append",
        default=[],
        metavar="OFFSET|FILE.parquet",
        help="where to start: beginning (default), end, stored, N, -N from the end, s@TIME or @TIME; e@TIME is where to"
        " end (times: @2026-01-31T12:00, @12:30, @-2h, @MS); or the Parquet file to write",
    )
    parser.add_argument(
        "-G", "-g", "--group", dest="group", help="read as a member of this group, from its committed offsets on"
    )
    parser.add_argument(
        "--isolation",
        dest="isolation",
        choices=["read_committed", "read_uncommitted"],
        help="read_committed leaves out records of aborted transactions and stops before open ones"
        " (default read_uncommitted)",
    )
    parser.add_argument("-c", "-n", dest="count", type=count, help="stop after this number of records")
    parser.add_argument("-e", dest="to_end", action="store_true", help="stop at the current end of the log")
    parser.add_argument(
        "-f",
        dest="format",
        help="output format: %%s value, %%k key, %%h headers, %%t topic, %%p partition, %%o offset, %%T timestamp,"
        " %%S and %%K sizes, %%R size of the value as 4 bytes",
    )
    parser.add_argument(
        "-J", "--json", dest="json", action="store_true", help="print JSON as kcat does, one object per line"
    )
    parser.add_argument(
        "-K", dest="key_delimiter", metavar="DELIM", help="print the key, followed by this separator, before the value"
    )
    parser.add_argument(
        "-D", dest="delimiter", default="\\n", metavar="DELIM", help="separator after each record (default \\n)"
    )
    parser.add_argument("-Z", dest="show_null", action="store_true", help="print NULL for a null key or value")
    parser.add_argument("-u", dest="unbuffered", action="store_true", help="flush the output after each record")
    parser.add_argument("-q", dest="quiet", action="store_true", help="do not show progress")
    add_value_options(parser)
    add_web_option(parser)
    add_client_options(parser)


def run(args: argparse.Namespace) -> int:
    topics = split_names([*args.topics, *args.more_topics])
    if not topics:
        raise UsageError("no topic: expected kafkawire consume TOPIC")
    if args.web:
        return _show(args, topics)
    files = [text for text in args.places if text.endswith(".parquet")]
    spec = parse_offsets([text for text in args.places if text not in files])
    _refuse_contradictions(args, spec, files)
    args.registry_options = take_registry_options(args)
    if args.group:
        return _print_group(args, topics, spec)
    if files:
        return _write_parquet(args, topics, spec, Path(files[0]))
    if args.to_end or spec.end_time is not None:
        return _print_all(_read_ranges(args, topics, spec), args)
    return _print_all(_follow(args, topics, spec), args)


def _show(args: argparse.Namespace, topics: list[str]) -> int:
    """Show the messages of a topic in the browser."""

    def source() -> object:
        from kafkawire.web import BrokerSource

        return BrokerSource(admin_config(args))

    whole = "" if len(topics) > 1 or is_pattern(topics[0]) else f"/topic/{quote(topics[0], safe='')}"
    return show_source(source, whole or "/topics")


def _refuse_contradictions(args: argparse.Namespace, spec: OffsetSpec, files: list[str]) -> None:
    if len(files) > 1:
        raise UsageError(f"expected one Parquet file, found {', '.join(files)}")
    shapes = [("-J", args.json), ("-f", args.format is not None), ("-K", args.key_delimiter is not None)]
    given = [name for name, is_given in (*shapes, (files[0] if files else "", bool(files))) if is_given]
    if len(given) > 1:
        raise UsageError(f"expected one form of output, found {' and '.join(given)}")
    if args.to_end and spec.end_time is not None:
        raise UsageError("expected one end, found -e and -o e@TIME")
    if not args.group:
        return
    if args.partitions:
        raise UsageError("-p and -G exclude each other, because the coordinator assigns the partitions of a group")
    if spec.start not in _RESETS or spec.start_time is not None or spec.end_time is not None or files:
        raise UsageError(
            "with -G, -o accepts only beginning, end or stored, because a group starts at its committed offsets"
        )


def _print_all(
    records: Iterable[ConsumerRecord],
    args: argparse.Namespace,
    note: Callable[[ConsumerRecord], None] = lambda record: None,
) -> int:
    write = _writer(args, serdes_of(args, args.registry_options))
    out = sys.stdout.buffer
    left = args.count
    if left == 0:
        return 0
    for record in records:
        out.write(write(record))
        note(record)
        if args.unbuffered:
            out.flush()
        if left is not None:
            left -= 1
            if not left:
                break
    out.flush()
    return 0


def _writer(args: argparse.Namespace, serdes: Serdes | None) -> Callable[[ConsumerRecord], bytes]:
    if serdes is None:
        return as_json if args.json else _text_writer(args)
    write = None if args.json else _text_writer(args)

    def write_decoded(record: ConsumerRecord) -> bytes:
        found = serdes.decoded(record)
        if found is None:
            return b""
        if write is None:
            return as_json(record, *found)
        parts: dict[str, Any] = {side: as_text(value) for side, value in found[0].items()}
        return write(record._replace(**parts))

    return write_decoded


def _text_writer(args: argparse.Namespace) -> Callable[[ConsumerRecord], bytes]:
    null = b"NULL" if args.show_null else b""
    if args.format is not None:
        return formatter(args.format, null)
    end = unescape(args.delimiter)
    if args.key_delimiter is None:
        return lambda record: (null if record.value is None else record.value) + end
    between = unescape(args.key_delimiter)

    def write(record: ConsumerRecord) -> bytes:
        key = null if record.key is None else record.key
        return b"".join((key, between, null if record.value is None else record.value, end))

    return write


class _Printed:
    """The offsets after the records that were printed, until they are committed."""

    def __init__(self, *, commits: bool) -> None:
        self._commits = commits
        self._next: dict[TopicPartition, int] = {}
        self._due = time.monotonic() + _COMMIT_SECONDS

    def note(self, record: ConsumerRecord) -> None:
        from kafkawire.client import TopicPartition

        self._next[TopicPartition(record.topic, record.partition)] = record.offset + 1

    def commit(self, consumer: Consumer, *, only_if_due: bool = False) -> None:
        if self._commits and self._next and (not only_if_due or time.monotonic() >= self._due):
            sys.stdout.buffer.flush()
            printed, self._next = self._next, {}
            consumer.commit(printed)
            self._due = time.monotonic() + _COMMIT_SECONDS


def _print_group(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> int:
    config = client_config(
        args, isolation_level=args.isolation, group_id=args.group, auto_offset_reset=_RESETS[spec.start]
    )
    printed = _Printed(commits=str(config.pop("enable_auto_commit", True)).lower() != "false")
    with ending_in_order(), closing(_follow_group(args, topics, config, printed)) as records:
        return _print_all(records, args, printed.note)


def _follow_group(
    args: argparse.Namespace, topics: list[str], config: dict[str, Any], printed: _Printed
) -> Generator[ConsumerRecord]:
    from kafkawire.client import RebalanceListener
    from kafkawire.client.blocking import Admin, Consumer

    if args.to_end or any(map(is_pattern, topics)):  # a topic that does not exist has no end to stop at
        with Admin(admin_config(args)) as admin:
            topics = [each.name for each in find_topics(admin, topics)]

    class CommitBeforeRevocation(RebalanceListener):
        def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
            printed.commit(consumer)

    with Consumer(config={**config, "enable_auto_commit": False}) as consumer:
        consumer.subscribe(topics, listener=CommitBeforeRevocation())
        try:
            while True:
                found = consumer.getmany(timeout_ms=_LOOK_FOR_END_MS)
                for records in found.values():
                    yield from records
                sys.stdout.buffer.flush()
                printed.commit(consumer, only_if_due=True)
                if args.to_end and not found and (places := consumer.assignment()):
                    ends = consumer.end_offsets(places)
                    if all(consumer.position(place) >= end for place, end in ends.items()):
                        return
        finally:
            printed.commit(consumer)


def _follow(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> Iterator[ConsumerRecord]:
    from kafkawire.client.blocking import Consumer

    ranges = _ranges(args, topics, spec)
    with Consumer(config=client_config(args, isolation_level=args.isolation)) as consumer:
        consumer.assign(ranges)
        for place, (start, _) in ranges.items():
            consumer.seek(place, start)
        while True:
            for records in consumer.getmany(timeout_ms=1000).values():
                yield from records
            sys.stdout.buffer.flush()


def _read_ranges(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> Iterator[ConsumerRecord]:
    from kafkawire.client.blocking import Consumer

    ranges = _ranges(args, topics, spec)
    config = client_config(args, isolation_level=args.isolation, auto_offset_reset="none")
    with Consumer(config=config) as consumer, _progress(args, ranges) as progress:
        for place, (start, end) in ranges.items():
            if start >= end:
                continue
            consumer.assign([place])
            consumer.seek(place, start)
            while consumer.position(place) < end:
                records = consumer.getmany(timeout_ms=_LOOK_FOR_END_MS).get(place, [])
                for record in records:
                    if record.offset < end:
                        yield record
                progress.advance(len(records))


def _write_parquet(args: argparse.Namespace, topics: list[str], spec: OffsetSpec, path: Path) -> int:
    """Write all records to a Parquet file, which gets its name only when it is complete."""
    import pyarrow as pa
    from pyarrow import parquet

    from kafkawire.client import BulkReader
    from kafkawire.records import RECORD_SCHEMA
    from kafkawire.values import ValueColumns

    decoders = decoders_of(args, args.registry_options, topics) if args.serdes else {}
    values = ValueColumns(decoders.get("key"), decoders.get("value"), _ON_BAD[args.bad_values]) if decoders else None
    fields = {
        field.name: field
        for field in (
            *(pa.field("topic", pa.string()), pa.field("partition", pa.int32())),
            *RECORD_SCHEMA,
            *(values.fields() if values else ()),
        )
    }
    columns = list(fields)
    unfinished = path.with_name(f"{path.name}.part")
    left = sys.maxsize if args.count is None else args.count
    ranges = _ranges(args, topics, spec)
    with BulkReader(config=client_config(args, isolation_level=args.isolation)) as reader:
        try:
            with (
                parquet.ParquetWriter(unfinished, pa.schema(fields.values()), compression="zstd") as writer,
                _progress(args, ranges) as progress,
            ):
                for (topic, number), (start, end) in ranges.items():
                    found = reader.read(topic, number, start, end, columns=columns, values=values) if left else ()
                    for batch in found:
                        part = batch.slice(0, left)
                        writer.write_batch(part)
                        progress.advance(part.num_rows)
                        left -= part.num_rows
                        if not left:
                            break
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)
    return 0


def _ranges(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> Ranges:
    from kafkawire.client.blocking import Admin

    with Admin(admin_config(args)) as admin:
        is_committed = args.isolation == "read_committed"
        return find_ranges(admin, topics, args.partitions, spec, read_committed=is_committed)


def _progress(args: argparse.Namespace, ranges: Ranges) -> Progress:
    import io

    total = sum(end - start for start, end in ranges.values())
    is_printed = sys.stdout.isatty() and not any(text.endswith(".parquet") for text in args.places)
    return Progress("reading", total, stream=io.StringIO() if args.quiet or is_printed else None)
