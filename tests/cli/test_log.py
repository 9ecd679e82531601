"""kafkawire log."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import pytest
from tests.log.batches import NOW, Clock, batch, keyed

from kafkawire.cli.main import main
from kafkawire.log import DiskFiles, LogConfig, LogDirectory
from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    logs = LogDirectory(tmp_path, files=DiskFiles(), clock=Clock(), config=LogConfig(segment_bytes=2000))
    log = logs.create("orders", 0)
    for turn in range(20):
        log.append(keyed({b"key-%d" % (turn % 4): b"v" * 80, b"gone": None}, codec="gzip" if turn % 2 else "none"))
    log.append(batch(b"t", producer=(5, 0, 0), transactional=True, timestamp=NOW))
    log.append_marker(5, 0, 0, commit=False)
    logs.close()
    return tmp_path


def test_dump_shows_every_file(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(root)]) == 0
    text = capsys.readouterr().out
    for kind in (".log: batch", ".timeindex: time index", ".txnindex: aborted", ".snapshot: producer", "checkpoint"):
        assert kind in text
    assert "transactional,control" in text


def test_dump_of_one_file_with_records_as_json(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", str(root / "orders-0" / "00000000000000000000.log"), "--records", "--json"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert {row["kind"] for row in rows} == {"batch", "record"}
    records = [row for row in rows if row["kind"] == "record"]
    assert records[0]["key"] == "key-0"
    assert [row["offset"] for row in records] == list(range(len(records)))


def test_bytes_in_json_can_be_restored(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    builder = BatchBuilder()
    builder.append(b"\xff\\x", "schlüssel".encode(), headers=[("trace", b"\x00\xff"), ("empty", None), ("text", b"t")])
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(builder.build())
    assert main(["log", "dump", str(path), "--records", "--json"]) == 0
    row = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (base64.b64decode(row["key_base64"]), row["value"]) == (b"\xff\\x", "schlüssel")
    assert row["headers"] == [
        {"name": "trace", "value_base64": "AP8="},
        {"name": "empty", "value": None},
        {"name": "text", "value": "t"},
    ]
    assert main(["log", "dump", str(path), "--records"]) == 0
    assert "trace=" in capsys.readouterr().out


@pytest.mark.parametrize("verb", [["dump"], ["dump", "--verify"], ["stats"]], ids=" ".join)
@pytest.mark.parametrize("name", ["notes.txt", "segment.bin", "folder"])
def test_paths_that_are_not_logs_are_refused(
    tmp_path: Path, verb: list[str], name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    else:
        path.write_bytes(b"hello\n")
    if (verb, name) == (["dump", "--verify"], "folder"):
        return  # an empty directory has no fault
    code = main(["log", verb[0], str(path), *verb[1:]])
    said = capsys.readouterr().err
    assert (code, "expected" in said or "no .log file found" in said) in ((1, True), (2, True))
    assert str(path) in said


@pytest.mark.parametrize("content", [b"hello\n", bytes(range(256)) * 9], ids=["short", "long"])
def test_a_log_file_of_other_bytes_is_refused_by_its_name(
    tmp_path: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(content)
    assert main(["log", "stats", str(path)]) == 1
    assert capsys.readouterr().err.startswith(f"kafkawire: {path}: ")
    assert main(["log", "dump", str(path)]) == 1


def test_verify_says_that_all_is_well(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "dump", "--verify", str(root)]) == 0
    assert capsys.readouterr().out == "no fault found\n"


def test_a_fault_is_printed_and_is_the_exit_code(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = root / "orders-0" / "00000000000000000000.log"
    data = bytearray(path.read_bytes())
    data[70] ^= 1
    path.write_bytes(data)
    assert main(["log", "dump", "--verify", "--json", str(root)]) == 1
    first = json.loads(capsys.readouterr().out.splitlines()[0])
    assert first["position"] == 0
    assert "stated CRC" in first["fault"]
    assert main(["log", "dump", str(path)]) == 1
    assert "fault" in capsys.readouterr().out


def test_stats_weigh_formats_keys_fill_and_codecs(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "stats", "--what-if", "--json", str(root)]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    facts = {row["what"]: row["value"] for row in rows if row["section"] == "contents"}
    assert (facts["records"], facts["tombstones"], facts["live keys"], facts["control batches"]) == (41, 20, 5, 1)
    assert {row["codec"] for row in rows if row["section"] == "formats"} == {"none", "gzip"}
    assert sum(row["bytes"] for row in rows if row["section"] == "formats") == facts["bytes"]
    assert rows[-1]["section"] == "size with other codecs"


def test_stats_of_a_sample(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", "stats", "--max-bytes", "500", "--top", "1", str(root)]) == 0
    assert "largest keys" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["dump", "nowhere"], ["stats", "nowhere"]])
def test_a_path_that_is_not_there_is_a_mistake_of_use(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["log", *arguments]) == 2
    assert "nowhere: no such file or directory" in capsys.readouterr().err
