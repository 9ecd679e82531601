"""The rules over aggregates: what each finds in logs and topics, and what is just not enough for it."""

from __future__ import annotations

from typing import Any

import pytest

from kafkawire.inspect import (
    BatchAggregates,
    BatchTotals,
    DamagedLog,
    Finding,
    GroupOffset,
    HotKey,
    LogFiles,
    OpenTransaction,
    PartitionRecords,
    Thresholds,
    TopicAggregates,
    WrongIndex,
    apply_rules,
)

LIMITS = Thresholds(lag=100, uneven=3.0, uneven_records=100, small_batches=20, plain_bytes=5_000)
DAY = 86_400e6


def row(committed: int | None, *, partition: int = 0, state: str = "Stable") -> GroupOffset:
    return GroupOffset("g", state, "t", partition, committed, log_start=50, log_end=500)


def found(subject: object, rule: str) -> list[Finding]:
    return [finding for finding in apply_rules(subject, LIMITS) if finding.rule == rule]


@pytest.mark.parametrize(
    ("committed", "text"),
    [
        (None, None),
        (50, None),
        (500, None),
        (49, "group g committed offset 49 of t-0, which starts at 50: 1 offsets were deleted before it read them"),
        (501, "group g committed offset 501 of t-0, which ends at 500"),
    ],
)
def test_a_committed_offset_must_be_one_of_the_log(committed: int | None, text: str | None) -> None:
    findings = found(TopicAggregates(groups=[row(committed)]), "offset-out-of-range")
    assert [finding.text for finding in findings] == ([text] if text else [])
    assert all(finding.level == "error" for finding in findings)


@pytest.mark.parametrize(
    ("rows", "levels"),
    [
        ([row(400)], ["warning"]),
        ([row(401)], []),
        ([row(450), row(450, partition=1)], ["warning"]),
        ([row(499, state="Empty")], ["info"]),
        ([row(400, state="Empty")], ["warning"]),
        ([row(500, state="Empty")], []),
        ([row(None)], []),
    ],
)
def test_lag_counts_by_group_and_topic_and_any_lag_of_a_group_without_members(
    rows: list[GroupOffset], levels: list[str]
) -> None:
    assert [finding.level for finding in found(TopicAggregates(groups=rows), "lag")] == levels


def test_lag_names_the_worst_partition_and_the_absence_of_members() -> None:
    groups = [row(499, state="Empty"), row(300, partition=3, state="Empty")]
    [finding] = found(TopicAggregates(groups=groups), "lag")
    assert finding.text == "group g is 201 offsets behind in t, 200 of them in partition 3; it has no members"


def test_the_hot_key_is_looked_up_only_for_an_uneven_topic() -> None:
    asked: list[tuple[str, int]] = []

    def hot_key(topic: str, partition: int) -> HotKey:
        asked.append((topic, partition))
        return HotKey("k", 80)

    read = [
        *(PartitionRecords("uneven", 0, 90, None, None), PartitionRecords("uneven", 1, 30, None, None)),
        *(PartitionRecords("even", number, 60, None, None) for number in range(4)),
    ]
    [finding] = found(TopicAggregates((), read, {"uneven": 4, "even": 4}, hot_key), "uneven-partitions")
    assert finding.text == "uneven-0 has 75 % of the records of 4 partitions; key k has 80 of its 90"
    assert asked == [("uneven", 0)]


def totals(topic: str, **more: Any) -> BatchTotals:
    plain = BatchTotals(
        *(topic, 0, 2, "none", False, True, "0.log", 10, 100, 4_999, None, None),
        ahead=0,
        first_ahead=None,
        last_ahead=None,
    )
    return plain._replace(**more)


@pytest.mark.parametrize(
    ("each", "rule", "text"),
    [
        (totals("t", ahead=2, first_ahead=int(DAY), last_ahead=int(3 * DAY)), "future-time", "up to 3 days ahead"),
        (totals("t"), "future-time", None),
        (totals("t", batches=20, records=39), "inefficiency", "t: 1.9 records per batch in 20 batches"),
        (totals("t", batches=20, records=40), "inefficiency", None),
        (totals("t", batches=19, records=19), "inefficiency", None),
        (totals("t", bytes=5_000), "inefficiency", "t: 5000 bytes, none of them compressed"),
        (totals("t", bytes=5_000, codec="lz4"), "inefficiency", None),
        (totals("t", bytes=5_000, is_control=True), "inefficiency", None),
        (totals("t", magic=1), "old-format", "t-0: 10 messages of magic 1, 4999 bytes"),
        (totals("t", magic=2), "old-format", None),
    ],
)
def test_totals_of_batches(each: BatchTotals, rule: str, text: str | None) -> None:
    findings = found(BatchAggregates(0, [each]), rule)
    assert len(findings) == (text is not None)
    assert all(text in finding.text for finding in findings if text is not None)


def test_an_open_transaction_is_suspected() -> None:
    [finding] = apply_rules(BatchAggregates(0, (), [OpenTransaction("t-0", 7, 12, 5)]), LIMITS)
    assert (finding.rule, finding.certainty, finding.t0) == ("open-transaction", "suspected", 5)
    assert finding.text == "t-0: producer 7 wrote up to offset 12 in a transaction without an end marker"


@pytest.mark.parametrize(
    ("log", "level", "certainty", "text"),
    [
        (DamagedLog("t-0", "0.log", "bad checksum"), "error", "proven", "t-0: 0.log: bad checksum"),
        (DamagedLog("t-0", "0.log", "5 bytes", is_tail=True), "warning", "suspected", "t-0: 0.log: 5 bytes"),
        (
            DamagedLog("t-0", "0.log", "x", 2, 120, 100),
            "error",
            "proven",
            "t-0: 2 places in 0.log without a sound batch, 120 bytes; the first, at byte 100: x",
        ),
    ],
)
def test_damaged_logs(log: DamagedLog, level: str, certainty: str, text: str) -> None:
    [finding] = apply_rules(LogFiles([log]), LIMITS)
    assert (finding.level, finding.certainty, finding.text) == (level, certainty, text)


@pytest.mark.parametrize(
    ("index", "level", "text"),
    [
        (WrongIndex("0.index", "index", "no batch", 1), "warning", "0.index: 1 problem, the first: no batch"),
        (WrongIndex("0.txnindex", "txnindex", "missing", 2), "error", "0.txnindex: 2 problems, the first: missing"),
        (WrongIndex("0.snapshot", "snapshot", "too short"), "warning", "0.snapshot: too short"),
    ],
)
def test_wrong_indexes(index: WrongIndex, level: str, text: str) -> None:
    [finding] = apply_rules(LogFiles((), [index]), LIMITS)
    assert (finding.level, finding.text) == (level, text)
