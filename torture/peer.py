"""A plain socket that speaks the protocol: requests one by one, or many that arrive in one read of the broker."""

from __future__ import annotations

import socket
import struct
from time import time_ns
from typing import TYPE_CHECKING, Any, NamedTuple, Self, cast

from kafkawire.messages import (
    CreateTopicsRequest,
    DeleteTopicsRequest,
    FetchRequest,
    InitProducerIdRequest,
    ListOffsetsRequest,
    Message,
    MetadataRequest,
    OffsetCommitRequest,
    OffsetFetchRequest,
    ProduceRequest,
    api,
)
from kafkawire.messages.errors import error
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.wire import decode_response, encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MEGABYTE = 1 << 20


class Asked(NamedTuple):
    """A request and the version that carries it."""

    request: Message
    version: int

    @property
    def key(self) -> int:
        return cast("int", type(self.request).__schema__.key)

    def frame(self, correlation_id: int = 1) -> bytes:
        return encode_request(self.request, version=self.version, correlation_id=correlation_id, client_id="torture")


class Peer:
    """One connection."""

    def __init__(self, port: int, timeout: float = 30.0) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self.socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._input.close()
        self.socket.close()

    def ask(self, asked: Asked) -> Any:
        """The answer to a request; OSError or EOFError where there is none."""
        self.send([asked])
        return self.receive(asked)

    def send(self, together: Sequence[Asked]) -> None:
        """Send requests that arrive together."""
        self.socket.sendall(b"".join(each.frame() for each in together))

    def receive(self, asked: Asked) -> Any:
        frame = self.read_frame()
        return decode_response(frame, api_key=asked.key, version=asked.version, correlation_id=1)[1]

    def read_frame(self) -> bytes:
        head = self._input.read(4)
        size = struct.unpack(">i", head)[0] if len(head) == 4 else 0
        body = self._input.read(size)
        if len(head) < 4 or len(body) < size:
            raise EOFError("the broker closed the connection")
        return head + body

    def read(self, topic: str, partition: int, start: int) -> Iterator[tuple[int, bytes]]:
        """Offsets and values of a partition, up to the end that readers see."""
        while True:
            answered = self.ask(fetch(topic, partition, start)).responses[0].partitions[0]
            check(answered.error_code, f"fetching {topic}-{partition} from {start}")
            found = False
            for batch in read_batches(answered.records or b""):
                for record in batch.records():
                    if record.offset >= start:
                        found = True
                        yield record.offset, bytes(record.value or b"")
                start = max(start, batch.next_offset)
            if not found:
                return

    def committed(self, group: str, place: tuple[str, int]) -> int:
        topic = OffsetFetchRequest.OffsetFetchRequestTopic(name=place[0], partition_indexes=[place[1]])
        answered = self.ask(Asked(OffsetFetchRequest(group_id=group, topics=[topic]), 5))
        check(answered.error_code, f"offsets of {group}")
        return int(answered.topics[0].partitions[0].committed_offset)

    def topics(self) -> set[str]:
        answered = self.ask(Asked(MetadataRequest(topics=None), 9))
        return {topic.name for topic in answered.topics}

    def producer_id(self) -> int:
        answered = self.ask(Asked(InitProducerIdRequest(transactional_id=None), 1))
        check(answered.error_code, "a producer id")
        return int(answered.producer_id)


def check(code: int, what: str) -> None:
    """Refuse an answer with an error."""
    if code:
        raise EOFError(f"{what}: {error(code).name}")


def api_name(asked: Asked) -> str:
    return api(asked.key).name


def batch(values: Sequence[bytes], *, producer_id: int = -1, base_sequence: int = -1) -> bytes:
    """One batch of records with these values."""
    epoch = 0 if producer_id >= 0 else -1
    builder = BatchBuilder(producer_id=producer_id, producer_epoch=epoch, base_sequence=base_sequence)
    for value in values:
        builder.append(b"key", value, timestamp=time_ns() // 1_000_000)
    return builder.build()


def produce(topic: str, partition: int, records: bytes, *, acks: int = -1) -> Asked:
    data = ProduceRequest.PartitionProduceData(index=partition, records=records)
    topic_data = ProduceRequest.TopicProduceData(name=topic, partition_data=[data])
    return Asked(ProduceRequest(acks=acks, timeout_ms=20_000, topic_data=[topic_data]), 9)


def fetch(topic: str, partition: int, offset: int, *, max_bytes: int = 4 * MEGABYTE, wait_ms: int = 0) -> Asked:
    wanted = FetchRequest.FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=max_bytes)
    topics = [FetchRequest.FetchTopic(topic=topic, partitions=[wanted])]
    return Asked(FetchRequest(max_wait_ms=wait_ms, min_bytes=1, max_bytes=max_bytes, topics=topics), 11)


def list_offsets(topic: str, partition: int, timestamp: int = -1) -> Asked:
    wanted = ListOffsetsRequest.ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    topics = [ListOffsetsRequest.ListOffsetsTopic(name=topic, partitions=[wanted])]
    return Asked(ListOffsetsRequest(replica_id=-1, topics=topics), 5)


def create(name: str, partitions: int = 1, configs: Sequence[tuple[str, str]] = ()) -> Asked:
    settings = [CreateTopicsRequest.CreatableTopicConfig(name=key, value=value) for key, value in configs]
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, configs=settings
    )
    return Asked(CreateTopicsRequest(topics=[topic], timeout_ms=20_000), 4)


def delete(name: str) -> Asked:
    return Asked(DeleteTopicsRequest(topic_names=[name], timeout_ms=20_000), 4)


def commit(group: str, topic: str, partition: int, offset: int) -> Asked:
    wanted = OffsetCommitRequest.OffsetCommitRequestPartition(partition_index=partition, committed_offset=offset)
    topics = [OffsetCommitRequest.OffsetCommitRequestTopic(name=topic, partitions=[wanted])]
    return Asked(OffsetCommitRequest(group_id=group, generation_id_or_member_epoch=-1, topics=topics), 7)


def metadata(*names: str) -> Asked:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    return Asked(MetadataRequest(topics=topics, allow_auto_topic_creation=False), 8)
