"""The message codec against kio (its decoder is Rust) and kafka-python, on the same bytes."""

from __future__ import annotations

import io
import os
import resource
import subprocess
import sys
from typing import TYPE_CHECKING, Any
from uuid import UUID

from benchmarks.report import Row, ratios
from kafkawire.messages import (
    ApiVersionsResponse,
    FetchResponse,
    Message,
    MetadataResponse,
    ProduceRequest,
    message_class,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def rows() -> Iterator[Row]:
    yield from _codec(metadata(), 12, "metadata", {"kio": 1.4, "kafka-python": 8}, {"kio": 20, "kafka-python": 10})
    yield from _codec(metadata(), 5, "metadata", {}, {})
    yield from _codec(api_versions(), 4, "api_versions", {"kio": 1.3}, {"kio": 20})
    yield from _codec(fetch(), 12, "fetch", {"kio": 4}, {"kio": 5}, parts=True)
    yield from _codec(produce(), 9, "produce", {"kio": 1}, {})
    yield import_cost()


def metadata() -> MetadataResponse:
    brokers = [
        MetadataResponse.MetadataResponseBroker(node_id=n, host=f"broker-{n}.example.org", port=9092, rack=f"rack-{n}")
        for n in range(3)
    ]
    topics = [
        MetadataResponse.MetadataResponseTopic(
            name=f"topic-{t}",
            topic_id=UUID(int=0x1234567890ABCDEF << 64 | t + 1),
            partitions=[
                MetadataResponse.MetadataResponsePartition(
                    partition_index=p,
                    leader_id=p % 3,
                    leader_epoch=p + 300,
                    replica_nodes=[0, 1, 2],
                    isr_nodes=[0, 1, 2],
                    offline_replicas=[],
                )
                for p in range(10)
            ],
        )
        for t in range(100)
    ]
    return MetadataResponse(brokers=brokers, cluster_id="kafkawire", controller_id=1, topics=topics)


def api_versions() -> ApiVersionsResponse:
    keys = [ApiVersionsResponse.ApiVersion(api_key=n, min_version=0, max_version=n % 18) for n in range(60)]
    return ApiVersionsResponse(api_keys=keys)


def fetch() -> FetchResponse:
    records = os.urandom(64 * 1024)
    partitions = [
        FetchResponse.PartitionData(
            partition_index=n, high_watermark=10_000 + n, last_stable_offset=10_000, log_start_offset=0, records=records
        )
        for n in range(20)
    ]
    topic = FetchResponse.FetchableTopicResponse(topic="orders", partitions=partitions)
    return FetchResponse(session_id=7, responses=[topic])


def produce() -> ProduceRequest:
    records = os.urandom(1024)
    partitions = [ProduceRequest.PartitionProduceData(index=n, records=records) for n in range(20)]
    topic = ProduceRequest.TopicProduceData(name="orders", partition_data=partitions)
    return ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def _codec(
    message: Message,
    version: int,
    module: str,
    decoding: dict[str, float],
    encoding: dict[str, float],
    *,
    parts: bool = False,
) -> Iterator[Row]:
    cls = type(message)
    data = message.encode(version)
    value = cls.decode(data, version)
    peers = {
        "kio": _kio(cls.__name__, version, module, data),
        "kafka-python": _kafka_python(cls.__name__, version, data),
    }
    wanted = {name: peer for name, peer in peers.items() if name in decoding or not decoding}
    work = f"{cls.__name__} v{version}, {len(data):,} bytes"
    yield from ratios(
        f"{work}: decode",
        lambda: cls.decode(data, version),
        {name: peer and peer[0] for name, peer in wanted.items()},
        decoding,
    )
    wanted = {name: peer for name, peer in peers.items() if name in encoding or not encoding}
    encode: Callable[[], object] = (lambda: value.encode_parts(version)) if parts else (lambda: value.encode(version))
    yield from ratios(
        f"{work}: encode{' as parts' if parts else ''}",
        encode,
        {name: peer and peer[1] for name, peer in wanted.items()},
        encoding,
    )


Pair = tuple["Callable[[], object]", "Callable[[], object]"]


def _kio(name: str, version: int, module: str, data: bytes) -> Pair | None:
    try:
        from kio.serial import entity_reader, entity_writer
    except ImportError:
        return None
    kind = "request" if name.endswith("Request") else "response"
    entity: Any = getattr(__import__(f"kio.schema.{module}.v{version}.{kind}", fromlist=[name]), name)
    read, write = entity_reader(entity), entity_writer(entity)
    value, _ = read(data, 0)
    out = io.BytesIO()
    write(out, value)
    assert out.getvalue() == data, f"kio writes other bytes for {name} v{version}"
    return lambda: read(data, 0), lambda: write(io.BytesIO(), value)


def _kafka_python(name: str, version: int, data: bytes) -> Pair | None:
    try:
        import kafka.protocol.consumer as consumer
        import kafka.protocol.metadata as metadata_messages
        import kafka.protocol.producer as producer
    except ImportError:
        return None
    found = [getattr(module, name) for module in (metadata_messages, consumer, producer) if hasattr(module, name)]
    if not found:
        return None
    value = found[0].decode(data, version=version)
    value._header = None  # its decoder leaves it unset, its encoder asks for it
    assert bytes(value.encode(version=version)) == data, f"kafka-python writes other bytes for {name} v{version}"
    return lambda: found[0].decode(data, version=version), lambda: value.encode(version=version)


def import_cost() -> Row:
    """CPU of importing the messages and decoding one, over that of a bare interpreter."""
    data = message_class("MetadataRequest")().encode(12).hex()
    work = f"from kafkawire.messages import MetadataRequest as M; M.decode(bytes.fromhex('{data}'), 12)"
    ours, bare = (min(_cpu_seconds(code) for _ in range(7)) for code in (work, "pass"))
    note = f"{ours * 1e3:.0f} ms against {bare * 1e3:.0f} ms"
    return Row(
        "import kafkawire.messages and a first decode", "ms of CPU", (ours - bare) * 1e3, 60, at_most=True, note=note
    )


def _cpu_seconds(code: str) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
