"""Log directories on the page: partitions, strips, batches, records, and what is wrong with them."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.page_client import RunningPage

from kafkawire.cli.main import main
from kafkawire.testing import RunningBroker
from kafkawire.web import LogSource, Workspace

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

RECORDS = 300


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder: Path = tmp_path_factory.mktemp("logs")
    with RunningBroker(folder, config={"log.segment.bytes": 4096}) as broker:
        broker.create_topic("orders", partitions=2)
        for number in range(RECORDS):
            broker.produce("orders", b"value %d" % number, key=b"k", partition=0)
    return folder


@pytest.fixture(scope="module")
def shown(folder: Path) -> Iterator[RunningPage]:
    with opened(folder) as page:
        yield page


def opened(folder: Path) -> RunningPage:
    workspace = Workspace()
    workspace.add_source(LogSource([folder]))
    return RunningPage(workspace)


def partitions(page: RunningPage) -> dict[str, Any]:
    until = time.monotonic() + 60
    while not (found := page.get("/api/logs/d1"))["ready"]:
        assert time.monotonic() < until
        time.sleep(0.05)
    return {f"{row['topic']}-{row['partition']}": row for row in found["rows"]}


def test_partitions_have_their_records_and_offsets(shown: RunningPage) -> None:
    row = partitions(shown)["orders-0"]
    assert (row["records"], row["first"], row["last"], row["faults"]) == (RECORDS, "0", str(RECORDS - 1), 0)
    assert row["segments"] > 1


def test_the_strip_covers_every_batch(shown: RunningPage) -> None:
    partitions(shown)
    strip = shown.get("/api/logs/d1/orders/0/strip")
    assert sum(mark[6] for mark in strip["marks"]) == strip["batches"]
    assert sum(mark[1] for mark in strip["marks"]) == strip["size"] == sum(each["size"] for each in strip["segments"])
    assert (strip["marks"][0][4], strip["marks"][-1][5]) == ("0", str(RECORDS - 1))
    part = shown.get(f"/api/logs/d1/orders/0/strip?from={strip['size'] // 2}")
    assert 0 < len(part["marks"]) < len(strip["marks"])


def test_a_batch_leads_to_its_records_and_its_bytes(shown: RunningPage) -> None:
    found = shown.get("/api/logs/d1/orders/0/batches?filter=offset%20%3D%2017")
    assert found["matched"] == 1
    batch = found["rows"][0]
    records = shown.get(f"/api/logs/d1/records?batch={batch[0]}")
    assert [(row[0], row[2], row[3]) for row in records["rows"]] == [("17", 'b"k"', 'b"value 17"')]
    document = shown.post("/api/bytes", {"source": "d1", "item": batch[0]})
    assert document["faults"] == []
    assert document["frames"][0]["length"] == batch[4]


def test_an_empty_partition_has_an_empty_strip(shown: RunningPage) -> None:
    strip = shown.get("/api/logs/d1/orders/1/strip")
    assert (strip["batches"], strip["marks"]) == (0, [])
    assert shown.get("/api/logs/d1/orders/1/batches")["matched"] == 0


@pytest.mark.parametrize("path", ["nothing/0/strip", "orders/9/batches", "orders/x/strip", "..%2f..%2fetc/0/strip"])
def test_a_partition_that_is_not_there_is_not_found(shown: RunningPage, path: str) -> None:
    assert shown.ask("GET", f"/api/logs/d1/{path}", shown.token)[0] == 404


@pytest.mark.parametrize("item", ["9@0", "0@99999999", "x", "0@-1", "../../etc/passwd@0", "0@" + "9" * 18])
def test_only_batches_of_the_given_files_are_read(shown: RunningPage, item: str) -> None:
    import json

    headers = {**shown.token, "content-type": "application/json"}
    body = json.dumps({"source": "d1", "item": item}).encode()
    assert shown.ask("POST", "/api/bytes", headers, body)[0] == 404


def test_damage_is_marked_and_its_bytes_can_be_seen(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "damaged"
    shutil.copytree(folder, copy)
    log = min((copy / "orders-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[200] ^= 0xFF
    log.write_bytes(data)
    with opened(copy) as page:
        assert partitions(page)["orders-0"]["state"] == "damaged"
        strip = page.get("/api/logs/d1/orders/0/strip")
        assert "fault" in [mark[3] for mark in strip["marks"]]
        found = page.get("/api/logs/d1/orders/0/batches?filter=ok%20%3D%20no")
        assert found["matched"] == 1
        assert page.post("/api/bytes", {"source": "d1", "item": found["rows"][0][0]})["faults"]
        assert page.get("/api/logs/d1/findings")["total"] > 0


def measured(page: RunningPage, **body: Any) -> list[Any]:
    headers = {**page.token, "content-type": "application/json"}
    status, _, answer = page.ask("POST", "/api/logs/d1/stats", headers, json.dumps(body).encode())
    assert status == 200, answer
    return [json.loads(line) for line in answer.splitlines()]


def test_verifying_and_measuring_agrees_with_the_commands(
    shown: RunningPage, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    events = measured(shown, topic="orders", partition="0", what_if=True)
    assert events[-1] == {"end": "all"}
    assert [each for each in events if "faults" in each] == []
    sections = {each["title"]: each["rows"] for event in events for each in event.get("sections", ())}
    capsys.readouterr()
    main(["log", "stats", str(folder / "orders-0"), "--what-if", "--json"])
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [row[1] for row in sections["contents"]] == [row["value"] for row in printed if row["section"] == "contents"]
    codecs = [row for row in printed if row["section"] == "size with other codecs"]
    assert [row[:2] for row in sections["size with other codecs"]] == [[row["codec"], row["bytes"]] for row in codecs]
    assert "size with other codecs" not in {
        each["title"] for event in measured(shown) for each in event.get("sections", ())
    }


@pytest.mark.parametrize("name", ["nothing", "../orders", "..", "orders-0/.."])
def test_only_partitions_of_the_given_directories_are_measured(shown: RunningPage, name: str) -> None:
    headers = {**shown.token, "content-type": "application/json"}
    body = json.dumps({"topic": name, "partition": "0"}).encode()
    assert shown.ask("POST", "/api/logs/d1/stats", headers, body)[0] == 404


def test_a_fault_is_found_by_verifying(folder: Path, tmp_path: Path) -> None:
    import shutil

    copy = tmp_path / "damaged"
    shutil.copytree(folder, copy)
    log = min((copy / "orders-0").glob("*.log"))
    data = bytearray(log.read_bytes())
    data[200] ^= 0xFF
    log.write_bytes(data)
    with opened(copy) as page:
        found = [fault for event in measured(page) for fault in event.get("faults", ())]
        assert any(fault[0] == f"orders-0/{log.name}" for fault in found)


def test_the_place_of_an_offset_is_found(shown: RunningPage) -> None:
    found = shown.get("/api/logs/d1/orders/0/batches?offset=117&count=500")
    assert found["rows"][found["place"]][1] == "117"
    assert shown.get(f"/api/logs/d1/orders/0/batches?offset={RECORDS}&count=1")["place"] == -1


def test_partitions_are_filtered_and_windowed(shown: RunningPage) -> None:
    partitions(shown)
    found = shown.get("/api/logs/d1?filter=orders&start=1&count=1")
    assert (found["matched"], found["start"], [row["partition"] for row in found["rows"]]) == (2, 1, [1])


def test_whatever_stops_the_reading_is_said_and_no_view_waits(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise SystemError("a defect below")

    monkeypatch.setattr("kafkawire.inspect.read_directories", fail)
    with opened(folder) as page:
        status, _, body = page.ask("GET", "/api/logs/d1/findings", page.token)
        assert (status, b"a defect below" in body) == (422, True)
