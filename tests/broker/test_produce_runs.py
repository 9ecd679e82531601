"""Produce requests that are served as a run, against the same requests served one by one by the handler.

Random pipelines go over real sockets to two brokers that differ in nothing else: an interceptor that only passes
requests on lets no request of the second one join a run. Answers, files, producers and metrics must be the same.
"""

from __future__ import annotations

import asyncio
from copy import deepcopy
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

import pytest
from tests.broker.raw_connection import Peer

from kafkawire.broker._ops.process import new_loop
from kafkawire.messages import (
    ApiVersionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
    DescribeProducersRequest,
    FetchRequest,
    IncrementalAlterConfigsRequest,
    ListOffsetsRequest,
    ProduceRequest,
    ProduceResponse,
)
from kafkawire.records import BatchBuilder, crc32c
from kafkawire.testing import RunningBroker
from kafkawire.testing.faulty_files import Fault, FaultyFiles
from kafkawire.testing.manual_clock import ManualClock
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire.messages import Message

    Sent = tuple[Message, int, str | None]

NOW: Final = 1_700_000_000_000
TOPICS: Final = {
    "plain": {},
    "small": {"segment.bytes": "1500", "segment.index.bytes": "100", "index.interval.bytes": "0"},
    "compacted": {"cleanup.policy": "compact"},
    "stamped": {"message.timestamp.type": "LogAppendTime"},
    "packed": {"compression.type": "gzip"},
    "narrow": {"max.message.bytes": "600"},
    "strict": {"min.insync.replicas": "2"},
    "synced": {"flush.messages": "1"},
    "timed": {"segment.ms": "1000"},
}
CHANGES: Final = (
    ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.type", "CreateTime"),
    ("max.message.bytes", "500"),
    ("max.message.bytes", "100000"),
    ("cleanup.policy", "compact"),
    ("cleanup.policy", "delete"),
    ("compression.type", "lz4"),
    ("compression.type", "producer"),
    ("segment.bytes", "2000"),
    ("min.insync.replicas", "2"),
    ("min.insync.replicas", "1"),
    ("flush.messages", "2"),
    ("flush.messages", str(2**63 - 1)),
)


