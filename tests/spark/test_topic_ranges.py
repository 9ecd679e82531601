"""Splitting ranges among tasks, and a trigger's limit among partitions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.spark._topics.lookup import OffsetRange, plan_ranges, share_limit

RANGES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 200)), max_size=6).map(
    lambda bounds: [OffsetRange("t", number, start, start + size) for number, (start, size) in enumerate(bounds)]
)
LIMIT = st.none() | st.integers(1, 40)


@given(RANGES, LIMIT, LIMIT)
def test_splitting_keeps_every_offset_once(
    ranges: list[OffsetRange], largest: int | None, at_least: int | None
) -> None:
    planned = plan_ranges(ranges, largest=largest, at_least=at_least)
    assert all(part.size > 0 for part in planned)
    assert [(part.partition, offset) for part in planned for offset in range(part.start, part.end)] == [
        (each.partition, offset) for each in ranges for offset in range(each.start, each.end)
    ]
    assert largest is None or all(part.size <= largest for part in planned)


def test_few_large_ranges_become_about_as_many_tasks_as_wanted() -> None:
    ranges = [OffsetRange("t", 0, 0, 1000), OffsetRange("t", 1, 0, 10), OffsetRange("t", 2, 0, 500)]
    planned = plan_ranges(ranges, largest=None, at_least=10)
    assert [sum(part.partition == number for part in planned) for number in (0, 1, 2)] == [6, 1, 3]


def test_enough_ranges_are_left_alone() -> None:
    ranges = [OffsetRange("t", number, 0, 100) for number in range(4)]
    assert plan_ranges(ranges, largest=None, at_least=4) == ranges


@given(RANGES, st.integers(1, 300))
def test_a_limit_is_shared_so_that_all_go_on_and_none_passes_its_end(ranges: list[OffsetRange], limit: int) -> None:
    start = {TopicPartition(each.topic, each.partition): each.start for each in ranges}
    end = {TopicPartition(each.topic, each.partition): each.end for each in ranges}
    shared = share_limit(limit, start, end)
    for partition in start:
        assert start[partition] <= shared[partition] <= end[partition]
        assert shared[partition] > start[partition] or start[partition] == end[partition]
    assert sum(shared[partition] - start[partition] for partition in start) <= limit + len(start)


def test_a_partition_that_went_back_keeps_its_new_end() -> None:
    went, other = TopicPartition("t", 0), TopicPartition("t", 1)
    assert share_limit(5, {went: 100, other: 0}, {went: 3, other: 50}) == {went: 3, other: 5}
