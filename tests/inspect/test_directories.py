"""Log directories: every file is told of, indexes are checked against their logs, damage does not stop the reading."""

from __future__ import annotations

import json
import struct
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.bodies import batch

from kafkawire.cli.main import main
from kafkawire.inspect.directories import read_directories
from kafkawire.inspect.tables import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path

STAMP = 1_700_000_000_000


def one(offset: int, count: int = 2) -> bytes:
    return batch(*[b"x" * 50] * count, base_offset=offset, append_timestamp=STAMP + offset)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A partition of two segments: ten batches of two records, then five; an index entry a batch from the second on."""
    made = tmp_path / "data" / "my-orders-3"
    made.mkdir(parents=True)
    for base, count in ((0, 10), (20, 5)):
        log, index, times = b"", b"", b""
        for number in range(count):
            offset = base + 2 * number
            if number:
                index += struct.pack(">ii", offset + 1 - base, len(log))
                times += struct.pack(">qi", STAMP + offset, offset + 1 - base)
            log += one(offset)
        name = f"{base:020d}"
        (made / f"{name}.log").write_bytes(log)
        (made / f"{name}.index").write_bytes(index + bytes(80))
        (made / f"{name}.timeindex").write_bytes(times)
    (made / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAATQ\n")
    return made


def read(folder: Path, **options: Any) -> dict[str, list[dict[str, Any]]]:
    tables = read_directories([folder.parent], **options)
    for name, table in tables.items():
        assert table.schema == SCHEMAS[name]
    return {name: table.to_pylist() for name, table in tables.items()}


def log_of(folder: Path, base: int = 0) -> Path:
    return folder / f"{base:020d}.log"


def test_files_batches_and_records_of_a_sound_partition(folder: Path) -> None:
    found = read(folder, records=True)
    logs = [row for row in found["segment_files"] if row["kind"] == "log"]
    assert [(row["topic"], row["partition"], row["entries"], row["state"]) for row in logs] == [
        *(("my-orders", 3, 10, "ok"), ("my-orders", 3, 5, "ok"))
    ]
    assert [(row["first_offset"], row["last_offset"], row["max_ts"]) for row in logs] == [
        *((0, 19, STAMP + 18), (20, 29, STAMP + 28))
    ]
    assert {row["topic_id"] for row in logs} == {"AAAAAAAAAAAAAAAAAAAATQ"}
    assert [row["entries"] for row in found["segment_files"] if row["kind"] != "log"] == [9, 9, 4, 4, 1]
    assert found["index_errors"] == []
    assert [row["base_offset"] for row in found["batches"]] == list(range(0, 30, 2))
    assert [row["ts_type"] for row in found["batches"][:1]] == ["append"]
    assert [row["offset"] for row in found["records"]] == list(range(30))
    assert {row["value"] for row in found["records"]} == {None}


def test_a_wrong_checksum_is_a_row_and_the_walk_goes_on(folder: Path) -> None:
    data = bytearray(log_of(folder).read_bytes())
    data[len(one(0)) + 70] ^= 1
    log_of(folder).write_bytes(data)
    found = read(folder)
    good = [row["crc_ok"] for row in found["batches"] if row["location"].startswith(str(log_of(folder)))]
    assert good == [True, False] + [True] * 8
    assert found["segment_files"][0]["state"] == "damaged"


def test_behind_nonsense_the_walk_goes_on_where_the_index_says(folder: Path) -> None:
    data = bytearray(log_of(folder).read_bytes())
    size = len(one(0))
    data[2 * size + 8 : 2 * size + 12] = b"\xff\xff\xff\xff"
    log_of(folder).write_bytes(data)
    found = read(folder)
    offsets = [row["base_offset"] for row in found["batches"]]
    assert offsets == [0, 2, *range(6, 30, 2)]


def test_a_cut_tail_is_told(folder: Path) -> None:
    log_of(folder, 20).write_bytes(log_of(folder, 20).read_bytes()[:-7])
    row = next(row for row in read(folder)["segment_files"] if row["file"] == str(log_of(folder, 20)))
    assert (row["entries"], row["state"]) == (4, "cut")
    assert "no whole batch" in row["fault"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (struct.pack(">ii", 4, 0), "the batch at position 0 ends at offset 1, the index says 4"),
        (struct.pack(">ii", 4, 5), "no batch begins at position 5"),
        (struct.pack(">ii", 4, 90_000), "position 90000 is beyond the log's"),
        (struct.pack(">ii", 1, 0), "offset 1 follows 3"),
    ],
)
def test_offset_index_entries_that_do_not_hold(folder: Path, entry: bytes, said: str) -> None:
    path = folder / f"{0:020d}.index"
    data = path.read_bytes()
    path.write_bytes(data[:8] + entry + data[16:])
    errors = read(folder)["index_errors"]
    assert said in errors[0]["text"]
    assert (errors[0]["kind"], errors[0]["entry"]) == ("index", 1)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (struct.pack(">qi", STAMP + 3, 5), f"the batch of offset 5 has the timestamp {STAMP + 4}"),
        (struct.pack(">qi", STAMP + 2, 5), f"timestamp {STAMP + 2} follows {STAMP + 2}"),
        (struct.pack(">qi", STAMP + 4, 500), "no batch holds offset 500"),
    ],
)
def test_time_index_entries_that_do_not_hold(folder: Path, entry: bytes, said: str) -> None:
    path = folder / f"{0:020d}.timeindex"
    data = path.read_bytes()
    path.write_bytes(data[:12] + entry + data[24:])
    errors = read(folder)["index_errors"]
    assert said in errors[0]["text"]


def test_segments_that_overlap_are_told(folder: Path) -> None:
    log_of(folder, 20).write_bytes(one(18) + one(20))
    texts = [row["text"] for row in read(folder)["index_errors"] if row["kind"] == "log"]
    assert texts == ["begins at offset 18, but 00000000000000000000.log goes up to 19"]


def test_empty_files_are_no_trouble(folder: Path) -> None:
    for path in folder.glob("*20.*"):
        path.write_bytes(b"")
    states = {row["state"] for row in read(folder)["segment_files"]}
    assert states == {"ok"}


def test_any_byte_may_be_wrong(folder: Path) -> None:
    whole = log_of(folder).read_bytes()
    for place in range(0, 3 * len(one(0)), 7):
        data = bytearray(whole)
        data[place] ^= 0xFF
        log_of(folder).write_bytes(data)
        read(folder, records=True)


def test_inspect_and_diagnose_take_directories(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", str(folder.parent)]) == 0
    assert "1 partitions, 7 files" in capsys.readouterr().out
    assert main(["diagnose", str(folder.parent)]) == 0
    capsys.readouterr()
    data = bytearray(log_of(folder).read_bytes())
    data[70] ^= 1
    log_of(folder).write_bytes(data)
    assert main(["diagnose", str(folder), "--json"]) == 1
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["rule"], row["entity"], row["level"]) == ("corruption", "my-orders-3", "error")
    assert main(["inspect", str(folder), "--table", "batches", "-t", "other", "--json"]) == 0
    assert capsys.readouterr().out == ""