class Pipeline:
    """Random requests of a client that mostly does the usual, and sometimes anything else."""

    def __init__(self, dice: Random, ids: dict[str, UUID]) -> None:
        self.dice = dice
        self.ids = ids
        self.version = dice.randint(3, 13)
        self.sequences: dict[tuple[str, int, int], int] = {}
        self.sent: list[bytes] = []

    def burst(self, count: int) -> list[Sent]:
        """Requests with their versions and client ids, to be sent at once."""
        return [self.request() for _ in range(count)]

    def request(self) -> tuple[Message, int, str | None]:
        dice = self.dice
        client = "c" if dice.random() < 0.95 else dice.choice(["other", None, "__admin_client", "ü" * 70])
        if dice.random() < 0.12:
            return *self.neighbour(), client
        version = self.version if dice.random() < 0.95 else dice.randint(3, 13)
        acks = dice.choice([1] * 12 + [-1] * 6 + [0] + ([2] if dice.random() < 0.2 else []))
        data: dict[str, list[Any]] = {}
        # a failure with acks=0 and several partitions closes the connection when the records of others are written
        for _ in range(1 if not acks or dice.random() < 0.6 else dice.randint(0, 4)):
            name = dice.choice([*TOPICS, *("plain",) * 6, *("small",) * 3])
            if dice.random() < 0.02:
                name = dice.choice(["missing", "__consumer_offsets", "", "plain\0"])
            index = dice.choice([0, 0, 0, 1, 1, 9 if dice.random() < 0.1 else 0])
            records = self.records(name, index)
            data.setdefault(name, []).append(ProduceRequest.PartitionProduceData(index=index, records=records))
        topics = [
            ProduceRequest.TopicProduceData(
                name=name if version < 13 else "",
                topic_id=self.ids.get(name, UUID(int=77)) if version >= 13 else UUID(int=0),
                partition_data=partitions,
            )
            for name, partitions in data.items()
        ]
        transactional_id = "t" if dice.random() < 0.01 else None
        return (
            ProduceRequest(transactional_id=transactional_id, acks=acks, timeout_ms=5000, topic_data=topics),
            version,
            client,
        )

    def neighbour(self) -> tuple[Message, int]:
        dice = self.dice
        name = dice.choice(list(TOPICS))
        kind = dice.randrange(9)
        if kind == 0:
            topic = ListOffsetsRequest.ListOffsetsTopic(
                name=name, partitions=[ListOffsetsRequest.ListOffsetsPartition(partition_index=0, timestamp=-1)]
            )
            return ListOffsetsRequest(replica_id=-1, topics=[topic]), 7
        if kind == 1:
            wanted = FetchRequest.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100_000)
            topics = [FetchRequest.FetchTopic(topic=name, partitions=[wanted])]
            return FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1_000_000, topics=topics), 12
        if kind == 2:
            part = DeleteRecordsRequest.DeleteRecordsPartition(partition_index=0, offset=dice.choice([0, 1, -1]))
            shortened = DeleteRecordsRequest.DeleteRecordsTopic(name=name, partitions=[part])
            return DeleteRecordsRequest(topics=[shortened], timeout_ms=5000), 2
        if kind == 3:
            setting, value = dice.choice(CHANGES)
            change = IncrementalAlterConfigsRequest.AlterableConfig(name=setting, value=value, config_operation=0)
            resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
                resource_type=2, resource_name=name, configs=[change]
            )
            return IncrementalAlterConfigsRequest(resources=[resource]), 1
        if kind == 4:
            return DeleteTopicsRequest(topic_names=["timed"], timeout_ms=5000), 5
        if kind == 5:
            made = CreateTopicsRequest.CreatableTopic(name="timed", num_partitions=2, replication_factor=1)
            return CreateTopicsRequest(topics=[made], timeout_ms=5000), 4
        if kind == 6:
            asked = DescribeProducersRequest.TopicRequest(name=name, partition_indexes=[0, 1])
            return DescribeProducersRequest(topics=[asked]), 0
        return ApiVersionsRequest(client_software_name="a", client_software_version="1"), 3

    def records(self, name: str, index: int) -> bytes | None:
        dice = self.dice
        if dice.random() < 0.05 and self.sent:
            return dice.choice(self.sent)
        producer = dice.choice([-1, -1, 5, 6])
        epoch = sequence = -1
        count = dice.randint(1, 4)
        if producer >= 0:
            place = name, index, producer
            epoch, sequence = 0, self.sequences.get(place, 0)
            self.sequences[place] = sequence + count
            if dice.random() < 0.05:
                epoch, sequence = dice.choice([(1, 0), (0, sequence + 3), (0, max(0, sequence - 1)), (-1, 0), (0, -1)])
        codec = dice.choice(["none"] * 8 + ["gzip", "snappy", "lz4", "zstd"])
        if dice.random() < 0.03:
            builder = BatchBuilder(magic=dice.choice([0, 1]))
        elif producer < 0:
            builder = BatchBuilder(compression=codec)
        else:
            builder = BatchBuilder(
                compression=codec,
                producer_id=producer,
                producer_epoch=epoch,
                base_sequence=sequence,
                is_transactional=dice.random() < 0.02,
            )
        for number in range(count):
            key = None if dice.random() < 0.1 else b"k%d" % dice.randint(0, 5)
            late = dice.choice([0, 0, 0, 0, -5, 700, 2000, 10**8 if dice.random() < 0.1 else 1])
            stamp = -1 if dice.random() < 0.01 else NOW + late
            builder.append(key, bytes(dice.randint(0, 120)) + b"%d" % number, timestamp=stamp)
        records = builder.build()
        self.sent.append(records)
        return records if dice.random() < 0.95 else self.spoil(records)

    def spoil(self, records: bytes) -> bytes | None:
        """A batch with something wrong, and with the right CRC unless that is wrong."""
        dice, data = self.dice, bytearray(records)
        kind = dice.randrange(8)
        if kind == 0:
            return dice.choice([None, b"", records[:30], records[:-1], records[:61]])
        if kind == 1:
            return records + dice.choice([records, b"x", bytes(70)])
        if kind == 2:
            data[dice.randrange(len(data))] ^= 1 << dice.randrange(8)
            return bytes(data)
        if kind == 3:
            data[0:8] = (5).to_bytes(8, "big")
            return bytes(data)
        if len(data) > 61:
            at = {4: 22, 5: 26, 6: 60, 7: dice.randrange(21, len(data))}[kind]
            data[at] ^= 1 << dice.randrange(8)
            data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
        return bytes(data)


