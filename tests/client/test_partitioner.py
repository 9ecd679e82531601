"""Where records go: the same partition as with Java, and an even spread without keys."""

from __future__ import annotations

import pytest

from kafkawire.client.partitioner import another_partition, murmur2, partition_of_key


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
