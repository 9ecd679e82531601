"""Acknowledged means written, whatever request comes in the same read and whichever file operation fails.

Every served API is sent between two Produce requests, in one read, while one kind of file operation fails. Then the
disk heals: each record whose answer said success is there at its offset, and no other, also after kill -9.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.node_requests import batch
from tests.broker.raw_connection import Peer

from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.messages import ApiVersionsRequest, ProduceRequest
from kafkawire.testing import RunningBroker
from kafkawire.testing.faulty_files import Fault, FaultyFiles
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from kafkawire.messages import Message

OPERATIONS = ("write", "sync", "truncate", "create", "rename", "sync_directory")
APIS = [each.api.name for each in served_apis().values()]
TOPICS = ("first", "second")


class Disk:
    """A broker on a disk that fails on demand."""

    def __init__(self, *, joins: bool = False, **config: str) -> None:
        self.files = FaultyFiles()
        self.joins = joins  # whether Produce requests may join a run, which they may not while a test watches requests
        self._config = {"log.segment.bytes": "2000", **{name.replace("_", "."): text for name, text in config.items()}}
        self.broker = RunningBroker(files=self.files, config=self._config)
        self.sent = 0

    def produce(self, acks: int = 1, topics: tuple[str, ...] = TOPICS) -> ProduceRequest:
        """A request with one record of its own for each topic."""
        self.sent += 1
        value = b"%d" % self.sent
        data = ProduceRequest.PartitionProduceData(index=0, records=batch(value, timestamp=-1))
        named = [ProduceRequest.TopicProduceData(name=name, partition_data=[data]) for name in topics]
        return ProduceRequest(acks=acks, timeout_ms=10_000, topic_data=named)

    def stored(self, broker: RunningBroker) -> dict[str, dict[int, int]]:
        """Offsets and values of everything that is there."""
        return {name: {each.offset: int(each.value or b"0") for each in broker.records(name)} for name in TOPICS}

    def killed(self) -> dict[str, dict[int, int]]:
        """The records that a restart after kill -9 finds."""
        with RunningBroker(files=self.files.killed(), config=self._config) as again:
            return self.stored(again)


@pytest.fixture
def disk(request: pytest.FixtureRequest) -> Iterator[Disk]:
    made = Disk(**getattr(request, "param", {}))
    with made.broker as broker:
        for name in TOPICS:
            broker.create_topic(name)
        if made.joins:
            broker.broker.dispatcher.interceptor = broker.broker.node.guard = None
        yield made


def exchange(broker: RunningBroker, requests: Sequence[tuple[Message, int]]) -> list[Any]:
    """The answers to requests that arrive in one read; fewer if the broker closes the connection."""
    frames = [encode_request(each, version=version, correlation_id=7, client_id="c") for each, version in requests]
    answers = []
    with Peer(broker) as peer:
        peer.socket.sendall(b"".join(frames))
        for each, version in requests:
            if isinstance(each, ProduceRequest) and not each.acks:
                continue
            key = type(each).__schema__.key
            assert key is not None
            try:
                answers.append(decode_response(peer.read_frame(), api_key=key, version=version)[1])
            except (EOFError, ConnectionError):
                break
    return answers


def acknowledged(requests: Sequence[tuple[Message, int]], answers: list[Any]) -> dict[str, dict[int, int]]:
    """Offsets and values of the records that clients were promised."""
    promised: dict[str, dict[int, int]] = {name: {} for name in TOPICS}
    for (request, _), answer in zip(requests, answers, strict=False):
        if isinstance(request, ProduceRequest):
            for asked, told in zip(request.topic_data, answer.responses, strict=True):
                (one,) = told.partition_responses
                if not one.error_code:
                    assert one.base_offset >= 0
                    records = asked.partition_data[0].records
                    assert records is not None
                    promised[told.name][one.base_offset] = value_of(bytes(records))
    return promised


def value_of(records: bytes) -> int:
    from tests.broker.node_requests import values

    (value,) = values(records)
    assert value is not None
    return int(value)


def neighbour(name: str) -> tuple[Message, int]:
    """A request of an API with nothing asked for in particular, at a version that most clients use."""
    served = next(each for each in served_apis().values() if each.api.name == name)
    return served.api.request(), served.versions.last


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(
    "disk", [{}, {"joins": True}, {"flush_on_ack": "true"}], indirect=True, ids=["default", "runs", "flush.on.ack"]
)
def test_with_every_api_in_the_same_read(disk: Disk, operation: str) -> None:
    promised: dict[str, dict[int, int]] = {name: {} for name in TOPICS}
    for api in APIS:
        if api == "Produce":
            continue
        for requests in (
            [(disk.produce(), 9), neighbour(api), (disk.produce(), 9)],
            [(disk.produce(), 9), (disk.produce(), 9), neighbour(api)],
            [neighbour(api), (disk.produce(), 9), (disk.produce(topics=("second",)), 9), neighbour(api)],
        ):
            fault = Fault(operation, error=errno.ENOSPC, keep=11, sticky=True)
            disk.files.arm(fault)
            answers = exchange(disk.broker, requests)
            disk.files.faults.clear()
            for name, records in acknowledged(requests, answers).items():
                assert not promised[name].keys() & records.keys(), f"{api}: an offset of {name} was given out twice"
                promised[name] |= records
            check(disk.stored(disk.broker), promised, api)
        healed = [(disk.produce(), 9)]
        for name, records in acknowledged(healed, exchange(disk.broker, healed)).items():
            assert records, f"{api}: {name} takes no records after the disk has healed"
            promised[name] |= records
    check(disk.stored(disk.broker), promised, "all")
    check(disk.killed(), promised, "kill -9")


def check(stored: dict[str, dict[int, int]], promised: dict[str, dict[int, int]], what: str) -> None:
    for name in TOPICS:
        lost = {offset: value for offset, value in promised[name].items() if stored[name].get(offset) != value}
        assert not lost, f"{what}: acknowledged in {name} and not there: {lost}, found {stored[name]}"


@pytest.mark.parametrize("disk", [{}, {"joins": True}], indirect=True, ids=["default", "runs"])
@pytest.mark.parametrize("after", range(6))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_with_a_pipeline_of_produces_and_a_fault_at_any_moment(disk: Disk, operation: str, after: int) -> None:
    promised: dict[str, dict[int, int]] = {name: {} for name in TOPICS}
    for sticky in (False, True):
        requests: list[tuple[Message, int]] = []
        for number in range(40):
            requests.append((disk.produce(topics=TOPICS if number % 3 else ("first",)), 9))
            if number % 11 == 10:
                requests.append((ApiVersionsRequest(), 3))
        disk.files.arm(Fault(operation, after, errno.EIO, keep=30, sticky=sticky))
        answers = exchange(disk.broker, requests)
        disk.files.faults.clear()
        assert len(answers) == len(requests)
        for name, records in acknowledged(requests, answers).items():
            promised[name] |= records
    check(disk.stored(disk.broker), promised, "after the fault")
    check(disk.killed(), promised, "kill -9")


@pytest.mark.parametrize("disk", [{}, {"joins": True}], indirect=True, ids=["default", "runs"])
def test_a_failed_write_without_acknowledgements_closes_the_connection(disk: Disk) -> None:
    disk.files.arm(Fault("write", error=errno.ENOSPC, sticky=True))
    requests = [(disk.produce(acks=1), 9), (disk.produce(acks=0), 9), (ApiVersionsRequest(), 3)]
    answers = exchange(disk.broker, requests)
    disk.files.faults.clear()
    assert [one.error_code for told in answers[0].responses for one in told.partition_responses] == [56, 56]
    assert len(answers) == 1
    assert disk.stored(disk.broker) == {"first": {}, "second": {}}
