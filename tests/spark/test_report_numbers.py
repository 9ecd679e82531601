"""A run over captures and one over log files: tables, findings and report say the same."""

from __future__ import annotations

import json
import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from pyarrow import dataset
from tests.inspect.captures import merge, write_pcap
from tests.inspect.cluster_traffic import cluster_traffic, impaired
from tests.inspect.incidents import INCIDENTS
from tests.spark.segment_files import batches, damage, write_segment

from kafkawire.inspect import find_incidents, findings_table
from kafkawire.inspect._tables.read import read_captures
from kafkawire.inspect._tables.schemas import FINDINGS
from kafkawire.records import BatchBuilder
from kafkawire.spark._captures.diagnosis import diagnose_captures
from kafkawire.spark._pipeline.inputs.captures import CapturesInput
from kafkawire.spark._pipeline.inputs.segments import SegmentsInput
from kafkawire.spark._pipeline.job import Job
from kafkawire.spark._pipeline.output import OutputDirectory, WrittenTables
from kafkawire.spark._report.aggregates import SAMPLE, packed_sizes
from kafkawire.testing.sample_logs import write_sample

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

SHOWN = ("hanging transaction", "duplicates", "rebalance storm", "unknown topic", "TLS to plaintext")


class Run:
    """The output of a run, and the files that it read."""

    def __init__(self, root: Path, job: Job, files: list[Path]) -> None:
        self.out = root
        self.job = job
        self.files = files

    def table(self, name: str) -> list[dict[str, Any]]:
        topic = dataset.partitioning(pa.schema([("topic", pa.string())]), flavor="hive")
        partitioning = topic if any((self.out / name).glob("topic=*")) else None
        return dataset.dataset(self.out / name, format="parquet", partitioning=partitioning).to_table().to_pylist()

    def block(self, name: str) -> dict[str, Any]:
        text = (self.out / "report.html").read_text()
        [data] = re.findall(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
        block: dict[str, Any] = json.loads(data)["blocks"][name]
        return block

    def rows(self, name: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.block(name)["rows"]]


@pytest.fixture(scope="module")
def captures(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("captures")
    (root / "cluster.pcap").write_bytes(write_pcap(impaired(cluster_traffic(9, 20, payload=3000), lost=2).packets))
    for name in SHOWN:
        (root / f"{name}.pcap").write_bytes(write_pcap(merge(INCIDENTS[name].shows()), nanoseconds=True))
    (root / "just begun.cap").touch()
    source = CapturesInput([str(root)], values=True)
    job = Job(spark, source, OutputDirectory.claim(root / "out"), source.default)
    job.run()
    return Run(root / "out", job, sorted(root.glob("*.pcap")))


@pytest.fixture(scope="module")
def segments(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    root = tmp_path_factory.mktemp("segments")
    write_sample(root / "logs", scale=1)
    data = batches(4)
    write_segment(root / "logs" / "broken-0", [data[0], damage(data[1], 100), *data[2:]])
    timeless = BatchBuilder()
    timeless.append(b"key", b"value", -1)
    write_segment(root / "logs" / "timeless-0", timeless.build())
    for place in ("broken-1", "idle-0"):
        write_segment(root / "logs" / place, b"")
    source = SegmentsInput([str(root / "logs")])
    job = Job(spark, source, OutputDirectory.claim(root / "out"), source.default)
    job.run()
    return Run(root / "out", job, [])


def test_the_findings_about_captures_are_the_inspectors(captures: Run) -> None:
    expected = findings_table(find_incidents(read_captures(captures.files).tables)).to_pylist()
    assert {row["rule"] for row in expected} >= {"stuck-hanging-transaction", "duplicates", "rebalance-storm"}
    found = captures.table("findings")
    assert [row["level"] for row in found] == sorted((row["level"] for row in found), key="error warning info".index)
    assert sorted(found, key=repr) == sorted(expected, key=repr)


def test_every_exchange_that_a_finding_names_is_in_the_report(captures: Run) -> None:
    exchanges = {f"{row['conn_id']}/{row['seq']}": row for row in captures.table("exchanges")}
    page = (captures.out / "report.html").read_text()
    named = set(re.findall(r'<a href="#exchange-(\d+-\d+)">', page))
    shown = captures.rows("evidence")
    assert (
        named == {row[0].replace("/", "-") for row in shown} == set(re.findall(r'<tr id="exchange-(\d+-\d+)">', page))
    )
    assert [row[1] for row in shown] == sorted(row[1] for row in shown)
    assert all(exchanges[name]["api"] == api for name, _, _, api, *_ in shown)


def test_small_groups_find_what_one_client_shows(spark: SparkSession, captures: Run) -> None:
    tables = WrittenTables(spark, captures.job.output, schemas=captures.job.written.schemas)
    found = diagnose_captures(tables, limit=8)
    assert found is not None
    table = found.toArrow().cast(FINDINGS)
    assert {"closed-not-kafka", "rebalance-storm"} <= set(table["rule"].to_pylist())


def test_findings_need_their_tables(spark: SparkSession, captures: Run) -> None:
    assert diagnose_captures(WrittenTables(spark, captures.job.output)) is None


def test_latency_in_the_report_is_that_of_the_exchanges(captures: Run) -> None:
    served = defaultdict(list)
    for row in captures.table("exchanges"):
        if row["api"] is not None:
            served[row["api"]].append(row)
    told = {row[0]: row[1:] for row in captures.rows("latency")}
    assert set(told) == set(served)
    for api, rows in served.items():
        times = sorted(row["service_us"] for row in rows if row["service_us"] is not None)
        ranks = [times[math.ceil(share * len(times)) - 1] for share in (0.5, 0.9, 0.99, 1)] if times else [None] * 4
        failed = sum(row["error_code"] not in (0, None) for row in rows)
        sizes = [sum(row[name] or 0 for row in rows) for name in ("req_bytes", "resp_bytes")]
        assert told[api] == (len(rows), failed, *ranks, *sizes)


def test_series_in_the_report_add_up_to_the_tables(captures: Run) -> None:
    rows = captures.table("exchanges")
    series = captures.block("bytes_over_time")["series"]
    assert sum(series["requests"]) == sum(row["req_bytes"] or 0 for row in rows if row["ts_req"])
    assert sum(series["responses"]) == sum(row["resp_bytes"] or 0 for row in rows if row["ts_resp"])
    block = captures.block("exchanges_over_time")
    steps = block["steps"]
    expected: Counter[int] = Counter(
        (round(row["ts_req"].timestamp() * 1e6) // 1000 - steps["start"]) // steps["step"]
        for row in rows
        if row["ts_req"]
    )
    assert block["series"]["exchanges"] == [expected[step] for step in range(steps["count"])]
    failed = Counter(row["error_code"] for row in rows if row["error_code"])
    errors = captures.block("errors_over_time")["series"]
    assert {name: sum(values) for name, values in errors.items()} == {"UNKNOWN_TOPIC_OR_PARTITION (3)": failed[3]}
    assert [row[2] for row in captures.rows("errors")] == [failed[3]]


def test_space_topics_groups_and_clients_are_those_of_the_tables(captures: Run) -> None:
    batch_rows = captures.table("batches")
    space: Counter[tuple[Any, ...]] = Counter()
    for row in batch_rows:
        space[row["source"], row["magic"], row["codec"]] += row["size"]
    assert {row[:3]: row[5] for row in captures.rows("space")} == space
    assert sum(row[3] or 0 for row in captures.rows("topics")) == sum(
        row["size"] for row in batch_rows if row["source"] == "request"
    )
    exchanges = captures.table("exchanges")
    joins = Counter(row["group_id"] for row in exchanges if row["api"] == "JoinGroup")
    assert {row[0]: row[3] for row in captures.rows("groups") if row[3]} == joins
    assert sum(row[4] for row in captures.rows("clients")) == len(exchanges)
    keys = Counter((row["topic"], row["key"].decode()) for row in captures.table("records") if row["key"] is not None)
    assert {row[:2]: row[2] for row in captures.rows("keys")} == keys


def test_bytes_that_were_not_decoded_are_reported_with_the_reason(captures: Run) -> None:
    told = {(row[0], row[1]): row[2:] for row in captures.rows("not_decoded")}
    gaps = captures.table("gaps")
    for reason in {row["reason"] for row in gaps}:
        own = [row["bytes"] for row in gaps if row["reason"] == reason]
        assert told["bytes in no frame", reason] == (len(own), sum(own))
    [tls] = [row for row in captures.table("connections") if row["kind"] == "tls"]
    encrypted = "encrypted: decrypt it elsewhere, or record with kafkawire proxy"
    assert told["connections", encrypted] == (1, tls["bytes_c"] + tls["bytes_s"])
    of_files = captures.rows("capture_files")
    assert len(of_files) == len(captures.files) + 1
    assert [row[1:] for row in of_files if row[4]] == [(0, 0, 0, "the file is empty")]
    examples = json.loads((captures.out / "manifest.json").read_text())["summary"]["fault_examples"]
    assert [row["fault"] for row in examples] == ["the file is empty"]


def test_compression_is_tried_on_what_was_produced_where_it_was(captures: Run) -> None:
    records = captures.table("records")
    found: defaultdict[str, defaultdict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for row in records:
        found[row["topic"]][row["source"]].append((row["key"], row["value"]))
    expected = {
        topic: (tried := ways["request"] or ways["response"], packed_sizes(tried)) for topic, ways in found.items()
    }
    told = captures.rows("what_if")
    assert {row[0] for row in told} == expected.keys()
    for topic, count, plain, *shares in told:
        tried, sizes = expected[topic]
        assert (count, plain) == (min(len(tried), SAMPLE), sizes["none"])
        assert shares == [size / plain for codec, size in sizes.items() if codec != "none" and size is not None]


def test_the_manifest_counts_the_rows_of_every_table(captures: Run) -> None:
    manifest = json.loads((captures.out / "manifest.json").read_text())
    assert manifest["state"] == "complete"
    assert {name: table["rows"] for name, table in manifest["tables"].items()} == {
        name: len(captures.table(name)) for name in (*captures.job.tables, "findings")
    }


def test_damage_in_log_files_is_a_finding_with_its_place(segments: Run) -> None:
    [found] = [row for row in segments.table("findings") if row["level"] == "error"]
    assert (found["rule"], found["entity"], found["count"]) == ("corruption", "broken-0", 1)
    [fault] = segments.table("faults")
    assert [row[1:] for row in segments.rows("faults")] == [(fault["position"], fault["size"], fault["fault"])]
    assert fault["fault"] in (segments.out / "report.html").read_text()


def test_numbers_about_log_files_are_those_of_the_tables(segments: Run) -> None:
    records, stored = segments.table("records"), segments.table("batches")
    timed = [row for row in records if row["timestamp_type"] >= 0 and row["topic"] != "timeless"]
    assert sum(segments.block("records_over_time")["series"]["records"]) == len(timed)
    size = sum(len(row["key"] or b"") + len(row["value"] or b"") for row in timed)
    assert sum(segments.block("bytes_over_time")["series"]["bytes"]) == size
    space: Counter[tuple[int, str]] = Counter()
    for row in stored:
        space[row["magic"], row["codec"]] += row["size"]
    assert {row[:2]: row[4] for row in segments.rows("space")} == space
    topics = {row[0]: row[1:] for row in segments.rows("topics")}
    assert {topic: row[2] for topic, row in topics.items() if row[2]} == Counter(row["topic"] for row in stored)
    assert topics["broken"][:3] == (2, 2, 3), "a partition whose file is empty was read too"
    assert topics["idle"] == (1, 1, 0, 0, 0, None, None)
    assert sum(row[1] for row in topics.values()) == len(list((segments.out.parent / "logs").rglob("*.log")))
    keys = Counter((row["topic"], row["key"].decode()) for row in records if row["key"] and row["topic"] != "payments")
    top = {row[:2]: row[2] for row in segments.rows("keys")}
    assert top["audit", "user"] == keys["audit", "user"] == 175
    assert sorted(top.values(), reverse=True)[:3] == [count for _, count in keys.most_common(3)]
    tombstones = Counter(row["topic"] for row in records if row["key"] is not None and row["value"] is None)
    assert {row[0]: row[4] for row in segments.rows("keyed") if row[4]} == tombstones


def test_compression_is_tried_on_records_of_every_topic(segments: Run) -> None:
    counts = Counter(row["topic"] for row in segments.table("records"))
    tried = {row[0]: row[1:] for row in segments.rows("what_if")}
    assert {topic: row[0] for topic, row in tried.items()} == {
        topic: min(count, SAMPLE) for topic, count in counts.items()
    }
    of_broken = [(row["key"], row["value"]) for row in segments.table("records") if row["topic"] == "broken"]
    plain, *packed = packed_sizes(of_broken).values()
    assert plain is not None
    assert tried["broken"] == (30, plain, *(size / plain for size in packed if size is not None))
    assert 0 < tried["broken"][-1] < 1