class Scene:
    """A broker on files in memory, with a clock that stands still."""

    def __init__(self, files: FaultyFiles, *, joins: bool, **config: str) -> None:
        self.files = files
        self.broker = RunningBroker(
            files=files, clock=ManualClock(NOW), config={name.replace("_", "."): each for name, each in config.items()}
        )
        self.broker.start()
        inner = self.broker.broker
        inner.node.guard = None
        inner.dispatcher.interceptor = None if joins else lambda context, request, serve: serve()
        self.joined = 0
        join = inner.dispatcher.run.join

        def counted(*arguments: Any) -> bool:
            done = join(*arguments)
            self.joined += done
            return done

        vars(inner.dispatcher.run)["join"] = counted

    def exchange(self, bursts: list[list[Sent]]) -> list[list[bytes | str]]:
        """Send each burst in one piece; the frames of the answers, and whether the connection was closed."""
        answers: list[list[bytes | str]] = []
        for burst in bursts:
            found: list[bytes | str] = []
            answers.append(found)
            with Peer(self.broker) as peer:
                frames = [
                    encode_request(each, version=version, correlation_id=number, client_id=client)
                    for number, (each, version, client) in enumerate(burst)
                ]
                peer.socket.sendall(b"".join(frames))
                answered = [each for each, _, _ in burst if not isinstance(each, ProduceRequest) or each.acks]
                try:
                    for _ in answered:
                        found.append(peer.read_frame())  # noqa: PERF401  # an error must not lose those before it
                except (EOFError, ConnectionError):
                    found.append("closed")
        return answers

    def finish(self) -> dict[str, Any]:
        """Stop the broker; everything that must not depend on the way in which requests were served."""
        node, metrics = self.broker.broker.node, self.broker.broker.metrics
        state: dict[str, Any] = {
            f"{name}-{index}": (
                log.end_offset,
                log.log_start_offset,
                log.recovery_point,
                [segment.base_offset for segment in log.segments],
                deepcopy(dict(log.producers.entries)),
                dict(log.producers.open),
            )
            for (name, index), log in node.logs.partitions.items()
            if not name.startswith("__")
        }
        for name, api in metrics.apis.items():
            state[name] = api.requests, api.bytes_in, api.bytes_out, sum(api.buckets), dict(sorted(api.errors.items()))
        state["clients"] = {
            name: (counts.requests, counts.bytes_in, counts.bytes_out) for name, counts in metrics.clients.shown()
        }
        self.broker.stop()
        for path, file in self.files.names.items():
            if path.parent.name.rpartition("-")[0] in TOPICS and path.name != "partition.metadata":
                state[str(path)] = bytes(file.data)
        return state


@pytest.fixture(scope="module")
def prepared() -> tuple[FaultyFiles, dict[str, UUID]]:
    """Files with every topic, and the topics' ids."""
    files = FaultyFiles()
    with RunningBroker(files=files, clock=ManualClock(NOW)) as broker:
        for name, config in TOPICS.items():
            broker.call(partial(broker.broker.node.create_topic, name, 2, config))
        ids = {name: broker.broker.node.topics.by_name[name].id for name in TOPICS}
    return files, ids


