"""Clients above their quotas on real sockets and in real time, for a few seconds or a minute.

Rules:
- The burst that a quota allows is used up before anything is measured: a window of samples, or a full bucket.
- A rate is what the client sees: acknowledged bytes, received bytes, created topics, answered connections.
- A throttled Fetch is not paid for. So Kafka's formula serves a fast consumer a burst of a whole window, then nothing
  until the burst leaves the window. Responses that are small beside the quota fill the window to its end.
- The clients are confluent-kafka's where it has the call. It ignores throttle times, so that only muting limits it.
"""

from __future__ import annotations

import statistics
import threading
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import confluent_kafka
from tests.broker.raw_connection import Peer

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.messages import ApiVersionsRequest, MetadataRequest
from kafkawire.messages.errors import ThrottlingQuotaExceededError
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VALUE = b"x" * 10_000
FETCH = 50_500
"""Five batches of one record. An incomplete batch at the end of a response is paid for and not delivered."""
NOISY, NEIGHBOUR = "noisy", "neighbour"


class Noise:
    """Work of a client in a thread of its own, and how much of it is done."""

    def __init__(self, work: Callable[[Callable[[float], None], threading.Event], None]) -> None:
        self.done = 0.0
        self._stop = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(work,))

    def _run(self, work: Callable[[Callable[[float], None], threading.Event], None]) -> None:
        try:
            work(self._add, self._stop)
        except BaseException as error:
            self._failure = error

    def _add(self, amount: float) -> None:
        self.done += amount

    def __enter__(self) -> Noise:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(60)
        if self._failure is not None:
            raise self._failure


def rates(seconds: float, *noises: Noise) -> list[float]:
    """How much each has done per second, measured for some seconds."""
    began, before = time.monotonic(), [each.done for each in noises]
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    return [(each.done - first) / elapsed for each, first in zip(noises, before, strict=True)]


@contextmanager
def limited(window: int, entity: dict[str, str], **quotas: float) -> Iterator[RunningBroker]:
    """A broker with quotas of an entity; rates are averages over a window of so many seconds."""
    settings = {"quota.window.num": window + 1, "controller.quota.window.num": window + 1, "num.partitions": 1}
    with RunningBroker(config=settings) as broker, Admin(broker.client_config) as admin:
        admin.alter_client_quotas([(entity, quotas)])
        yield broker


def producing(broker: RunningBroker, topic: str) -> Noise:
    """A producer that sends as fast as it may; counts acknowledged bytes."""

    def work(add: Callable[[float], None], stop: threading.Event) -> None:
        settings = {
            **broker.client_config,
            "client.id": NOISY,
            "batch.size": 20_000,
            "queue.buffering.max.messages": 200,
        }
        producer: Any = confluent_kafka.Producer(settings)

        def delivered(error: object, message: Any) -> None:
            add(0 if error else len(VALUE))

        while not stop.is_set():
            try:
                producer.produce(topic, VALUE, on_delivery=delivered)
            except BufferError:
                producer.poll(0.05)
            producer.poll(0)
        producer.purge()
        producer.flush(5)

    return Noise(work)


def consuming(broker: RunningBroker, topic: str) -> Noise:
    """A consumer that reads as fast as it may, again and again; counts received bytes."""

    def work(add: Callable[[float], None], stop: threading.Event) -> None:
        settings = {
            **broker.client_config,
            "client.id": NOISY,
            "group.id": NOISY,
            "fetch.message.max.bytes": FETCH,
        }
        consumer: Any = confluent_kafka.Consumer(settings)
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, confluent_kafka.OFFSET_BEGINNING)])
        while not stop.is_set():
            message = consumer.poll(0.1)
            if message is not None and message.error() is None:
                add(len(message.value()))
        consumer.close()

    return Noise(work)


def asking(broker: RunningBroker) -> Noise:
    """A client that asks for metadata all the time; counts the broker's busy seconds."""

    def work(add: Callable[[float], None], stop: threading.Event) -> None:
        metrics = broker.broker.metrics.of("Metadata")
        with Peer(broker, 60) as peer:
            peer.client_id = NOISY
            while not stop.is_set():
                before = metrics.seconds
                peer.call(MetadataRequest(topics=None), 12)
                add(metrics.seconds - before)

    return Noise(work)


def creating(broker: RunningBroker) -> Noise:
    """A client that creates topics all the time, and tries again when it is refused; counts topics."""

    def work(add: Callable[[float], None], stop: threading.Event) -> None:
        number = 0
        with Admin(broker.client_config, client_id=NOISY) as admin:
            while not stop.is_set():
                try:
                    admin.create_topics([NewTopic(f"t{number}", 1)])
                except ThrottlingQuotaExceededError:
                    continue
                number += 1
                add(1)

    return Noise(work)


