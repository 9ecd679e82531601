"""`kafkawire consume`: records of topics as text, JSON or Parquet."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli.clients import add_client_options, client_config
from kafkawire.cli.commands import UsageError
from kafkawire.cli.progress import Progress
from kafkawire.cli.record_formats import OffsetSpec, as_json, formatter, parse_offsets, unescape

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire.client import ConsumerRecord
    from kafkawire.client.fetch import BulkReader

HELP = "print records of a topic, or write them to Parquet"
EXAMPLES = (
    "kafkawire consume orders -o beginning -e",
    "kafkawire consume orders -o -10 -f '%t-%p@%o %k: %s\\n'",
    "kafkawire consume orders -o beginning -o orders.parquet",
    "kafkawire consume -G billing orders payments --json",
    "kafkawire consume -G billing orders -o beginning -e",
)
_RESETS: Final = {"": None, "stored": None, "beginning": "earliest", "end": "latest"}
_LOOK_FOR_END_MS: Final = 200


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("topics", nargs="*", metavar="TOPIC")
    parser.add_argument(
        "-t", dest="more_topics", action="append", default=[], metavar="TOPIC", help="the same as TOPIC"
    )
    parser.add_argument(
        "-p", dest="partitions", type=int, action="append", help="only this partition (repeat for more)"
    )
    parser.add_argument(
        "-o",
        dest="places",
        action="append",
        default=[],
        metavar="OFFSET|FILE.parquet",
        help="where to begin: beginning (default), end, stored, N, -N from the end, s@MS, e@MS; or where to write to",
    )
    parser.add_argument("-G", "-g", "--group", dest="group", help="read as a member of this group")
    parser.add_argument("-c", "-n", dest="count", type=int, help="stop after so many records")
    parser.add_argument("-e", dest="to_end", action="store_true", help="stop at the present end")
    parser.add_argument("-f", dest="format", help="how to print: %%s %%S %%k %%K %%t %%p %%o %%T %%h")
    parser.add_argument("-J", "--json", dest="json", action="store_true", help="print kcat's JSON, an object a line")
    parser.add_argument("-K", dest="key_delimiter", metavar="DELIM", help="print keys, with this behind them")
    parser.add_argument("-D", dest="delimiter", default="\\n", metavar="DELIM", help="what to print behind a record")
    parser.add_argument("-q", dest="quiet", action="store_true", help="no progress")
    add_client_options(parser)


def run(args: argparse.Namespace) -> int:
    topics = [*args.topics, *args.more_topics]
    if not topics:
        raise UsageError("which topic? kafkawire consume TOPIC")
    files = [text for text in args.places if text.endswith(".parquet")]
    spec = parse_offsets([text for text in args.places if text not in files])
    if len(files) > 1:
        raise UsageError(f"one file to write to, found {', '.join(files)}")
    if args.group:
        if spec.start not in _RESETS or spec.start_time is not None or spec.end_time is not None or files:
            raise UsageError("a group begins where it stored: -G goes with -o beginning, end or stored alone")
        return _print_all(_follow_group(args, topics, spec), args)
    if files:
        return _write_parquet(args, topics, spec, Path(files[0]))
    if args.to_end or spec.end_time is not None:
        return _print_all(_read_ranges(args, topics, spec), args)
    return _print_all(_follow(args, topics, spec), args)


def _print_all(records: Iterable[ConsumerRecord], args: argparse.Namespace) -> int:
    write = _writer(args)
    out = sys.stdout.buffer
    left = args.count
    if left == 0:
        return 0
    for record in records:
        out.write(write(record))
        if left is not None:
            left -= 1
            if not left:
                break
    out.flush()
    return 0


def _writer(args: argparse.Namespace) -> Callable[[ConsumerRecord], bytes]:
    if args.json:
        return as_json
    if args.format is not None:
        return formatter(args.format)
    end = unescape(args.delimiter)
    if args.key_delimiter is None:
        return lambda record: (record.value or b"") + end
    between = unescape(args.key_delimiter)
    return lambda record: (record.key or b"") + between + (record.value or b"") + end


def _follow_group(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> Iterator[ConsumerRecord]:
    from kafkawire.client.blocking import Consumer

    config = client_config(args, group_id=args.group, auto_offset_reset=_RESETS[spec.start])
    at_once = None if args.count is None else 1  # what is taken but not printed would be stored as read
    with Consumer(*topics, config=config) as consumer:
        while args.to_end:
            found = consumer.getmany(timeout_ms=_LOOK_FOR_END_MS, max_records=at_once)
            for records in found.values():
                yield from records
            if not found and (places := consumer.assignment()):
                ends = consumer.end_offsets(places)
                if all(consumer.position(place) >= end for place, end in ends.items()):
                    return
        for record in consumer:
            yield record
            sys.stdout.buffer.flush()


def _follow(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> Iterator[ConsumerRecord]:
    from kafkawire.client import TopicPartition
    from kafkawire.client.blocking import Consumer
    from kafkawire.client.fetch import BulkReader

    with BulkReader(config=client_config(args)) as reader:
        starts = {
            TopicPartition(topic, number): start
            for topic in topics
            for number, (start, _) in _ranges(reader, topic, args.partitions, spec).items()
        }
    with Consumer(config=client_config(args)) as consumer:
        consumer.assign(starts)
        for place, start in starts.items():
            consumer.seek(place, start)
        while True:
            for records in consumer.getmany(timeout_ms=1000).values():
                yield from records
            sys.stdout.buffer.flush()


def _read_ranges(args: argparse.Namespace, topics: list[str], spec: OffsetSpec) -> Iterator[ConsumerRecord]:
    import pyarrow as pa

    from kafkawire.client import ConsumerRecord
    from kafkawire.client.fetch import BulkReader
    from kafkawire.records import RECORD_SCHEMA

    with BulkReader(config=client_config(args)) as reader:
        for topic in topics:
            for number, (start, end) in _ranges(reader, topic, args.partitions, spec).items():
                for batch in reader.read(topic, number, start, end):
                    columns: list[Any] = [batch.column(name) for name in RECORD_SCHEMA.names]
                    columns[1] = columns[1].cast(pa.int64())
                    rows = zip(*(column.to_pylist() for column in columns), strict=True)
                    for offset, stamp, kind, key, value, headers in rows:
                        pairs = tuple((each["key"], each["value"]) for each in headers)
                        yield ConsumerRecord(topic, number, offset, stamp, kind, key, value, pairs)


def _write_parquet(args: argparse.Namespace, topics: list[str], spec: OffsetSpec, path: Path) -> int:
    import pyarrow as pa
    from pyarrow import parquet

    from kafkawire.client.arrow import ARROW_COLUMNS
    from kafkawire.client.fetch import BulkReader
    from kafkawire.records import RECORD_SCHEMA

    schema = pa.schema([pa.field("topic", pa.string()), pa.field("partition", pa.int32()), *RECORD_SCHEMA])
    left = args.count
    with BulkReader(config=client_config(args)) as reader:
        ranges = {topic: _ranges(reader, topic, args.partitions, spec) for topic in topics}
        total = sum(end - start for each in ranges.values() for start, end in each.values())
        with parquet.ParquetWriter(path, schema, compression="zstd") as writer, _progress(args, total) as progress:
            for topic, each in ranges.items():
                for number, (start, end) in each.items():
                    for batch in reader.read(topic, number, start, end, columns=ARROW_COLUMNS):
                        part = batch if left is None else batch.slice(0, left)
                        if not part.num_rows:
                            return 0
                        writer.write_batch(part)
                        progress.advance(part.num_rows)
                        left = None if left is None else left - part.num_rows
    return 0


def _progress(args: argparse.Namespace, total: int) -> Progress:
    import io

    return Progress("reading", total, stream=io.StringIO() if args.quiet else None)


def _ranges(
    reader: BulkReader, topic: str, partitions: list[int] | None, spec: OffsetSpec
) -> dict[int, tuple[int, int]]:
    """Where to begin and end in each partition."""
    known = reader.partitions(topic)
    missing = [number for number in partitions or () if number not in known]
    if missing:
        raise UsageError(f"{topic} has no partition {missing[0]}; it has {len(known)}")
    numbers = known if partitions is None else partitions
    first, last = reader.earliest(topic, numbers), reader.latest(topic, numbers)
    word = spec.start or "beginning"
    if word == "stored":
        raise UsageError("-o stored needs a group: -G NAME")
    starts: dict[int, int]
    if spec.start_time is not None:
        starts = {
            number: last[number] if offset is None else offset
            for number, offset in reader.offsets_at(topic, spec.start_time, numbers).items()
        }
    elif word in ("beginning", "end"):
        starts = first if word == "beginning" else last
    else:
        at = int(word)
        starts = {number: max(first[number], last[number] + at) if at < 0 else at for number in numbers}
    ends = last
    if spec.end_time is not None:
        found = reader.offsets_at(topic, spec.end_time, numbers)
        ends = {number: last[number] if found[number] is None else found[number] or 0 for number in numbers}
    return {number: (starts[number], ends[number]) for number in numbers}