@pytest.fixture
def open_scene(prepared: tuple[FaultyFiles, dict[str, UUID]]) -> Iterator[Callable[..., Scene]]:
    made: list[Scene] = []

    def make(**settings: Any) -> Scene:
        made.append(Scene(prepared[0].killed(), **settings))
        return made[-1]

    yield make
    for scene in made:
        scene.broker.stop()


@pytest.mark.parametrize("seed", range(12))
def test_random_pipelines(
    open_scene: Callable[..., Scene], prepared: tuple[FaultyFiles, dict[str, UUID]], seed: int
) -> None:
    dice = Random(seed)
    pipeline = Pipeline(dice, prepared[1])
    bursts = [pipeline.burst(dice.choice([1, 2, 10, 60])) for _ in range(12)]
    runs, single = open_scene(joins=True), open_scene(joins=False)
    for number, (ours, theirs) in enumerate(zip(runs.exchange(bursts), single.exchange(bursts), strict=True)):
        assert ("closed" in ours) == ("closed" in theirs), f"burst {number}"
        if "closed" in ours:
            continue  # which answers left before depends on how the bytes arrived
        for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            assert one == other, f"burst {number}, answer {place}"
    assert runs.joined > 20
    assert single.joined == 0
    found, expected = runs.finish(), single.finish()
    assert found.keys() == expected.keys()
    for name, value in expected.items():
        assert found[name] == value, name


def produce(*values: bytes, producer: tuple[int, int, int] = (-1, -1, -1)) -> ProduceRequest:
    producer_id, epoch, sequence = producer
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence)
    for value in values:
        builder.append(b"k", value, timestamp=NOW)
    data = ProduceRequest.PartitionProduceData(index=0, records=builder.build())
    return ProduceRequest(acks=1, timeout_ms=5000, topic_data=[topic_data("plain", data)])


def topic_data(name: str, *data: ProduceRequest.PartitionProduceData) -> ProduceRequest.TopicProduceData:
    return ProduceRequest.TopicProduceData(name=name, partition_data=list(data))


def plainly(requests: Iterable[ProduceRequest]) -> list[Sent]:
    """A burst of one version and one client."""
    return [(request, 9, "c") for request in requests]


def outcomes(answers: list[bytes | str]) -> list[tuple[int, int]]:
    """Error code and base offset of each answer, about one partition each."""
    found = []
    for answer in answers:
        assert isinstance(answer, bytes)
        response = decode_response(answer, response=ProduceResponse, version=9)[1]
        (one,) = response.responses[0].partition_responses
        found.append((one.error_code, one.base_offset))
    return found


def test_a_run_is_one_write(open_scene: Callable[..., Scene]) -> None:
    scene = open_scene(joins=True)
    scene.exchange([plainly([produce(b"first")])])
    before = scene.files.counts["write"]
    (answers,) = scene.exchange([plainly(produce(b"%d" % number) for number in range(20))])
    assert outcomes(answers) == [(0, number) for number in range(1, 21)]
    assert scene.joined == 21
    assert scene.files.counts["write"] - before < 5  # the bytes may arrive in more than one read


def test_the_numbers_of_a_producer_are_checked_in_order(open_scene: Callable[..., Scene]) -> None:
    scene = open_scene(joins=True)
    sequences = [0, 1, 0, 3, 2, 2, 3]  # a repetition, a gap, and what was missing
    (answers,) = scene.exchange([plainly(produce(b"v", producer=(5, 0, each)) for each in sequences)])
    assert outcomes(answers) == [(0, 0), (0, 1), (0, 0), (45, -1), (0, 2), (0, 2), (0, 3)]
    assert scene.joined == 7


