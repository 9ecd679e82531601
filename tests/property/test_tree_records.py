"""Trees of record batches, cut and corrupted at every byte: nothing is raised, and the leaves still tile."""

from __future__ import annotations

import tracemalloc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inspect.tree_values import assert_tiles

from kafkawire.inspect._explain.explain import explain_records, explain_request
from kafkawire.inspect._explain.tree import walk
from kafkawire.messages import ProduceRequest
from kafkawire.records import BatchBuilder, read_batches
from kafkawire.wire import encode_request

FORMATS = [
    *((0, codec) for codec in ("none", "gzip", "snappy", "lz4")),
    *((1, codec) for codec in ("none", "gzip", "snappy", "lz4")),
    *((2, codec) for codec in ("none", "gzip", "snappy", "lz4", "zstd")),
]


def batch(magic: int, codec: str, dice: Random) -> bytes:
    builder = BatchBuilder(magic=magic, compression=codec, base_offset=dice.choice((0, 7, 1 << 40)))
    for _ in range(dice.choice((1, 2, 4))):
        key = dice.choice((None, b"", b"key"))
        value = dice.choice((None, b"value", dice.randbytes(20)))
        headers = [("h", dice.choice((None, b"", b"v")))] * dice.choice((0, 1, 2)) if magic == 2 else []
        builder.append(key, value, timestamp=1700000000000 if magic else -1, headers=headers)
    return builder.build()


@pytest.mark.parametrize(("magic", "codec"), FORMATS)
def test_cut_and_corrupted_batches_tile(magic: int, codec: str) -> None:
    dice = Random(f"{magic}{codec}")
    data = batch(magic, codec, dice)
    for end in range(len(data)):
        space = explain_records(data[:end]).space
        assert_tiles(space)
    for place in range(len(data)):
        corrupt = bytearray(data)
        corrupt[place] ^= dice.randrange(1, 256)
        assert_tiles(explain_records(corrupt).space)


@settings(max_examples=60)
@given(st.sampled_from(FORMATS), st.integers(0, 1 << 32))
def test_the_tree_shows_the_records_that_the_reader_reads(form: tuple[int, str], seed: int) -> None:
    data = batch(*form, Random(seed))
    space = explain_records(data).space
    shown = [
        (None if visit.node.value is None else bytes(visit.node.value))
        for visit in walk(space)
        if visit.path.endswith(("].key", "].value")) and "headers" not in visit.path and visit.node.inner is None
    ]
    read = [part for each in read_batches(data) for record in each.records() for part in (record.key, record.value)]
    wrapped = [None] if form[0] < 2 and form[1] != "none" else []
    assert shown == wrapped + [None if part is None else bytes(part) for part in read]
    assert not list(space.faults())


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_any_bytes_are_explained(data: bytes) -> None:
    assert_tiles(explain_request(data).space)
    assert_tiles(explain_records(data).space)
    assert_tiles(explain_request(b"\x00\x00\x00\x09" + data, sized=False).space)


@pytest.mark.parametrize("filling", [b"\x00", b"\xff", b"\x7f\xff\xff\xff", b"\x80", b"\x0e" + bytes(7)])
def test_hostile_bytes_take_memory_in_proportion(filling: bytes) -> None:
    records = (filling * 20_000)[:20_000]
    good = bytearray(batch(2, "none", Random(1))[:61])
    good[8:12] = (len(records) + 49).to_bytes(4, "big")
    good[57:61] = b"\x7f\xff\xff\xff"
    partition = ProduceRequest.PartitionProduceData(records=bytes(good) + records)
    message = ProduceRequest(topic_data=[ProduceRequest.TopicProduceData(name="t", partition_data=[partition])])
    frame = encode_request(message, version=9, correlation_id=1)
    tracemalloc.start()
    try:
        assert_tiles(explain_request(frame).space)
        assert tracemalloc.get_traced_memory()[1] < 200_000 + 100 * len(frame)
    finally:
        tracemalloc.stop()
