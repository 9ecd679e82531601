"""Our broker beside Apache Kafka in KRaft mode: the same client, the same machine, the same run, in turns.

Rules:
- Each broker is a process of its own with its data on the same disk; Apache Kafka has the virtual machine settings of
  its own start script.
- The client is confluent-kafka, the same for both, so that what differs is the broker. The clock starts when its
  connections stand; it does not pause because its queue is full (by default it then rests for a second).
- The first rounds of both are not counted: they warm the virtual machine, the caches and the topics.
- A round is both, one right after the other, and the median of the rounds' ratios counts: if the client is the limit,
  single rounds of the same broker differ by up to a third, and the best of few is luck.
- The goal is 1.2, and a fifth of Apache Kafka's processor time. If the client itself is the limit the two tie; the
  brokers then differ in the processor time that each of them used.
- Four clients at once are four processes, each with a topic of its own, which begin together. The rate is that of all
  records, from the first start to the last end.
- Apache Kafka is fetched by `make interop`; where it was not, that is said.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.interop.apache_kafka import JARS, ApacheBroker, ApacheKafka
from tests.interop.maven import are_fetched

from benchmarks.broker import broker, server
from benchmarks.report import Row
from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

VALUE = bytes(range(100))
RECORDS = 400_000
CLIENTS = 4
ASKED_ONE_BY_ONE = 2_000
TRANSACTIONS, PER_TRANSACTION, PARTITIONS = 200, 100, 3
WARM_UP, ROUNDS = 2, 11
# The options that kafka-run-class.sh and kafka-server-start.sh pass.
VIRTUAL_MACHINE = (
    *("-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent"),
)


class Contender(NamedTuple):
    """A broker that runs."""

    address: str
    pid: int

    def processor_seconds(self) -> float:
        """The processor time that it has used so far, in user and system mode."""
        times = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(times[11]) + int(times[12])) / os.sysconf("SC_CLK_TCK")


class Span(NamedTuple):
    """The records that one client was busy with, and its first and last moment."""

    records: int
    start: float
    end: float

    @property
    def rate(self) -> float:
        """Records per second."""
        return self.records / (self.end - self.start)


Client = Callable[[str, str, "Mapping[str, object]", int, Callable[[], object]], Span]
"""A client: an address, a topic, its settings, the number of records, and a function to call before it begins."""


def producing(
    bootstrap: str, topic: str, settings: Mapping[str, object], records: int, ready: Callable[[], object]
) -> Span:
    """Produce records until all are acknowledged."""
    from confluent_kafka import Producer

    config: dict[str, Any] = {"bootstrap.servers": bootstrap, "queue.buffering.max.messages": RECORDS, **settings}
    producer = Producer(config)
    producer.produce(topic, VALUE)
    assert producer.flush(30) == 0
    ready()
    start = perf_counter()
    for number in range(records):
        producer.produce(topic, VALUE)
        if number % 1000 == 0:
            producer.poll(0)
    assert producer.flush(60) == 0
    return Span(records, start, perf_counter())


def consuming(
    bootstrap: str, topic: str, settings: Mapping[str, object], records: int, ready: Callable[[], object]
) -> Span:
    """Read records from the start of a topic."""
    from confluent_kafka import Consumer, TopicPartition

    config = {"bootstrap.servers": bootstrap, "group.id": "bench", "enable.auto.commit": False, **settings}
    consumer = Consumer({**config, "queued.min.messages": 2 * RECORDS})
    consumer.list_topics(topic, 30)
    ready()
    start = perf_counter()
    consumer.assign([TopicPartition(topic, 0, 0)])
    count = 0
    while count < records:
        count += len(consumer.consume(5000, 30))
    end = perf_counter()
    consumer.close()
    return Span(count, start, end)


def asking(
    bootstrap: str, topic: str, settings: Mapping[str, object], records: int, ready: Callable[[], object]
) -> Span:
    """Produce records, each of which is acknowledged before the next is sent."""
    from confluent_kafka import Producer

    config: dict[str, Any] = {"bootstrap.servers": bootstrap, "linger.ms": 0, **settings}
    producer = Producer(config)
    producer.produce(topic, VALUE)
    assert producer.flush(30) == 0
    ready()
    start = perf_counter()
    for _ in range(records):
        producer.produce(topic, VALUE)
        assert producer.flush(30) == 0
    return Span(records, start, perf_counter())


def at_once() -> None:
    """One client waits for no other."""


def produce(bootstrap: str, topic: str, **settings: object) -> float:
    """Records a second that one client produces."""
    return producing(bootstrap, topic, settings, RECORDS, at_once).rate


def consume(bootstrap: str, topic: str, **settings: object) -> float:
    """Records a second that one client reads from the start of a topic."""
    return consuming(bootstrap, topic, settings, RECORDS, at_once).rate


class Crowd:
    """Several clients, each in a process of its own, which begin together."""

    def __init__(self, pool: ProcessPoolExecutor) -> None:
        self._pool = pool

    @classmethod
    @contextmanager
    def of(cls, clients: int) -> Iterator[Crowd]:
        context = get_context("spawn")
        together = context.Barrier(clients)
        with ProcessPoolExecutor(clients, context, _remember, (together,)) as pool:
            yield cls(pool)

    def rate(self, what: Measured, bootstrap: str) -> float:
        """Records a second of all clients together."""
        share = what.records // CLIENTS
        begun = [
            self._pool.submit(_together, what.client, bootstrap, f"{what.topic}-{number}", what.settings, share)
            for number in range(CLIENTS)
        ]
        spans = [each.result(300) for each in begun]
        taken = max(span.end for span in spans) - min(span.start for span in spans)
        return sum(span.records for span in spans) / taken


_barrier: list[Any] = []
"""In a process of a crowd: the barrier that its clients wait at."""


def _remember(barrier: object) -> None:
    _barrier.append(barrier)


def _together(client: Client, bootstrap: str, topic: str, settings: Mapping[str, object], records: int) -> Span:
    return client(bootstrap, topic, settings, records, partial(_barrier[0].wait, 120))


def transactions(bootstrap: str, topic: str) -> float:
    """Transactions of 100 records over 3 partitions that one producer commits per second."""
    from confluent_kafka import Producer

    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": topic, "linger.ms": 0})
    producer.init_transactions(30)
    start = perf_counter()
    for _ in range(TRANSACTIONS):
        producer.begin_transaction()
        for number in range(PER_TRANSACTION):
            producer.produce(topic, VALUE, partition=number % PARTITIONS)
        producer.commit_transaction(30)
    return TRANSACTIONS / (perf_counter() - start)


class Work(NamedTuple):
    """Work with a broker at an address, in records per second, and the ratio that is not slower.

    `processor` is the most processor time that our broker may use, as a part of Apache Kafka's.
    """

    name: str
    rate: Callable[[str], float]
    floor: float = 1.0
    processor: float | None = None


class Measured(NamedTuple):
    """Work that clients do alone and together."""

    name: str
    client: Client
    topic: str
    settings: Mapping[str, object] = {}
    records: int = RECORDS

    def alone(self, bootstrap: str) -> float:
        """Records a second of one client."""
        return self.client(bootstrap, self.topic, self.settings, self.records, at_once).rate


GOAL, PROCESSOR = 1.2, 0.2
MEASURED = (
    Measured("confluent-kafka produces 100-byte records", producing, "plain"),
    Measured("the same, with lz4", producing, "packed", {"compression.type": "lz4"}),
    Measured("the same, idempotent", producing, "exactly", {"enable.idempotence": True}),
    Measured("confluent-kafka consumes 100-byte records", consuming, "plain"),
    Measured("one record at a time, each acknowledged", asking, "single", records=ASKED_ONE_BY_ONE),
)
TRANSACTIONAL = Work(
    "transactions of 100 records over 3 partitions", lambda address: transactions(address, "transacted"), processor=0.5
)


def work(crowd: Crowd) -> Iterator[Work]:
    """All work: by one client, and by several together."""
    for each in MEASURED:
        yield Work(each.name, each.alone, GOAL, PROCESSOR)
    yield TRANSACTIONAL
    for each in MEASURED:
        yield Work(f"{CLIENTS} clients: {each.name}", partial(crowd.rate, each), GOAL, PROCESSOR)


def rows() -> Iterator[Row]:
    if not are_fetched(JARS):
        yield Row("our broker beside Apache Kafka", "not fetched", float("nan"), note="make interop fetches it")
        return
    with contenders() as (ours, theirs), Crowd.of(CLIENTS) as crowd:
        for address in (ours.address, theirs.address):
            with Admin(bootstrap_servers=address) as admin:
                admin.create_topics([NewTopic("transacted", PARTITIONS)])
        for each in work(crowd):
            yield from compare(each, ours, theirs)


@contextmanager
def contenders() -> Iterator[tuple[Contender, Contender]]:
    """Our broker and Apache Kafka, which run at the same time."""
    with tempfile.TemporaryDirectory() as directory:
        apache = ApacheBroker(ApacheKafka(), Path(directory), virtual_machine=VIRTUAL_MACHINE)
        apache.start()
        try:
            with server(*broker("--data", f"{directory}/ours")) as running:
                ours = Contender(f"127.0.0.1:{running.port}", running.process.pid)
                yield ours, Contender(apache.bootstrap, apache.process.pid)
        finally:
            apache.stop()


def compare(work: Work, ours: Contender, theirs: Contender) -> Iterator[Row]:
    """The median of the rounds' ratios; who goes first changes from round to round."""
    for _ in range(WARM_UP):
        work.rate(ours.address)
        work.rate(theirs.address)
    before = ours.processor_seconds(), theirs.processor_seconds()
    rates: list[tuple[float, float]] = []
    for number in range(ROUNDS):
        if number % 2:
            second = work.rate(theirs.address)
            rates.append((work.rate(ours.address), second))
        else:
            rates.append((work.rate(ours.address), work.rate(theirs.address)))
    used = ours.processor_seconds() - before[0], theirs.processor_seconds() - before[1]
    usual = median(one for one, _ in rates), median(other for _, other in rates)
    note = f"{usual[0]:,.0f}/s against {usual[1]:,.0f}/s; processor time {used[0]:.1f} s against {used[1]:.1f} s"
    yield Row(work.name, "x Apache Kafka", median(one / other for one, other in rates), work.floor, note=note)
    if work.processor is not None:
        name = f"processor time of {work.name}"
        yield Row(name, "x Apache Kafka", used[0] / used[1], work.processor, at_most=True)
