"""Output directories of pipeline runs on the page: tables, findings, exchanges, and manifests that lie."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.web.page_client import RunningPage

from kafkawire._look.series import Bars, OverTime, Ranges, Steps
from kafkawire.exceptions import KafkaWireError
from kafkawire.inspect import find_incidents, read_captures
from kafkawire.spark._pipeline.summary import SegmentsSummary
from kafkawire.spark._report.chapters import Chapter, Grid
from kafkawire.spark._report.page import page as report_page
from kafkawire.web import RunSource, Workspace
from kafkawire.web._runs.charts import charts_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory as the pipeline writes it: the tables of a capture as Parquet, with the manifest beside them."""
    root: Path = tmp_path_factory.mktemp("run")
    capture = root.parent / "incident.pcap"
    capture.write_bytes(write_pcap(merge(INCIDENTS["hanging transaction"].shows()), nanoseconds=True))
    reading = read_captures([capture])
    tables = {name: reading.tables[name] for name in ("exchanges", "connections", "gaps", "exchange_partitions")}
    found = [each.row() for each in find_incidents(reading.tables)]
    tables["findings"] = pa.Table.from_pylist([{**row, "evidence": list(row["evidence"])} for row in found])
    tables["records"] = pa.table(
        {
            "offset": [1, 2, 2**60],
            "timestamp": [NOW] * 3,
            "value": [b"<b>x</b>", b"\xff\xfe", None],
            "topic": ["a", "a", "b"],
        }
    )
    for name, table in tables.items():
        (root / name).mkdir()
        if name == "records":
            pq.write_to_dataset(table, root / name, partition_cols=["topic"])
        else:
            pq.write_table(table, root / name / "part-0.parquet")
    listed = {name: {"path": name, "format": "parquet", "rows": len(table)} for name, table in tables.items()}
    listed["changes"] = {"path": "changes", "format": "delta", "rows": 1}
    listed["outside"] = {"path": "..", "format": "parquet", "rows": 1}
    manifest = {"state": "complete", "tables": listed, "source": {"kind": "captures", "paths": [str(capture)]}}
    (root / "manifest.json").write_text(json.dumps(manifest))
    return root


@pytest.fixture(scope="module")
def shown(run: Path) -> Iterator[RunningPage]:
    workspace = Workspace()
    workspace.add_source(RunSource(run))
    with RunningPage(workspace) as page:
        yield page


def rows(page: RunningPage, table: str, **query: object) -> Any:
    text = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
    return page.get(f"/api/runs/r1/{table}/rows?{text}")


def test_the_tables_of_the_manifest_are_listed(shown: RunningPage) -> None:
    answer = shown.get("/api/runs/r1")
    assert {each["name"]: each["rows"] for each in answer["tables"]}["records"] == 3
    assert answer["facts"]["state"] == "complete"


def test_rows_are_filtered_sorted_and_exact(shown: RunningPage) -> None:
    answer = rows(shown, "records", sort="offset", down=1)
    names = [each["name"] for each in answer["columns"]]
    first = dict(zip(names, answer["rows"][0], strict=True))
    assert (first["offset"], first["value"], first["topic"]) == (str(2**60), None, "b")
    assert first["timestamp"] == str(round(NOW.timestamp() * 1e6))
    found = rows(shown, "records", filter="topic = a and offset > 1")
    assert (found["total"], found["matched"]) == (3, 1)
    assert dict(zip(names, found["rows"][0], strict=True))["value"] == "0xfffe"
    assert rows(shown, "records", filter='"<b>"')["matched"] == 1


def test_findings_and_exchanges_are_those_of_the_run(shown: RunningPage) -> None:
    found = shown.get("/api/exchanges/r1/findings")
    assert found["total"] > 0
    assert found["rows"][0]["text"]
    exchanges = shown.get("/api/exchanges/r1/rows?count=10")
    assert exchanges["total"] > 0
    headers = {**shown.token, "content-type": "application/json"}
    body = json.dumps({"source": "r1", "item": "0/0"}).encode()
    status, _, answer = shown.ask("POST", "/api/bytes", headers, body)
    assert status == 404
    assert b"open its input: kafkawire ui" in answer


