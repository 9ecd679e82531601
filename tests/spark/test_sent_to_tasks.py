"""Spark sends a reader to each task: its size must not depend on the number of partitions or paths."""

from __future__ import annotations

import json
import pickle

import pytest

from kafkawire.spark._segments.source import Options, SegmentsReader
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark._topics.source import TopicsReader


def topics_reader(partitions: int) -> TopicsReader:
    numbers = range(partitions)
    given = {
        "kafka.bootstrap.servers": "k:9092",
        "assign": json.dumps({"orders": list(numbers)}),
        "startingOffsets": json.dumps({"orders": dict.fromkeys(numbers, 5)}),
        "endingOffsets": json.dumps({"orders": dict.fromkeys(numbers, 9)}),
    }
    return TopicsReader(TopicOptions.parse(given, is_stream=False), ("value",))


def segments_reader(paths: int) -> SegmentsReader:
    given = {"paths": json.dumps([f"/logs/orders-{number}" for number in range(paths)]), "mode": "PERMISSIVE"}
    return SegmentsReader(Options.parse(given), ("value",))


@pytest.mark.parametrize("reader", [topics_reader, segments_reader])
def test_the_size_of_a_reader_does_not_grow_with_its_input(reader: type[TopicsReader]) -> None:
    few, many = (len(pickle.dumps(reader(count))) for count in (1, 10_000))  # type: ignore[arg-type, call-arg]
    assert many == few < 4_000
