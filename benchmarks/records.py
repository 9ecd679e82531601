"""Records: reading to columns and objects, writing from both, and codecs, against aiokafka's Cython and kafka-python.

Rules:
- The buffers are about 1 MB of batches; timestamps advance by a millisecond every ten records.
- Readers check every CRC; readers of objects read every field of every record; both have made their rows in the end.
- kafka-python is the peer of the Python form, in a process of its own; it too has to do without a compiled CRC there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from functools import partial
from typing import TYPE_CHECKING, Any

import cramjam
import lz4.frame
import pyarrow as pa
import zstandard

from benchmarks.report import Row, best_times, ratios
from kafkawire.records import (
    BatchBuilder,
    Codec,
    compress,
    crc32c,
    decompress,
    from_arrow,
    read_batches,
    scan_batches,
    to_arrow,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIZE = 1024 * 1024
START = 1_700_000_000_000
PROCESSES = 4


def buffer_of(records: int, value: bytes, compression: str = "none", size: int = SIZE) -> bytes:
    parts: list[bytes] = []
    offset = total = 0
    while total < size:
        builder = BatchBuilder(base_offset=offset, compression=compression)
        for step in range(records):
            builder.append(None, value, START + step // 10)
        parts.append(builder.build())
        offset, total = builder.next_offset, total + len(parts[-1])
    return b"".join(parts)


def read_by_peer(memory: Callable[[bytes], Any], data: bytes) -> int:
    records, count = memory(data), 0
    while (batch := records.next_batch()) is not None:
        if not batch.validate_crc():
            raise ValueError("a peer finds a wrong CRC")
        for record in batch:
            _ = (record.offset, record.timestamp, record.key, record.value, record.headers)
            count += 1
    return count


def read_objects(data: bytes) -> int:
    count = 0
    for batch in read_batches(data):
        for record in batch.records():
            _ = (record.offset, record.timestamp, record.key, record.value, record.headers)
            count += 1
    return count


def read_values(data: bytes) -> None:
    for batch in read_batches(data):
        for record in batch.records():
            _ = record.value


def values_by_peer(memory: Callable[[bytes], Any], data: bytes) -> None:
    records = memory(data)
    while (batch := records.next_batch()) is not None:
        if not batch.validate_crc():
            raise ValueError("a peer finds a wrong CRC")
        for record in batch:
            _ = record.value


def build(count: int, value: bytes) -> bytes:
    builder = BatchBuilder()
    for step in range(count):
        builder.append(None, value, START + step // 10)
    return builder.build()


def build_by_peer(builder_class: Callable[..., Any], count: int, value: bytes) -> bytes:
    builder = builder_class(
        magic=2,
        compression_type=0,
        is_transactional=0,
        producer_id=-1,
        producer_epoch=-1,
        base_sequence=-1,
        batch_size=2**24,
    )
    for step in range(count):
        builder.append(step, START + step // 10, None, value, [])
    return bytes(builder.build())


def peers() -> tuple[Callable[[bytes], Any], Callable[..., Any]]:
    """aiokafka's compiled reader and builder."""
    from aiokafka.record._crecords.default_records import DefaultRecordBatchBuilder
    from aiokafka.record._crecords.memory_records import MemoryRecords

    return MemoryRecords, DefaultRecordBatchBuilder