@pytest.mark.parametrize(("table", "status"), [("nothing", 404), ("changes", 422), ("outside", 422), ("..%2f..", 404)])
def test_other_tables_are_refused(shown: RunningPage, table: str, status: int) -> None:
    assert shown.ask("GET", f"/api/runs/r1/{table}/rows", shown.token)[0] == status


@pytest.mark.parametrize("sort", ["nothing", "evidence", "../x"])
def test_only_columns_are_sorted(shown: RunningPage, sort: str) -> None:
    assert shown.ask("GET", f"/api/runs/r1/findings/rows?sort={quote(sort)}", shown.token)[0] == 400


def test_a_run_without_captures_has_its_findings(run: Path, tmp_path: Path) -> None:
    import shutil

    shutil.copytree(run / "findings", tmp_path / "findings")
    listed = {"findings": {"path": "findings", "format": "parquet", "rows": 1}}
    (tmp_path / "manifest.json").write_text(json.dumps({"state": "complete", "tables": listed}))
    workspace = Workspace()
    workspace.add_source(RunSource(tmp_path))
    with RunningPage(workspace) as page:
        assert page.get("/api/exchanges/r1/findings")["total"] > 0
        assert page.ask("GET", "/api/exchanges/r1/rows", page.token)[0] == 404
        assert [each[1] for each in page.get("/api/about")["sources"][0]["views"]] == ["Tables", "Findings"]


@pytest.mark.parametrize("text", ["not json", "[]", '{"tables": []}', '{"tables": {"x": 1}}'])
def test_what_is_not_a_manifest_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(KafkaWireError, match="is not the manifest of a run"):
        RunSource(tmp_path)


def test_the_charts_of_the_report_are_drawn_for_the_page(tmp_path: Path) -> None:
    name = "</script><script>alert(1)</script>"
    steps = Steps(0, 1000, 3)
    blocks: list[Any] = [
        OverTime("lines", "Lines", "bytes", steps, {"a": [1, 2, 3], name: [0, 0, 1]}, is_rate=True),
        Bars("bars", "Bars", "count", [(name, 10), ("none", 0)]),
        Ranges("ranges", "Ranges", "us", [("Fetch", [10, 200, 3000, 3000])]),
        Grid("grid", [("topic", "text")], [["orders"]]),
    ]
    report = tmp_path / "report.html"
    report.write_text(
        report_page({"kind": "segments", "paths": ["x"]}, SegmentsSummary(), [], [Chapter("C", "", blocks)], 0)
    )
    found = charts_of(report, 800)
    assert [each["title"] for each in found] == ["Lines", "Bars", "Ranges"]
    drawn = json.loads(json.dumps(found))
    assert f"{name}: 10" in json.dumps(drawn[1]).replace("\\", "")
    assert all(each["drawing"][-1][0] == "svg" for each in drawn)


@pytest.mark.parametrize(
    "block",
    [
        {"name": "x", "title": "x", "unit": "count", "items": [["a", "1e999"]]},
        {"name": "x", "title": "x", "unit": "count", "items": [["a", [1, 2, 3]]]},
        {"name": "x", "title": "x", "unit": "count", "items": [["a"]]},
        {"name": "x", "title": "x", "unit": "us", "items": [["a", -5]]},
        {"name": "x", "title": "x", "unit": "us", "items": 7},
        {
            "name": "x",
            "title": "x",
            "unit": "count",
            "stacked": False,
            "is_rate": False,
            "steps": {"start": 0, "step": 10**30, "count": 10**9},
            "series": {"a": [1]},
        },
        ["items"],
        None,
    ],
)
def test_a_report_that_lies_has_no_charts(tmp_path: Path, block: Any) -> None:
    report = tmp_path / "report.html"
    text = json.dumps({"blocks": {"x": block}})
    report.write_text(f'<script type="application/json" id="data">{text}</script>')
    assert charts_of(report, 800) == []
    report.write_text(f'<script type="application/json" id="data">{text[:-3]}</script>')
    assert charts_of(report, 800) == []
    report.write_text("no report")
    assert charts_of(report, 800) == []
