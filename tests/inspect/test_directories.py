"""Log directories: every file has a row, indexes are checked against their logs, and damage stops no reading."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.sample_messages import batch

from kafkawire.cli.main import main
from kafkawire.inspect._logdir.tables import read_directories
from kafkawire.inspect._tables.schemas import SCHEMAS

if TYPE_CHECKING:
    from pathlib import Path

STAMP = 1_700_000_000_000


def moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)


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
    assert [(row["first_offset"], row["last_offset"], row["max_timestamp"]) for row in logs] == [
        *((0, 19, moment(STAMP + 18)), (20, 29, moment(STAMP + 28)))
    ]
    assert [(row["records"], row["faults"], row["tail_bytes"]) for row in logs] == [(20, 0, 0), (10, 0, 0)]
    assert {row["topic_id"] for row in logs} == {"AAAAAAAAAAAAAAAAAAAATQ"}
    assert [row["entries"] for row in found["segment_files"] if row["kind"] != "log"] == [9, 9, 4, 4, 1]
    assert found["index_errors"] == []
    assert [row["base_offset"] for row in found["batches"]] == list(range(0, 30, 2))
    assert [row["timestamp_type"] for row in found["batches"][:1]] == [1]
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


def test_after_nonsense_the_walk_continues_at_the_next_sound_batch(folder: Path) -> None:
    data = bytearray(log_of(folder).read_bytes())
    size = len(one(0))
    data[2 * size + 8 : 2 * size + 12] = b"\xff\xff\xff\xff"
    log_of(folder).write_bytes(data)
    found = read(folder)
    offsets = [row["base_offset"] for row in found["batches"]]
    assert offsets == [0, 2, *range(6, 30, 2)]


def test_a_cut_tail_is_reported(folder: Path) -> None:
    log_of(folder, 20).write_bytes(log_of(folder, 20).read_bytes()[:-7])
    row = next(row for row in read(folder)["segment_files"] if row["file"] == str(log_of(folder, 20)))
    assert (row["entries"], row["state"], row["tail_bytes"]) == (4, "cut", len(one(0)) - 7)
    assert "not a whole batch" in row["fault"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (struct.pack(">ii", 4, 0), "offset 4, the batch at position 0 ends at 1"),
        (struct.pack(">ii", 4, 5), "no batch starts at position 5"),
        (struct.pack(">ii", 4, 90_000), "position 90000, the log has"),
        (struct.pack(">ii", 1, 0), "position 0 after"),
    ],
)
def test_offset_index_entries_that_do_not_hold(folder: Path, entry: bytes, said: str) -> None:
    path = folder / f"{0:020d}.index"
    data = path.read_bytes()
    path.write_bytes(data[:8] + entry + data[16:])
    errors = read(folder)["index_errors"]
    assert any(said in error["problem"] for error in errors)
    assert (errors[0]["kind"], errors[0]["entry"], errors[0]["position"]) == ("index", 1, 8)
    assert (errors[0]["topic"], errors[0]["partition"]) == ("my-orders", 3)


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (struct.pack(">qi", STAMP + 3, 5), f"timestamp {STAMP + 3}, the batch that ends at offset 5 has {STAMP + 4}"),
        (struct.pack(">qi", STAMP + 2, 5), f"timestamp {STAMP + 2} after {STAMP + 2}"),
        (struct.pack(">qi", STAMP + 4, 500), "no batch ends at offset 500"),
        (struct.pack(">qi", STAMP + 4, 4), "no batch ends at offset 4, the next one ends at 5"),
    ],
)
def test_time_index_entries_that_do_not_hold(folder: Path, entry: bytes, said: str) -> None:
    path = folder / f"{0:020d}.timeindex"
    data = path.read_bytes()
    path.write_bytes(data[:12] + entry + data[24:])
    errors = read(folder)["index_errors"]
    assert any(said in error["problem"] for error in errors)


def test_segments_that_overlap_are_reported(folder: Path) -> None:
    log_of(folder, 20).write_bytes(one(18) + one(20))
    texts = [row["problem"] for row in read(folder)["index_errors"] if row["kind"] == "log"]
    assert texts == ["batch of offsets 18 to 19, expected 20 or later"]


def test_empty_files_are_accepted(folder: Path) -> None:
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
