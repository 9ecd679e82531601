"""`kafkawire consume`: records of topics as text, JSON or Parquet."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli.clients import add_client_options, client_config, ending_in_order
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
    parser.add_argument("-f", dest="format", help="how to print: %%s %%S %%R %%k %%K %%t %%p %%o %%T %%h")
    parser.add_argument("-J", "--json", dest="json", action="store_true", help="print kcat's JSON, an object a line")
    parser.add_argument("-K", dest="key_delimiter", metavar="DELIM", help="print keys, with this behind them")
    parser.add_argument("-D", dest="delimiter", default="\\n", metavar="DELIM", help="what to print behind a record")
    parser.add_argument("-Z", dest="show_null", action="store_true", help="print NULL for a key or value that is null")
    parser.add_argument("-u", dest="unbuffered", action="store_true", help="print each record at once")
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
        with ending_in_order():
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
        if args.unbuffered:
            out.flush()
        if left is not None:
            left -= 1
            if not left:
                break
    out.flush()
    return 0


def _writer(args: argparse.Namespace) -> Callable[[ConsumerRecord], bytes]:
    if args.json:
        return as_json
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

    with _reader(args) as reader:
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
    from kafkawire.records import RECORD_SCHEMA

    with _reader(args) as reader:
        ranges = {topic: _ranges(reader, topic, args.partitions, spec) for topic in topics}
        places = [(topic, number, *span) for topic, each in ranges.items() for number, span in each.items()]
        with _progress(args, places) as progress:
            for topic, number, start, end in places:
                for batch in reader.read(topic, number, start, end):
                    progress.advance(batch.num_rows)
                    columns: list[Any] = [batch.column(name) for name in RECORD_SCHEMA.names]
                    columns[1] = columns[1].cast(pa.int64())
                    rows = zip(*(column.to_pylist() for column in columns), strict=True)
                    for offset, stamp, kind, key, value, headers in rows:
                        pairs = tuple((each["key"], each["value"]) for each in headers)
                        yield ConsumerRecord(topic, number, offset, stamp, kind, key, value, pairs)


def _write_parquet(args: argparse.Namespace, topics: list[str], spec: OffsetSpec, path: Path) -> int:
    """A file that is there holds everything: it takes its name when it is whole."""
    import pyarrow as pa
    from pyarrow import parquet

    from kafkawire.client.arrow import ARROW_COLUMNS
    from kafkawire.records import RECORD_SCHEMA

    schema = pa.schema([pa.field("topic", pa.string()), pa.field("partition", pa.int32()), *RECORD_SCHEMA])
    unfinished = path.with_name(f"{path.name}.part")
    left = sys.maxsize if args.count is None else args.count
    with _reader(args) as reader:
        ranges = {topic: _ranges(reader, topic, args.partitions, spec) for topic in topics}
        places = [(topic, number, *span) for topic, each in ranges.items() for number, span in each.items()]
        try:
            with (
                parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer,
                _progress(args, places) as progress,
            ):
                for topic, number, start, end in places:
                    for batch in reader.read(topic, number, start, end, columns=ARROW_COLUMNS) if left else ():
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


@contextmanager
def _reader(args: argparse.Namespace) -> Iterator[BulkReader]:
    """A reader of a cluster that is there; who waits at a terminal is told at once that it is not."""
    from kafkawire.client.fetch import BulkReader

    with BulkReader(config=client_config(args)) as reader:
        reader.connect()
        yield reader


def _progress(args: argparse.Namespace, places: Iterable[tuple[str, int, int, int]]) -> Progress:
    import io

    total = sum(end - start for _, _, start, end in places)
    is_printed = sys.stdout.isatty() and not any(text.endswith(".parquet") for text in args.places)
    return Progress("reading", total, stream=io.StringIO() if args.quiet or is_printed else None)


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