def reading(memory: Callable[[bytes], Any]) -> Iterator[Row]:
    for records, size, floor in ((1, 100, 8), (10, 100, 7), (1000, 100, 8), (1000, 1000, 6.5)):
        data = buffer_of(records, b"v" * size)
        if to_arrow(data).num_rows != read_by_peer(memory, data):
            raise ValueError("readers disagree")
        work = f"to_arrow, {size}-byte values, {records} a batch"
        yield from ratios(
            work,
            lambda data=data: to_arrow(data),  # type: ignore[misc]
            {"aiokafka": lambda data=data: read_by_peer(memory, data)},  # type: ignore[misc]
            {"aiokafka": floor},
        )
    data = buffer_of(1000, b"v" * 1000)
    best = best_times({"ours": lambda: to_arrow(data), "memcpy": lambda: bytearray(data)})
    yield Row("to_arrow, 1000-byte values, 1000 a batch", "% of memcpy", 100 * best["memcpy"] / best["ours"], 20)
    data = buffer_of(1000, b"v" * 100)
    yield from ratios(
        "records(), every field, 100-byte values, 1000 a batch",
        lambda: read_objects(data),
        {"aiokafka": lambda: read_by_peer(memory, data)},
        {},
    )
    yield from ratios(
        "records(), the value, 100-byte values, 1000 a batch",
        lambda: read_values(data),
        {"aiokafka": lambda: values_by_peer(memory, data)},
        {"aiokafka": 2.5},
    )
    best = best_times({"scan": lambda: scan_batches(data), "crc": lambda: crc32c(data)})
    yield Row("scan_batches, 1000 a batch", "GB/s", len(data) / best["scan"] / 1e9)
    yield Row("crc32c, 1 MB", "GB/s", len(data) / best["crc"] / 1e9)


def writing(builder_class: Callable[..., Any]) -> Iterator[Row]:
    value = b"v" * 100
    if build(1000, value) != build_by_peer(builder_class, 1000, value):
        raise ValueError("builders disagree")
    yield from ratios(
        "BatchBuilder, 100-byte values, 1000 a batch",
        lambda: build(1000, value),
        {"aiokafka": lambda: build_by_peer(builder_class, 1000, value)},
        {"aiokafka": 1.2},
    )
    data = buffer_of(1000, value)
    rows = to_arrow(data, columns=["timestamp", "key", "value", "headers"])
    batches = rows.num_rows // 1000
    if from_arrow(rows, records_per_batch=1000) != data:
        raise ValueError("from_arrow writes something else")
    yield from ratios(
        "from_arrow, 100-byte values, 1000 a batch",
        lambda: from_arrow(rows, records_per_batch=1000),
        {"aiokafka": lambda: [build_by_peer(builder_class, 1000, value) for _ in range(batches)]},
        {"aiokafka": 10},
    )


def texts(count: int) -> list[bytes]:
    return [json.dumps({"id": step, "user": f"user-{step % 97}"}).encode() for step in range(count)]


def codecs() -> Iterator[Row]:
    """Unpacking 16 KiB, within a bound, against every library that reads the frame, unbounded and at its best.

    A library that needs the size gets it. The place of a context in memory changes the time by a tenth, so
    the best of several processes counts. The first library is measured twice: how much its times differ is the noise,
    for which the floor leaves room.
    """
    best: dict[str, dict[str, float]] = {}
    for _ in range(PROCESSES):
        for work, times in measured_apart("codecs"):
            known = best.setdefault(work, times)
            best[work] = {name: min(spent, known[name]) for name, spent in times.items()}
    for work, times in best.items():
        ours = times.pop("ours")
        first, second, *_ = times.values()
        told = ", ".join(f"{name} {1e6 * spent:.2f}" for name, spent in times.items())
        note = f"{1e6 * ours:.2f} us; {told}; noise {abs(first / second - 1):.1%}"
        yield Row(work, "x best library", min(times.values()) / ours, 0.98, note=note)


