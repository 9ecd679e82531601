"""The rules for log files: what each finds, and what is just not enough for it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.spark.segment_files import write_segment

from kafkawire.inspect import Thresholds, apply_rules
from kafkawire.records import BatchBuilder
from kafkawire.spark._pipeline.totals import add_up, batch_aggregates, damaged_logs, wrong_indexes
from kafkawire.testing.sample_logs import PartitionWriter

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from kafkawire.inspect import Finding, LogFiles

HOUR = 3_600_000
LIMITS = Thresholds(small_batches=20, plain_bytes=5_000)
EXPECTED: dict[str | None, list[str]] = {
    "future-0": ["future-time"],
    "open-0": ["open-transaction"],
    "reopened-0": ["open-transaction"],
    "small": ["inefficiency"],
    "plain": ["inefficiency"],
}


def small_batches(count: int, records: int) -> list[bytes]:
    return [build([b"v"] * records, base_offset=number * records) for number in range(count)]


def build(values: list[bytes], timestamp: int = 0, **fields: Any) -> bytes:
    builder = BatchBuilder(**fields)
    for value in values:
        builder.append(b"k", value, timestamp)
    return builder.build()


def of_size(total: int) -> bytes:
    """One batch that is so large."""
    return build([b"x" * (total - len(build([b"x" * 4000])) + 4000)])


def write_transactions(root: Path, topic: str, *steps: str) -> None:
    writer = PartitionWriter(root, topic, 0)
    for step in steps:
        if step == "data":
            writer.append([(b"k", b"v", [])], is_transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
        else:
            writer.mark(1, producer_id=7, producer_epoch=0)


@pytest.fixture(scope="module")
def found(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str | None, list[Finding]]:
    """The findings of the rules for batches, by entity."""
    root, now = tmp_path_factory.mktemp("logs"), int(time.time() * 1000)
    contents: dict[str, list[bytes]] = {
        "future-0": [build([b"v"], now + 25 * HOUR), build([b"v"], now + 48 * HOUR, base_offset=1)],
        "soon-0": [build([b"v"], now + 23 * HOUR)],
        "small-0": small_batches(20, 1),
        "few-0": small_batches(19, 1),
        "filled-0": small_batches(20, 2),
        "plain-0": [of_size(5_000)],
        "shorter-0": [of_size(4_999)],
        "packed-0": [of_size(5_000), build([b"v"], base_offset=1, compression="gzip")],
    }
    for name, data in contents.items():
        write_segment(root / name, data)
    nameless = build([b"v"], now + 25 * HOUR, is_transactional=True, producer_id=7, producer_epoch=0, base_sequence=0)
    write_segment(root / "nameless", nameless)
    write_transactions(root, "open", "data")
    write_transactions(root, "reopened", "data", "marker", "data")
    write_transactions(root, "ended", "data", "data", "marker")
    batches = spark.read.format("kafkawire-segments").option("table", "batches").load(str(root))
    by_entity: dict[str | None, list[Finding]] = {}
    for finding in apply_rules(batch_aggregates(batches, add_up(batches)), LIMITS):
        by_entity.setdefault(finding.entity, []).append(finding)
    assert by_entity.keys() - EXPECTED.keys() == {str(root / "nameless" / "00000000000000000000.log")}
    return by_entity


def test_a_file_of_no_known_partition_is_called_by_its_name(found: dict[str | None, list[Finding]]) -> None:
    [rules] = [[each.rule for each in findings] for entity, findings in found.items() if entity not in EXPECTED]
    assert rules == ["future-time", "open-transaction"]


def test_exactly_what_is_wrong_is_found(found: dict[str | None, list[Finding]]) -> None:
    rules = {entity: [finding.rule for finding in findings] for entity, findings in found.items()}
    assert {entity: rules[entity] for entity in EXPECTED} == EXPECTED


@pytest.mark.parametrize(
    ("entity", "level", "certainty", "text"),
    [
        ("future-0", "warning", "proven", "future-0: times of 2 batches are up to 2 days ahead of now"),
        ("open-0", "warning", "suspected", "producer 7 wrote up to offset 0 in a transaction without an end marker"),
        ("reopened-0", "warning", "suspected", "producer 7 wrote up to offset 2 in a transaction"),
        ("small", "info", "proven", "small: 1.0 records per batch in 20 batches"),
        ("plain", "info", "proven", "plain: 5000 bytes, none of them compressed"),
    ],
)
def test_a_finding_says_what_it_is_about(
    found: dict[str | None, list[Finding]], entity: str, level: str, certainty: str, text: str
) -> None:
    [finding] = found[entity]
    assert (finding.level, finding.certainty) == (level, certainty)
    assert text in finding.text
    assert finding.advice


def of_faults(spark: SparkSession) -> DataFrame:
    rows = [("t", 0, "a.log", 500, 70, "second"), ("t", 0, "a.log", 100, 50, "first"), (None, None, "b.log", 0, 9, "x")]
    return spark.createDataFrame(
        rows, "topic string, partition int, file string, position long, size long, fault string"
    )


def of_index_errors(spark: SparkSession) -> DataFrame:
    rows = [("a.index", 8, "no batch starts there"), ("a.index", None, "of no use"), ("b.index", 0, "too long")]
    return spark.createDataFrame(rows, "file string, position long, problem string")


@pytest.mark.parametrize(
    ("aggregate", "make", "expected"),
    [
        (
            damaged_logs,
            of_faults,
            {
                "t-0": ("corruption", "error", 2, "120 bytes; the first, at byte 100: first"),
                "b.log": ("corruption", "error", 1, "1 place in b.log without a sound batch, 9 bytes"),
            },
        ),
        (
            wrong_indexes,
            of_index_errors,
            {
                "a.index": ("wrong-index", "warning", 2, "a.index: 2 problems, the first: of no use"),
                "b.index": ("wrong-index", "warning", 1, "1 problem, the first: too long"),
            },
        ),
    ],
)
def test_damage_is_reported_once_per_file(
    spark: SparkSession,
    aggregate: Callable[[DataFrame], LogFiles],
    make: Callable[[SparkSession], DataFrame],
    expected: dict[str, tuple[str, str, int, str]],
) -> None:
    rows = make(spark)
    told = {finding.entity: finding for finding in apply_rules(aggregate(rows), LIMITS)}
    assert told.keys() == expected.keys()
    for entity, (rule, level, count, text) in expected.items():
        finding = told[entity]
        assert (finding.rule, finding.level, finding.count) == (rule, level, count)
        assert text in finding.text
    assert apply_rules(aggregate(rows.limit(0)), LIMITS) == []