def connecting(broker: RunningBroker) -> Noise:
    """A client that connects all the time; counts the connections that are answered."""

    def work(add: Callable[[float], None], stop: threading.Event) -> None:
        waiting: list[threading.Thread] = []

        def connect() -> None:
            try:
                with Peer(broker, 10) as peer:
                    peer.call(ApiVersionsRequest(), 0)
                    add(1)
            except (TimeoutError, OSError, EOFError):
                pass

        while not stop.is_set():
            waiting = [each for each in waiting if each.is_alive()]
            if len(waiting) < 30:
                waiting.append(threading.Thread(target=connect))
                waiting[-1].start()
            time.sleep(0.01)
        for each in waiting:
            each.join(30)

    return Noise(work)


def latencies(broker: RunningBroker, topic: str, seconds: float) -> list[float]:
    """The time of each acknowledgement that the neighbour waits for."""
    producer: Any = confluent_kafka.Producer({**broker.client_config, "client.id": NEIGHBOUR, "linger.ms": 0})
    found = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        began = time.perf_counter()
        producer.produce(topic, b"x")
        assert producer.flush(30) == 0
        found.append(time.perf_counter() - began)
        time.sleep(0.01)
    return found


def check_bytes(
    seconds: float, window: int, quota: float, tolerance: float, fetched: tuple[float, float]
) -> dict[str, float]:
    """A noisy producer and a noisy consumer are held to their rates, and their neighbour does not feel them."""
    limits = {"producer_byte_rate": quota, "consumer_byte_rate": quota}
    with limited(window, {"client-id": NOISY}, **limits) as broker:
        for name in ("in", "out", "calm"):
            broker.create_topic(name)
        for _ in range(int(quota * (seconds + 3 * window) * 1.5 / len(VALUE))):
            broker.produce("out", VALUE)
        alone = latencies(broker, "calm", min(seconds, 10))
        with producing(broker, "in") as producer, consuming(broker, "out") as consumer:
            time.sleep(2 * window)
            beside: list[float] = []
            neighbour = threading.Thread(target=lambda: beside.extend(latencies(broker, "calm", seconds)))
            neighbour.start()
            produced, consumed = rates(seconds, producer, consumer)
            neighbour.join()
    found = {
        "produced": produced / quota,
        "consumed": consumed / quota,
        "median alone ms": statistics.median(alone) * 1000,
        "median beside ms": statistics.median(beside) * 1000,
        "p99 alone ms": statistics.quantiles(alone, n=100)[-1] * 1000,
        "p99 beside ms": statistics.quantiles(beside, n=100)[-1] * 1000,
    }
    assert abs(found["produced"] - 1) < tolerance, found
    assert fetched[0] < found["consumed"] < fetched[1], found
    assert found["median beside ms"] < found["median alone ms"] + 20, found
    assert found["p99 beside ms"] < found["p99 alone ms"] + 250, found
    return found


def check_requests(seconds: float, window: int, percentage: float, tolerance: float) -> float:
    """The time of a client's requests is held to its percentage."""
    with limited(window, {"client-id": NOISY}, request_percentage=percentage) as broker:
        for number in range(50):  # few, because a throttle time is at most a second: a long request pays too little
            broker.create_topic(f"t{number}")
        with asking(broker) as noise:
            time.sleep(2 * window)
            (busy,) = rates(seconds, noise)
    assert abs(busy * 100 / percentage - 1) < tolerance, busy
    return busy * 100 / percentage


def check_mutations(seconds: float, window: int, rate: float, tolerance: float) -> float:
    """The partitions that a client creates are held to their rate."""
    with limited(window, {"client-id": NOISY}, controller_mutation_rate=rate) as broker, creating(broker) as noise:
        while noise.done < rate * (window + 2):  # the bucket is full at first
            time.sleep(0.05)
        (created,) = rates(seconds, noise)
    assert abs(created / rate - 1) < tolerance, created
    return created / rate


def check_connections(seconds: float, window: int, rate: float, tolerance: float) -> float:
    """The connections of an address are held to their rate."""
    with limited(window, {"ip": "127.0.0.1"}, connection_creation_rate=rate) as broker, connecting(broker) as noise:
        time.sleep(2 * window)
        (connected,) = rates(seconds, noise)
    assert abs(connected / rate - 1) < tolerance, connected
    return connected / rate
