"""Large frames: elements that are only measured have the same nodes as those that are walked at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.inspect import explain_response, explain_walk, value_text
from kafkawire.inspect._explain import walker
from kafkawire.messages import FetchResponse, MetadataResponse
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_response

if TYPE_CHECKING:
    from kafkawire.inspect import Explanation

Topic, Partition = MetadataResponse.MetadataResponseTopic, MetadataResponse.MetadataResponsePartition


def metadata(topics: int, partitions: int) -> bytes:
    each = [Partition(partition_index=number, replica_nodes=[1, 2, 3], isr_nodes=[1]) for number in range(partitions)]
    response = MetadataResponse(topics=[Topic(name=f"topic-{number}", partitions=each) for number in range(topics)])
    return bytes(encode_response(response, api_key=3, version=12, correlation_id=1))


def fetched() -> bytes:
    builder = BatchBuilder()
    builder.append(b"k", b"v" * 100, timestamp=1)
    data = bytes(builder.build())
    parts = [FetchResponse.PartitionData(partition_index=number, records=data) for number in range(700)]
    response = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="orders", partitions=parts)])
    return bytes(encode_response(response, api_key=1, version=11, correlation_id=1))


def nodes_of(explained: Explanation) -> list[tuple[object, ...]]:
    return [
        (
            *(each.path, each.depth, each.node.offset, each.node.length, each.node.type, value_text(each.node.value)),
            *(each.node.note, each.node.description, each.node.framing, str(each.node.fault)),
        )
        for each in explain_walk(explained.space)
    ]


def both(frame: bytes, api: int, version: int, monkeypatch: pytest.MonkeyPatch) -> tuple[Explanation, Explanation]:
    lazy = explain_response(frame, api, version)
    monkeypatch.setattr(walker, "LARGE", 1 << 40)
    return lazy, explain_response(frame, api, version)


@pytest.mark.parametrize(
    ("frame", "api", "version"),
    [(metadata(300, 10), 3, 12), (metadata(2, 3_000), 3, 12), (fetched(), 1, 11)],
    ids=["many topics", "many partitions", "records"],
)
def test_measured_elements_have_the_nodes_of_walked_ones(
    frame: bytes, api: int, version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    lazy, eager = both(frame, api, version, monkeypatch)
    assert lazy.whole
    assert nodes_of(lazy) == nodes_of(eager)


@pytest.mark.parametrize("at", [0.2, 0.6, 0.97])
def test_a_fault_is_found_where_it_is(at: float, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = bytearray(metadata(300, 10))
    place = frame.index(b"topic-%d" % int(300 * at)) - 1
    frame[place] = 0xFF
    lazy, eager = both(bytes(frame), 3, 12, monkeypatch)
    assert not lazy.whole
    assert [(each.path, str(each.node.fault)) for each in lazy.space.faults()] == [
        (each.path, str(each.node.fault)) for each in eager.space.faults()
    ]
    assert nodes_of(lazy) == nodes_of(eager)


def test_damaged_records_of_a_measured_element_are_found() -> None:
    frame = bytearray(fetched())
    frame[frame.index(b"v" * 100) + 5] ^= 1
    assert [str(each.node.fault) for each in explain_response(bytes(frame), 1, 11).space.faults()] != []


def test_a_frame_of_millions_of_fields_is_explained_to_its_end() -> None:
    explained = explain_response(metadata(2_000, 90), 3, 12)
    assert explained.whole
    assert not list(explained.space.faults())