def test_a_failing_disk_is_reported_to_every_request_of_the_run(open_scene: Callable[..., Scene]) -> None:
    scene = open_scene(joins=True)
    scene.exchange([plainly([produce(b"first")])])
    scene.files.arm(Fault("write", keep=70, sticky=True))
    burst = plainly(produce(b"v", producer=(5, 0, each)) for each in range(8))
    (answers,) = scene.exchange([burst])
    assert outcomes(answers) == [(56, -1)] * 8
    scene.files.faults.clear()
    (later,) = scene.exchange([burst[1:2]])
    assert outcomes(later) == [(45, -1)], "the disk refused the batch before it"
    (again,) = scene.exchange([burst])
    assert outcomes(again) == [(0, number) for number in range(1, 9)]
    with RunningBroker(files=scene.files.killed(), clock=ManualClock(NOW)) as broker:
        assert [record.value for record in broker.records("plain")] == [b"first"] + [b"v"] * 8


@pytest.mark.parametrize("seed", range(20))
def test_nothing_acknowledged_is_lost_while_the_disk_fails_now_and_then(
    open_scene: Callable[..., Scene], seed: int
) -> None:
    scene, dice = open_scene(joins=True), Random(seed)
    promised: dict[tuple[str, int], bytes] = {}
    number, following = 0, {"plain": 0, "small": 0}
    for _ in range(15):
        if dice.random() < 0.7:
            kind = dice.choice(["write", "write", "truncate", "create"])
            scene.files.arm(Fault(kind, dice.randrange(6), keep=dice.randrange(200), sticky=dice.random() < 0.3))
        burst: list[Sent] = []
        sent: list[tuple[str, bytes, int]] = []
        sequences = dict(following)
        for _ in range(dice.choice([1, 3, 12])):
            name, number = dice.choice(["plain", "small"]), number + 1
            sequence = sequences[name] if dice.random() < 0.5 else -1
            # a batch that was stored although its write failed is repeated as it was
            value = bytes(300 * (number % 2)) + b"%d" % number if sequence < 0 else b"%d of 5" % sequence
            request = produce(value, producer=(-1, -1, -1) if sequence < 0 else (5, 0, sequence))
            request.topic_data[0].name = name
            sequences[name] += sequence >= 0
            burst.append((request, 9, dice.choice(["c", "c", "c", "other"])))  # the other one does not join
            sent.append((name, value, sequence))
        (answers,) = scene.exchange([burst])
        scene.files.faults.clear()
        for (name, value, sequence), (code, offset) in zip(sent, outcomes(answers), strict=True):
            if not code:
                assert promised.setdefault((name, offset), value) == value, "an offset was given out twice"
                following[name] = max(following[name], sequence + 1)
    with RunningBroker(files=scene.files.killed(), clock=ManualClock(NOW)) as broker:
        for name in ("plain", "small"):
            stored = {record.offset: record.value for record in broker.records(name)}
            expected = {offset: value for (topic, offset), value in promised.items() if topic == name}
            assert {offset: stored.get(offset) for offset in expected} == expected


@pytest.mark.parametrize("loop", [asyncio.new_event_loop, new_loop], ids=["asyncio", "default"])
def test_no_answer_leaves_after_a_failure_that_closes_the_connection(
    open_scene: Callable[..., Scene], monkeypatch: pytest.MonkeyPatch, loop: Callable[[], asyncio.AbstractEventLoop]
) -> None:
    monkeypatch.setattr("kafkawire.testing._running.new_loop", loop)
    unanswered = produce(b"a")
    unanswered.acks = 0
    unanswered.topic_data.append(topic_data("missing", *unanswered.topic_data[0].partition_data))
    old = produce(b"b")
    burst: list[Sent] = [(unanswered, 9, "c"), (old, 2, "c"), (produce(b"c"), 9, "c")]
    for joins in (True, False):
        scene = open_scene(joins=joins)
        scene.exchange([plainly([produce(b"first")])])  # which imports the handler
        (answers,) = scene.exchange([burst])
        assert answers == ["closed"]
