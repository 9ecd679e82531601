"""`kafkawire pipeline run --source topic`: a live topic gives the tables that its log files give."""

from __future__ import annotations

import json
import socket
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import dataset
from tests.spark.filled_broker import TIME, FilledBroker
from tests.spark.output_tables import read_table, rows_in_order
from tests.spark.shared_session import spark

from kafkawire.cli.main import main
from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.client.blocking import Admin
from kafkawire.testing.sample_logs import write_sample

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["spark"]

Capture = pytest.CaptureFixture[str]
ORDERS, AUDIT = TopicPartition("orders", 0), TopicPartition("audit", 0)


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    with FilledBroker() as broker:
        yield broker


def pipeline(broker: FilledBroker, *arguments: str | Path) -> int:
    servers = broker.bootstrap_servers
    return main(["pipeline", "run", "--source", "topic", "-b", servers, *map(str, arguments)])


def report_data(directory: Path) -> dict[str, Any]:
    page = (directory / "report.html").read_text()
    data: dict[str, Any] = json.loads(page.partition('id="data">')[2].partition("</script>")[0])
    return data


@pytest.mark.usefixtures("spark")
def test_a_topic_gives_the_tables_that_its_log_files_give(tmp_path: Path, capsys: Capture) -> None:
    logs, live, stored = tmp_path / "logs", tmp_path / "live", tmp_path / "stored"
    partitions = {"orders": 1, "page-clicks": 4, "customers": 1, "payments": 2, "audit": 1}
    with FilledBroker(data_dir=logs) as broker:
        for topic, count in partitions.items():
            broker.create_topic(topic, partitions=count)
    for file in logs.glob("[a-z]*-[0-9]/0*"):
        file.unlink()
    sample = write_sample(logs, scale=1)
    with FilledBroker(data_dir=logs) as broker:
        with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
            admin.alter_group_offsets("billing", {ORDERS: 100, AUDIT: 175})
        assert pipeline(broker, *partitions, "--out", live, "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert rows_in_order(read_table(live, "records"), sample.expected.schema.names) == rows_in_order(sample.expected)
    assert (
        main(["pipeline", "run", "--source", "segments", *map(str, logs.glob("[a-z]*-[0-9]")), "--out", str(stored)])
        == 0
    )
    one, other = read_table(live, "batches"), read_table(stored, "batches")
    assert one.schema == other.schema
    assert read_table(live, "records").schema == read_table(stored, "records").schema
    headers = [name for name in one.schema.names if name not in ("file", "position")]
    assert rows_in_order(one, headers) == rows_in_order(other, headers)
    assert (summary["topics"], summary["partitions"], summary["records"]) == (5, 9, sample.expected.num_rows)
    assert summary["groups"] == 1
    manifest = json.loads((live / "manifest.json").read_text())
    assert manifest["state"] == "complete"
    assert {"topic": "audit", "partition": 0, "log_start": 0, "start": 0, "end": 175, "log_end": 175} in manifest[
        "ranges"
    ]
    groups = dataset.dataset(live / "group_offsets").to_table().to_pylist()
    assert {(row["group"], row["topic"], row["committed"], row["lag"]) for row in groups} == {
        ("billing", "orders", 100, 200),
        ("billing", "audit", 175, 0),
    }
    blocks = report_data(live)["blocks"]
    assert blocks.keys() >= {"partitions", "not_read", "records_over_time", "space", "sizes", "keys", "group_offsets"}
    by_topic = {row[0]: row[7:9] for row in blocks["partitions"]["rows"] if row[7]}
    assert by_topic["payments"] == [100, 2]  # two markers that end transactions are offsets without a record
    assert sum(blocks["records_over_time"]["series"]["records"]) == sum(
        row["timestamp_type"] >= 0 for row in sample.expected.to_pylist()
    )


@pytest.mark.usefixtures("spark")
def test_a_part_of_topics_found_by_a_pattern(tmp_path: Path, broker: FilledBroker, capsys: Capture) -> None:
    for topic in ("orders-eu", "orders-us", "audit"):
        broker.create_topic(topic)
        broker.fill(topic, 10)
    arguments = ("^orders-", "--start", f"@{TIME + 4000}", "--end", '{"orders-eu":{"0":6},"orders-us":{"0":-1}}')
    assert pipeline(broker, *arguments, "--table", "records", "--out", tmp_path / "t", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["offsets"], summary["records"], summary["batches"], summary["bytes"]) == (8, 8, None, None)
    found = sorted((row["topic"], row["offset"]) for row in read_table(tmp_path / "t", "records").to_pylist())
    assert found == [("orders-eu", n) for n in (4, 5)] + [("orders-us", n) for n in range(4, 10)]
    lost = report_data(tmp_path / "t")["blocks"]["not_read"]["rows"]
    assert [row[:2] for row in lost] == [["orders-eu-0", 4], ["orders-eu-0", 4], ["orders-us-0", 4]]


@pytest.mark.usefixtures("spark")
def test_findings_about_groups_and_keys_are_reported(tmp_path: Path, broker: FilledBroker, capsys: Capture) -> None:
    broker.create_topic("t", 4)
    broker.append("t", 1, [(b"hot", b"v", TIME, ())] * 1500)
    broker.fill("t", 10)
    broker.delete_records("t", 1, before=200)
    with Admin(bootstrap_servers=broker.bootstrap_servers) as admin:
        admin.alter_group_offsets("late", {TopicPartition("t", 1): 150})
        admin.alter_group_offsets("ahead", {TopicPartition("t", 0): 25})
    assert pipeline(broker, "t", "--out", tmp_path / "t") == 1
    printed = capsys.readouterr().out
    assert "error    offset-out-of-range: group ahead committed offset 25 of t-0, which ends at 10" in printed
    assert "group late committed offset 150 of t-1, which starts at 200: 50 offsets were deleted" in printed
    assert "warning  lag: group late is 1350 offsets behind in t, 1350 of them in partition 1; it has no mem" in printed
    assert "t-1 has 99 % of the records of 4 partitions; key hot has 1300 of its 1300" in printed


@pytest.mark.usefixtures("spark")
def test_an_empty_topic_gives_empty_tables(tmp_path: Path, broker: FilledBroker, capsys: Capture) -> None:
    broker.create_topic("t", 2)
    assert pipeline(broker, "t", "--out", tmp_path / "t", "--json") == 0
    summary = json.loads(capsys.readouterr().out)
    assert (summary["offsets"], summary["batches"], summary["records"]) == (0, 0, 0)
    assert "timestamp_type" in dataset.dataset(tmp_path / "t" / "records").schema.names


@pytest.mark.parametrize(
    ("arguments", "code", "problem"),
    [
        (("missing",), 1, "topic 'missing'"),
        (("^nothing",), 2, "no topic matches '^nothing'"),
        ((), 2, "no topic: expected topics"),
        (("t", "--option", "startingOffset=earliest"), 1, "did you mean startingOffsets?"),
        (("t", "--start", "latest"), 1, "startingOffsets is 'latest', which a batch read cannot start at"),
        (("t", "--start", "end"), 1, "startingOffsets is 'latest', which a batch read cannot start at"),
        (("t", "--start", "-1h"), 2, "--start '-1h': expected earliest, latest, group, @TIME (@2026-01-31T12:00"),
        (("t", "--end", "noon"), 2, "--end 'noon': expected latest, @TIME (@2026-01-31T12:00, @12:30, @-2h, @MS)"),
        (("t", "--table", "exchanges"), 2, "--table exchanges: the tables of topic are batches, records"),
        (("t", "--mode", "failfast"), 2, "--mode is for segments"),
        (("t", "--values"), 2, "--values is for captures"),
        (("t", "-X", "fetch.max.bytez=1"), 1, "fetch.max.bytes"),
    ],
)
def test_unreadable_input_is_reported_before_spark_starts(
    tmp_path: Path, broker: FilledBroker, capsys: Capture, arguments: tuple[str, ...], code: int, problem: str
) -> None:
    broker.create_topic("t")
    assert pipeline(broker, *arguments, "--out", tmp_path / "t") == code
    assert problem in capsys.readouterr().err
    assert not (tmp_path / "t").exists()


def test_options_of_topics_are_refused_for_files(tmp_path: Path, capsys: Capture) -> None:
    arguments = ["pipeline", "run", "--source", "segments", str(tmp_path), "--out", str(tmp_path / "t")]
    assert main([*arguments, "--start", "earliest"]) == 2
    assert "--start, --end and --option are for topics" in capsys.readouterr().err


@pytest.mark.parametrize("verb", [("run", "--source", "topic"), ("stream", "--checkpoint", "c")])
def test_a_missing_broker_is_reported_at_once_and_before_spark_starts(
    tmp_path: Path, capsys: Capture, verb: tuple[str, ...]
) -> None:
    with socket.socket() as nobody_listens:
        nobody_listens.bind(("127.0.0.1", 0))
        servers = f"127.0.0.1:{nobody_listens.getsockname()[1]}"
        assert main(["pipeline", *verb, "orders", "-b", servers, "--out", str(tmp_path / "out")]) == 1
    assert capsys.readouterr().err == f"kafkawire: no broker answers: {servers}: Connection refused\n"
    assert not (tmp_path / "out").exists()
