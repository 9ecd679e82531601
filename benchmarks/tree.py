"""The explaining tree: from the bytes of a frame to all of its leaves."""

from __future__ import annotations

from time import perf_counter
from typing import TYPE_CHECKING

from benchmarks.report import Row
from kafkawire.inspect._explain.explain import explain_request
from kafkawire.messages import ProduceRequest
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Iterator

_SIZE = 1_000_000


def rows() -> Iterator[Row]:
    for value_size in (1000, 100):
        frame = produce(value_size)
        best = min(_seconds(frame) for _ in range(5))
        count = sum(1 for _ in explain_request(frame).space.leaves())
        work = f"tree of a Produce frame of 1 MB, values of {value_size} bytes"
        yield Row(work, "s", best, 1.0, at_most=True, note=f"{count:,} leaves")


def produce(value_size: int) -> bytes:
    """A Produce request of about a megabyte in one batch."""
    builder = BatchBuilder()
    while builder.size < _SIZE:
        builder.append(None, bytes(value_size), timestamp=1_700_000_000_000)
    partition = ProduceRequest.PartitionProduceData(records=builder.build())
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])])
    return encode_request(message, version=9, correlation_id=1, client_id="benchmark")


def _seconds(frame: bytes) -> float:
    start = perf_counter()
    for _ in explain_request(frame).space.leaves():
        pass
    return perf_counter() - start
