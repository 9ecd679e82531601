"""The partition of a record: the same partition as with Java, and an even spread without keys."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.client._produce.partitioner import (
    another_partition,
    hash_keys,
    murmur2,
    partition_of_key,
    partitions_of_keys,
)

KEYS = st.lists(st.none() | st.binary(max_size=21), max_size=60)


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_keys_hash_as_in_java(key: bytes, expected: int) -> None:
    assert murmur2(key) == expected % 2**32


def test_a_key_has_its_partition() -> None:
    assert partition_of_key(b"21", 1000) == (-973932308 & 0x7FFFFFFF) % 1000
    assert {partition_of_key(b"%d" % number, 7) for number in range(200)} == set(range(7))


def test_another_partition_is_another_one_where_there_is_one() -> None:
    assert {another_partition([3, 5, 8], 5) for _ in range(100)} == {3, 8}
    assert another_partition([3], 3) == 3
    assert {another_partition([3, 5], None) for _ in range(100)} == {3, 5}


@given(KEYS, st.integers(0, 5))
def test_hashes_are_those_of_single_keys(keys: list[bytes | None], first: int) -> None:
    found = hash_keys(pa.array(keys, pa.binary()).slice(first)).tolist()
    assert [each for each, key in zip(found, keys[first:], strict=True) if key is not None] == [
        murmur2(key) for key in keys[first:] if key is not None
    ]


def test_keys_of_one_length_are_hashed_together() -> None:
    for length in range(9):
        keys = [(b"%09d" % number)[:length] for number in range(100)]
        assert hash_keys(pa.array(keys, pa.binary())).tolist() == [murmur2(key) for key in keys]


def test_partitions_are_those_of_single_keys() -> None:
    keys = [b"order %d" % number for number in range(500)]
    assert partitions_of_keys(pa.array(keys, pa.binary()), 7).tolist() == [partition_of_key(key, 7) for key in keys]
