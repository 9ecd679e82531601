"""A broker that cannot be reached: given up in the time that the options say, with an error that names the address."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from pyspark.sql.types import BinaryType, StructField, StructType
from tests.spark.unreachable_brokers import KINDS

from kafkawire.client import BulkReader, TopicPartition
from kafkawire.exceptions import KafkaWireError
from kafkawire.spark._pipeline.inputs.topics import TopicsInput
from kafkawire.spark._topics.groups import commit_group, read_group
from kafkawire.spark._topics.lookup import OffsetRange, TopicLookup
from kafkawire.spark._topics.options import TopicOptions
from kafkawire.spark._topics.stream import TopicsStreamReader
from kafkawire.spark._topics.tasks import read_range
from kafkawire.spark._topics.writer import WriteOptions, write_rows

if TYPE_CHECKING:
    from collections.abc import Callable

_SECONDS = 1.0
_SLACK = 8.0  # on a busy machine; each of the waits that could be added has ten seconds or more
_PLACE = TopicPartition("t", 0)


def options(place: str, **more: str) -> TopicOptions:
    given = {"kafka.bootstrap.servers": place, "subscribe": "t", "kafka.default.api.timeout.ms": "1000"}
    return TopicOptions.parse(
        {**given, **{name.replace("__", "."): text for name, text in more.items()}}, is_stream=True
    )


def plan(place: str) -> None:
    chosen = options(place)
    with BulkReader(config=dict(chosen.client)) as reader:
        TopicLookup(chosen, reader).partitions()


def start_a_stream(place: str) -> None:
    TopicsStreamReader(options(place), ("value",)).initialOffset()


def read(place: str) -> None:
    list(read_range(OffsetRange(*_PLACE, 0, 10), ("value",), options(place, kafka__client__id="a task")))


def start_at_a_group(place: str) -> None:
    read_group(options(place, startingOffsets="group", kafka__group__id="g"), [_PLACE])


def commit(place: str) -> None:
    commit_group(options(place, commitOffsets="true", kafka__group__id="g"), {_PLACE: 1})


def given(place: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": place, "subscribe": "t", "kafka.default.api.timeout.ms": "1000"}


def run_a_pipeline(place: str) -> None:
    TopicsInput(given(place)).files()


def stream_by_a_pipeline(place: str) -> None:
    TopicsInput(given(place), is_stream=True).look()


def write(place: str) -> None:
    named = {"kafka.bootstrap.servers": place, "topic": "t", "kafka.max.block.ms": "1000"}
    rows = iter([pa.record_batch({"value": pa.array([b"v"])})])
    write_rows(rows, WriteOptions.parse(named, StructType([StructField("value", BinaryType())])))


@pytest.mark.parametrize(
    "work",
    [plan, start_a_stream, read, start_at_a_group, commit, run_a_pipeline, stream_by_a_pipeline, write],
    ids=lambda work: work.__name__,
)
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_given_up_in_time_and_named(kind: str, work: Callable[[str], None]) -> None:
    with KINDS[kind]() as place:
        started = time.monotonic()
        with pytest.raises(KafkaWireError) as failure:
            work(place)
        taken = time.monotonic() - started
    assert taken < _SECONDS + _SLACK, f"{taken:.1f} s"
    assert place in str(failure.value)


def test_a_handshake_of_tls_that_hangs_is_given_up_too() -> None:
    with KINDS["silent"]() as place:
        chosen = options(place, kafka__security__protocol="SSL")
        started = time.monotonic()
        with BulkReader(config=dict(chosen.client)) as reader, pytest.raises(KafkaWireError) as failure:
            TopicLookup(chosen, reader).partitions()
    assert time.monotonic() - started < _SECONDS + _SLACK
    assert "handshake" in str(failure.value)


def test_retries_of_the_options_do_not_multiply_the_time() -> None:
    with KINDS["silent"]() as place:
        chosen = options(place, fetchOffset__numRetries="50", fetchOffset__retryIntervalMs="1000")
        started = time.monotonic()
        with BulkReader(config=dict(chosen.client)) as reader, pytest.raises(KafkaWireError):
            TopicLookup(chosen, reader).partitions()
    assert time.monotonic() - started < _SECONDS + _SLACK


def test_several_addresses_share_the_time_and_are_all_named() -> None:
    with KINDS["silent"]() as one, KINDS["dropped"]() as other, KINDS["refused"]() as third:
        started = time.monotonic()
        with pytest.raises(KafkaWireError) as failure:
            run_a_pipeline(f"{one},{other},{third}")
    assert time.monotonic() - started < _SECONDS + _SLACK
    assert any(place in str(failure.value) for place in (one, other, third))
