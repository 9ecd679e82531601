"""Captures on the page: the numbers are those of the commands, and every row leads to its bytes."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from tests.inspect.captures import Conversation, merge, write_pcap
from tests.inspect.incidents import INCIDENTS
from tests.web.page_client import RunningPage

from kafkawire.cli.main import main
from kafkawire.inspect import read_captures
from kafkawire.messages.errors import error
from kafkawire.web import CaptureSource, PageOptions, Workspace
from kafkawire.web._captures.export import safe_cell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NAMES = ("hanging transaction", *list(INCIDENTS)[:6])


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path: Path = tmp_path_factory.mktemp("captures") / "incidents.pcap"
    talks: list[Conversation] = []
    for number, name in enumerate(NAMES):
        for talk in INCIDENTS[name].shows():
            talk.client = (f"10.1.{number}.{len(talks) % 250 + 1}", talk.client[1])
            talks.append(talk)
    path.write_bytes(write_pcap(merge(talks), nanoseconds=True))
    return path


@pytest.fixture(scope="module")
def shown(capture: Path) -> Iterator[RunningPage]:
    workspace = Workspace()
    workspace.add_source(CaptureSource([capture]))
    with RunningPage(workspace) as page:
        until = time.monotonic() + 60
        while page.get("/api/exchanges/c1")["phase"] != "whole":
            assert time.monotonic() < until
            time.sleep(0.05)
        yield page


def rows(page: RunningPage, **query: object) -> Any:
    text = "&".join(f"{name}={quote(str(value))}" for name, value in query.items())
    return page.get(f"/api/exchanges/c1/rows?count=500&{text}")


def printed(capsys: pytest.CaptureFixture[str], *command: str) -> list[Any]:
    capsys.readouterr()
    main([*command, "--json"])
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_the_exchanges_are_those_of_inspect(
    shown: RunningPage, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = printed(capsys, "inspect", str(capture))
    found = []
    for start in range(0, len(listed), 400):
        found += rows(shown, start=start)["rows"][:400]
    assert [f"{row[0]}/{row[1]}" for row in found] == [row["exchange"] for row in listed]
    assert [row[7] for row in found] == [row["wait_us"] for row in listed]


@pytest.mark.parametrize(
    ("text", "options"),
    [
        ("api = Fetch", ["--api", "Fetch"]),
        ("error != 0 and error >= -1", ["--error", "any"]),
        ("topic = orders", ["--topic", "orders"]),
        ("connection = 1", ["--connection", "1"]),
    ],
)
def test_a_filter_selects_what_the_command_selects(
    shown: RunningPage, capture: Path, capsys: pytest.CaptureFixture[str], text: str, options: list[str]
) -> None:
    listed = printed(capsys, "inspect", str(capture), *options)
    assert rows(shown, filter=text)["matched"] == len(listed)


def test_a_sort_is_over_all_rows(shown: RunningPage) -> None:
    found = [row[7] for row in rows(shown, sort="wait_us", down=1)["rows"] if row[7] is not None]
    assert found == sorted(found, reverse=True)
    assert shown.ask("GET", "/api/exchanges/c1/rows?sort=nonsense", shown.token)[0] == 400


def test_the_timeline_counts_every_exchange_once(shown: RunningPage) -> None:
    line = shown.get("/api/exchanges/c1/timeline?buckets=50")
    assert sum(line["counts"]) == rows(shown)["matched"]
    middle = int(line["start"]) + line["step"] * 25
    early, late = rows(shown, until=middle)["matched"], rows(shown, since=middle)["matched"]
    assert (early, late) == (sum(line["counts"][:25]), sum(line["counts"][25:]))
    assert all(half is None or half <= most for half, most in zip(line["p50"], line["p99"], strict=True))


def test_the_findings_are_those_of_diagnose(
    shown: RunningPage, capture: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = printed(capsys, "diagnose", str(capture))
    found = shown.get("/api/exchanges/c1/findings")
    assert [(row["rule"], row["text"]) for row in found["rows"]] == [(row["rule"], row["text"]) for row in listed]
    assert sum(found["counts"].values()) == len(listed)


def test_every_evidence_leads_to_its_bytes(shown: RunningPage) -> None:
    for finding in shown.get("/api/exchanges/c1/findings")["rows"]:
        for place in finding["evidence"][:3]:
            item = f"{place['conn_id']}/{place['seq']}"
            assert shown.post("/api/bytes", {"source": "c1", "item": item})["frames"]
            assert rows(shown, at=item)["place"] >= 0


def test_the_next_error_is_found_in_both_directions_and_wraps(shown: RunningPage) -> None:
    everything = rows(shown)["rows"]
    bad = [at for at, row in enumerate(everything) if row[11] or row[12] not in ("matched", "no_response_expected")]
    assert bad
    jump = "/api/exchanges/c1/rows?count=0&error="
    assert shown.get(f"{jump}1&from=-1")["place"] == bad[0]
    assert shown.get(f"{jump}1&from={bad[-1]}")["place"] == bad[0]
    assert shown.get(f"{jump}-1&from={bad[0]}")["place"] == bad[-1]


def test_connections_have_their_span_and_their_end(shown: RunningPage, capture: Path) -> None:
    found = shown.get("/api/exchanges/c1/connections")
    assert found["total"] == len(found["rows"])
    low, high = map(int, found["span"])
    assert all(low <= int(row["t_first"]) <= int(row["t_last"]) <= high for row in found["rows"])
    assert capture.exists()


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_an_export_has_the_rows_of_the_filter(shown: RunningPage, form: str) -> None:
    matched = rows(shown, filter="api = Fetch")["matched"]
    path = f"/api/exchanges/c1/export?form={form}&filter={quote('api = Fetch')}"
    href = shown.post("/api/ticket", {"path": path})["href"]
    status, headers, body = shown.ask("GET", href)
    assert status == 200
    assert headers["content-disposition"].startswith("attachment")
    if form == "parquet":
        import io

        import pyarrow.parquet as pq

        assert len(pq.read_table(io.BytesIO(body))) == matched
    else:
        assert len(body.splitlines()) == matched + (form == "csv")
    assert shown.ask("GET", href)[0] == 401


def test_a_ticket_is_only_for_exports(shown: RunningPage) -> None:
    shown.post("/api/ticket", {"path": "/api/about"}, status=400)
    shown.post("/api/ticket", {"path": "/static/export"}, status=400)


def test_exports_can_be_forbidden(capture: Path) -> None:
    workspace = Workspace(PageOptions(export=False))
    workspace.add_source(CaptureSource([capture]))
    with RunningPage(workspace) as page:
        page.post("/api/ticket", {"path": "/api/exchanges/c1/export"}, status=403)
        assert page.ask("GET", "/api/exchanges/c1/export", page.token)[0] == 403


@pytest.mark.parametrize("text", ["=1+1", "+1", "-cmd", "@SUM(A1)", "\t=1", "\r=1"])
def test_a_cell_that_is_a_formula_is_quoted(text: str) -> None:
    assert safe_cell(text) == f"'{text}"


def test_a_file_that_is_not_a_capture_says_so(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(b"nonsense")
    workspace = Workspace()
    workspace.add_source(CaptureSource([path]))
    with RunningPage(workspace) as page:
        status, _, body = page.ask("GET", "/api/exchanges/c1", page.token)
        assert status == 422
        assert "not a capture" in json.loads(body)["error"]


def test_an_uploaded_capture_becomes_a_source(page: RunningPage, capture: Path) -> None:
    headers = {**page.token, "content-type": "application/octet-stream", "x-file-name": "dropped.pcap"}
    _, _, body = page.ask("POST", "/api/uploads", headers, capture.read_bytes())
    kept = json.loads(body)
    assert kept["kind"] == "capture"
    name = page.post("/api/captures", {"upload": kept["upload"]})["id"]
    assert page.get(f"/api/exchanges/{name}/rows")["total"] > 0
    assert page.get("/api/about")["sources"][0]["title"] == "dropped.pcap"


def test_the_frames_of_a_selection_are_exported_as_packets(shown: RunningPage, tmp_path: Path) -> None:
    chosen = rows(shown, filter="api = Fetch")["rows"]
    assert chosen
    answer = shown.octets(f"/api/exchanges/c1/export?form=pcapng&filter={quote('api = Fetch')}")
    path = tmp_path / "chosen.pcapng"
    path.write_bytes(answer)
    reading = read_captures([path])
    found = reading.tables["exchanges"].to_pylist()
    assert {row["api"] for row in found} == {"Fetch"}
    fits = [row for row in chosen if row[12] == "matched"]
    assert sorted(row["corr_id"] for row in found if row["state"] == "matched") == sorted(
        page_row["corr_id"] for page_row in exported(shown) if page_row["state"] == "matched"
    )
    assert len([row for row in found if row["state"] == "matched"]) == len(fits)


def exported(page: RunningPage) -> list[Any]:
    text = page.octets(f"/api/exchanges/c1/export?form=jsonl&filter={quote('api = Fetch')}")
    return [json.loads(line) for line in text.splitlines()]


def test_the_place_of_a_time_is_found(shown: RunningPage) -> None:
    found = rows(shown)["rows"]
    wanted = found[len(found) // 2]
    place = shown.get(f"/api/exchanges/c1/rows?count=0&from_time={wanted[2]}")["place"]
    assert found[place][2] == wanted[2]
    assert shown.get(f"/api/exchanges/c1/rows?count=0&from_time={2**60}")["place"] == len(found) - 1


@pytest.mark.parametrize("down", [0, 1])
@pytest.mark.parametrize("sort", ["client", "api", "about", "wait_us", "req_bytes", "error_code"])
def test_every_sort_is_that_of_the_values(shown: RunningPage, sort: str, down: int) -> None:
    places = {"client": 3, "api": 4, "about": 6, "wait_us": 7, "req_bytes": 9}
    values = [row[places.get(sort, 11)] for row in rows(shown, sort=sort, down=down)["rows"]]
    if sort == "error_code":
        codes = [0 if not each else int(error(each).code) for each in values if each is not None]
        assert codes == sorted(codes, reverse=bool(down))
        return
    known = [each for each in values if each is not None]
    assert known == sorted(known, reverse=bool(down))
    assert values[len(known) :] == [None] * (len(values) - len(known))


def test_a_large_capture_shows_its_first_exchanges_before_the_rest(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kafkawire.web._captures import source as module

    monkeypatch.setattr(module, "FIRST", capture.stat().st_size // 3)
    seen: list[tuple[str, int]] = []
    monkeypatch.setattr(
        CaptureSource, "_set", lambda self, reading, phase: seen.append((phase, len(reading.tables["exchanges"])))
    )
    source = CaptureSource([capture])
    until = time.monotonic() + 60
    while len(seen) < 3:
        assert time.monotonic() < until
        time.sleep(0.02)
    source.close()
    assert [phase for phase, _ in seen] == ["headers", "bodies", "whole"]
    assert 0 < seen[0][1] < seen[1][1] == seen[2][1]


def waited(page: RunningPage, check: Any) -> Any:
    """A summary of the capture that fits, waited for."""
    until = time.monotonic() + 60
    while not check(about := page.get("/api/exchanges/c1")):
        assert time.monotonic() < until, about
        time.sleep(0.05)
    return about


@pytest.fixture
def growing(
    capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[RunningPage, Path, bytes]]:
    """A page over the first half of a capture, the file, and all of its bytes."""
    monkeypatch.setattr("kafkawire.web._captures.source.LOOK_SECONDS", 0.02)
    data, path = capture.read_bytes(), tmp_path / "growing.pcap"
    path.write_bytes(data[: len(data) // 2])  # ends in the middle of a packet
    workspace = Workspace()
    workspace.add_source(CaptureSource([path]))
    with RunningPage(workspace) as page:
        waited(page, lambda about: about["phase"] == "whole")
        yield page, path, data


def test_a_capture_that_grows_shows_its_new_exchanges(growing: tuple[RunningPage, Path, bytes], capture: Path) -> None:
    page, path, data = growing
    reading = read_captures([capture])
    before = page.get("/api/exchanges/c1")
    assert 0 < before["exchanges"] < len(reading.tables["exchanges"])
    part = len(data) // 2
    with path.open("ab") as file:
        for start in range(part, len(data), part // 3):
            file.write(data[start : start + part // 3])
            file.flush()
            time.sleep(0.05)
    about = waited(page, lambda about: about["exchanges"] == len(reading.tables["exchanges"]) and not about["faults"])
    assert about["version"] > before["version"]
    waited(page, lambda about: about["phase"] == "whole" and about["connections"] == len(reading.tables["connections"]))
    every = {(row[0], row[1]): row[11] for row in rows(page)["rows"]}
    stored = reading.tables["exchanges"].select(["conn_id", "seq", "error_code"]).to_pylist()
    assert {place: name for place, name in every.items() if name} == {
        (each["conn_id"], each["seq"]): error(each["error_code"]).name for each in stored if each["error_code"]
    }
    assert page.get("/api/exchanges/c1/findings")["counts"] != {}


def test_a_capture_that_is_written_anew_is_read_anew(growing: tuple[RunningPage, Path, bytes]) -> None:
    page, path, data = growing
    first = next(row for row in rows(page)["rows"] if row[12] == "matched")
    item = {"source": "c1", "item": f"{first[0]}/{first[1]}"}
    page.post("/api/bytes", item)
    path.write_bytes(data[:24])  # a map of the old file would now end the process
    headers = {**page.token, "content-type": "application/json"}
    assert page.ask("POST", "/api/bytes", headers, json.dumps(item).encode())[0] in (404, 409)
    waited(page, lambda about: about["exchanges"] == 0)
    path.write_bytes(data)
    waited(page, lambda about: about["exchanges"] > 0)
    page.post("/api/bytes", item)


def test_a_capture_that_is_removed_stays_as_it_was(growing: tuple[RunningPage, Path, bytes]) -> None:
    page, path, data = growing
    before = page.get("/api/exchanges/c1")
    path.unlink()
    time.sleep(0.2)
    assert page.get("/api/exchanges/c1") == before
    path.write_bytes(data)
    waited(page, lambda about: about["exchanges"] > before["exchanges"])


def test_what_became_unreadable_is_said_beside_what_is_there(growing: tuple[RunningPage, Path, bytes]) -> None:
    page, path, data = growing
    before = page.get("/api/exchanges/c1")
    path.write_bytes(b"no capture at all" * 1000)
    about = waited(page, lambda about: about["failure"])
    assert "growing.pcap" in about["failure"]
    assert about["exchanges"] == before["exchanges"]
    path.write_bytes(data)
    assert waited(page, lambda about: about["failure"] is None)["exchanges"] > before["exchanges"]