def measure_codecs() -> Iterator[tuple[str, dict[str, float]]]:
    text = b"".join(texts(600))[: 16 * 1024]
    size = len(text)
    kept, again = zstandard.ZstdDecompressor(), zstandard.ZstdDecompressor()
    arrow_lz4, arrow_zstd = pa.Codec("lz4"), pa.Codec("zstd")
    lz4_libraries: dict[str, Callable[[bytes], object]] = {
        "lz4": lz4.frame.decompress,
        "lz4 again": lz4.frame.decompress,
        "cramjam": cramjam.lz4.decompress,
        "pyarrow": lambda data: arrow_lz4.decompress(data, size, asbytes=True),
    }
    zstd_libraries: dict[str, Callable[[bytes], object]] = {
        "zstandard": kept.decompress,
        "zstandard again": again.decompress,
        "cramjam": cramjam.zstd.decompress,
        "pyarrow": lambda data: arrow_zstd.decompress(data, size, asbytes=True),
    }
    sizeless: dict[str, Callable[[bytes], object]] = {
        **zstd_libraries,
        "zstandard": lambda data: kept.decompress(data, size),
        "zstandard again": lambda data: again.decompress(data, size),
    }
    linked = lz4.frame.compress(text, store_size=False)
    streamed = zstandard.ZstdCompressor(level=3, write_content_size=False).compress(text)
    for work, codec, packed, libraries in (
        ("lz4 of 16 KiB, as Kafka's client and we write it", Codec.LZ4, bytes(compress("lz4", text)), lz4_libraries),
        ("lz4 of 16 KiB, as librdkafka writes it", Codec.LZ4, linked, lz4_libraries),
        ("zstd of 16 KiB, as we write it", Codec.ZSTD, bytes(compress("zstd", text)), zstd_libraries),
        ("zstd of 16 KiB, as Kafka's client writes it", Codec.ZSTD, streamed, sizeless),
    ):
        contenders = {name: partial(library, packed) for name, library in libraries.items()}
        ours = partial(decompress, codec, packed)
        yield work, best_times({"ours": ours, **contenders}, seconds=0.2, rounds=8)


def packed_reading(memory: Callable[[bytes], Any]) -> Iterator[Row]:
    """The whole way from batches of 16 KiB to rows, unpacking included."""
    values = texts(400)
    for codec in ("lz4", "zstd"):
        builder = BatchBuilder(compression=codec)
        for value in values:
            builder.append(None, value, START)
        data = builder.build() * 64
        if to_arrow(data).num_rows != read_by_peer(memory, data):
            raise ValueError("readers disagree")
        for name, read in (("to_arrow", to_arrow), ("records()", read_objects)):
            yield from ratios(
                f"{name}, 16 KiB batches in {codec}",
                partial(read, data),
                {"aiokafka": partial(read_by_peer, memory, data)},
                {},
            )


def measured_apart(subject: str, **environment: str) -> list[Any]:
    """The rows that a function of this module yields in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.records", subject],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def python_form() -> Iterator[Row]:
    """The Python form, in a process that has chosen it."""
    for work, ours, peer in measured_apart("python_form", KAFKAWIRE_IMPL="python"):
        note = f"{ours * 1e6:,.0f} us against {peer * 1e6:,.0f} us"
        yield Row(f"Python form: {work}", "x kafka-python", peer / ours, 1.0, note=note)


def measure_python_form() -> Iterator[tuple[str, float, float]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # kafka-python reads its schemas by a deprecated function
        from kafka.record.default_records import DefaultRecordBatchBuilder
        from kafka.record.memory_records import MemoryRecords
    value = b"v" * 100
    data = buffer_of(1000, value, size=100_000)
    tens = buffer_of(10, value, size=100_000)
    single = buffer_of(1, value, size=100_000)
    for work, ours, peer in (
        ("records(), 1000 a batch", lambda: read_objects(data), lambda: read_by_peer(MemoryRecords, data)),
        ("records(), 10 a batch", lambda: read_objects(tens), lambda: read_by_peer(MemoryRecords, tens)),
        ("records(), 1 a batch", lambda: read_objects(single), lambda: read_by_peer(MemoryRecords, single)),
        ("to_arrow, 1000 a batch", lambda: to_arrow(data), lambda: read_by_peer(MemoryRecords, data)),
        ("BatchBuilder", lambda: build(1000, value), lambda: build_by_peer(DefaultRecordBatchBuilder, 1000, value)),
    ):
        best = best_times({"ours": ours, "peer": peer})
        yield work, best["ours"], best["peer"]


def rows() -> Iterator[Row]:
    memory, builder_class = peers()
    yield from reading(memory)
    yield from writing(builder_class)
    yield from codecs()
    yield from packed_reading(memory)
    yield from python_form()


if __name__ == "__main__":
    subjects: dict[str, Callable[[], Iterator[Any]]] = {"codecs": measure_codecs, "python_form": measure_python_form}
    for measured in subjects[sys.argv[1]]():
        print(json.dumps(measured))
