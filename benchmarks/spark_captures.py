"""Captures on Spark, local[2]: a capture of 500 MB to exchanges, against the inspector in one process and tshark.

Times of Spark are those of a query, planning included; the JVM and its workers run already. The capture is like a
cluster's: producers, consumers in fetch sessions, members of groups and clients that ask for metadata, with batches of
real records in two codecs. Another capture is of one connection only, which must not be one task.
"""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Final

from tests.inspect.captures import MILLISECOND, START, Conversation, merge, write_pcap
from tests.inspect.cluster_traffic import heartbeat, metadata
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from benchmarks.report import Row
from kafkawire.inspect._tables.read import read_captures
from kafkawire.spark import build_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pyspark.sql import SparkSession

ROUNDS: Final = 3
MEGABYTE: Final = 1_000_000
TSHARK: Final = shutil.which("tshark")
FIELDS: Final = ("frame.number", "kafka.len", "kafka.request_key", "kafka.request.version", "kafka.correlation_id")


def rows() -> Iterator[Row]:
    root = Path(tempfile.mkdtemp(prefix="kafkawire-bench-"))
    path = root / "x.pcap"
    spark = build_session("local[2]", settings={"spark.driver.memory": "2g"}, log_file=root / "spark.log")
    try:
        write_pcap_of(path, connections=200, megabytes=500)
        yield from _exchanges(spark, path)
        write_pcap_of(path, connections=1, megabytes=100)
        yield from _one_connection(spark, path)
    finally:
        spark.stop()
        shutil.rmtree(root)


def write_pcap_of(path: Path, *, connections: int, megabytes: int) -> None:
    """A capture of about so many bytes."""
    chance = random.Random(5)
    batches = [_batch(chance) for _ in range(40)]
    talks = [_talk(number, chance, batches, megabytes * MEGABYTE // connections) for number in range(connections)]
    path.write_bytes(write_pcap(merge(talks)))


def _talk(number: int, chance: random.Random, batches: list[bytes], size: int) -> Conversation:
    """One connection: of four, two produce and fetch, and two say little."""
    client = (f"10.1.{number >> 8}.{number & 255}", 40_000 + number)
    talk = Conversation(client, client_id=f"client-{number % 7}", now=START + number * MILLISECOND, acknowledges=True)
    talk.open().exchange(*metadata(chance, 0)).exchange(fetch(0, 0, (0, 0), (1, 0)), fetched(number + 1), 11)
    sent = epoch = 0
    while sent < size:
        records = chance.choice(batches)
        after, then = chance.uniform(0.1, 3), chance.uniform(0, 10)
        if number % 2:
            talk.exchange(produce(records), produced(sent), 9, after=after, then=then)
        else:
            epoch += 1
            asked = fetch(number + 1, epoch, (epoch % 2, sent))
            talk.exchange(asked, fetched(number + 1, (epoch % 2, sent, records)), 11, after=after, then=then)
        for small in (heartbeat, metadata):
            if chance.random() < 0.3:
                talk.exchange(*small(chance, 0), after=after, then=then)
        sent += int(len(records) * 1.1) + 300
    return talk.close()


def _batch(chance: random.Random) -> bytes:
    values = [chance.randbytes(200) + b"x" * 300 for _ in range(chance.randrange(5, 120))]
    return batch(*values, compression=chance.choice(["none", "lz4"]))


def _exchanges(spark: SparkSession, path: Path) -> Iterator[Row]:
    size = path.stat().st_size / MEGABYTE
    work = f"capture of {size:.0f} MB to exchanges"
    best = _turns(
        {
            "spark": lambda: _to_nowhere(spark, path),
            "inspector": lambda: read_captures([path]),
            "headers": lambda: _to_nowhere(spark, path, "conn_id bigint, seq bigint, api string, wait_us bigint"),
        }
    )
    note = f"{best['spark']:.2f} s, {size / best['spark']:.0f} MB/s; the inspector {best['inspector']:.2f} s"
    yield Row(work, "x inspector", best["inspector"] / best["spark"], 0.2, note=note)
    yield Row(f"{work}, header columns only", "MB/s", size / best["headers"], note=f"{best['headers']:.2f} s")
    yield Row(f"{work}, largest Python worker", "MB", _largest_worker(), 400, at_most=True)
    if TSHARK is None:
        yield Row(work, "tshark is not installed", float("nan"))
        return
    options = [word for field in FIELDS for word in ("-e", field)]
    command = [TSHARK, "-r", str(path), "-d", "tcp.port==9092,kafka", "-T", "fields", *options]
    begun, patience = perf_counter(), 20 * best["spark"]
    try:
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=patience)
        note = ""
    except subprocess.TimeoutExpired:
        note = "stopped there, it had not ended"
    yield Row(work, "x tshark -T fields", (perf_counter() - begun) / best["spark"], 10, note=note)


def _one_connection(spark: SparkSession, path: Path) -> Iterator[Row]:
    size = path.stat().st_size / MEGABYTE
    best = _turns({f"{tasks}": lambda tasks=tasks: _to_nowhere(spark, path, tasks=tasks) for tasks in (1, 4)})  # type: ignore[misc]
    note = f"{best['4']:.2f} s in four tasks, {best['1']:.2f} s in one"
    yield Row(f"one connection of {size:.0f} MB to exchanges", "x one task", best["1"] / best["4"], note=note)


def _to_nowhere(spark: SparkSession, path: Path, schema: str = "", tasks: int = 4) -> None:
    options = {"minPartitions": str(tasks), "maxPartitionBytes": "64m" if tasks > 1 else "4g"}
    reader = spark.read.format("kafkawire-captures").options(**options)
    frame = (reader.schema(schema) if schema else reader).load(str(path))
    frame.write.format("noop").mode("overwrite").save()


def _turns(contenders: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Seconds of each, the best of some rounds in turns."""
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(ROUNDS):
        for name, work in contenders.items():
            begun = perf_counter()
            work()
            best[name] = min(best[name], perf_counter() - begun)
    return best


def _largest_worker() -> float:
    """The most memory that one of Spark's Python workers had so far."""
    most = 0
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            is_worker = b"pyspark.worker" in status.with_name("cmdline").read_bytes()
            peak = next((line for line in status.read_text().splitlines() if line.startswith("VmHWM")), "x 0 kB")
        except OSError:
            continue
        if is_worker:
            most = max(most, int(peak.split()[1]))
    return most * 1024 / MEGABYTE
