"""Many keys hashed at once give what each gives alone."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.client.key_hashing import hash_keys, partitions_of_keys
from kafkawire.client.partitioner import murmur2, partition_of_key

KEYS = st.lists(st.none() | st.binary(max_size=21), max_size=60)


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
