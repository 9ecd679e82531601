"""Files as wholes: their numbers, and indexes that do not agree with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.segment_files import batch, batches, damage, write_index, write_segment

from kafkawire.log import DiskFiles, LogConfig, LogDirectory
from kafkawire.spark._columns import TABLES
from kafkawire.spark._segments.file_totals import file_row, index_errors, read_file_tables
from kafkawire.spark._segments.files import SegmentFile, list_segments
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from pathlib import Path

START = 1_700_000_000_000


def test_a_file_is_summed_up(tmp_path: Path) -> None:
    data = batches(4)
    file = write_segment(tmp_path / "orders-3", [data[0], damage(data[1], 100), *data[2:], b"cut"])
    assert file_row(file) == {
        "topic": "orders",
        "partition": 3,
        "file": file.name,
        "kind": "log",
        "base_offset": 0,
        "size": 4 * len(data[0]) + 3,
        "entries": 3,
        "records": 30,
        "first_offset": 0,
        "last_offset": 39,
        "first_timestamp": START * 1000,
        "max_timestamp": (START + 39) * 1000,
        "tail_bytes": 3,
        "faults": 1,
        "state": "damaged",
        "fault": f"byte {len(data[0])}: stated CRC 0x7457763c, computed 0x4d758dc8; 281 bytes are not readable",
    }


def test_columns_that_headers_do_not_have_are_null(tmp_path: Path) -> None:
    row = file_row(write_segment(tmp_path / "orders-3", batch(0, magic=0, compression="gzip")))
    assert (row["entries"], row["records"], row["first_timestamp"], row["max_timestamp"]) == (1, None, None, None)


def test_an_empty_file_has_a_row(tmp_path: Path) -> None:
    row = file_row(write_segment(tmp_path / "orders-3", b""))
    assert (row["size"], row["entries"], row["records"], row["first_offset"]) == (0, 0, 0, None)


def test_indexes_of_our_own_log_have_no_errors(tmp_path: Path) -> None:
    config = LogConfig(segment_bytes=3000, index_interval_bytes=200)
    logs = LogDirectory(tmp_path, files=DiskFiles(), clock=lambda: START, config=config)
    log = logs.create("orders", 0)
    for _ in range(50):
        log.append(batch(0, 1))
    logs.close()
    files = list_segments([str(tmp_path)])
    assert len(files) > 1
    assert [error for file in files for error in index_errors(file)] == []
    assert sum(file_row(file)["records"] for file in files) == 50


def test_an_entry_that_names_no_batch_is_an_error_at_its_place(tmp_path: Path) -> None:
    file = write_segment(tmp_path / "orders-3", batches(4))
    write_index(file, [(19, len(batch(0))), (29, 2 * len(batch(0)) + 1)])
    [error] = [error for error in index_errors(file) if error["file"].endswith(".index")]
    assert error == {
        "topic": "orders",
        "partition": 3,
        "file": file.beside(".index"),
        "kind": "index",
        "entry": 1,
        "position": 8,
        "offset": 29,
        "log_position": 2 * len(batch(0)) + 1,
        "expected": None,
        "found": None,
        "problem": f"no batch starts at position {2 * len(batch(0)) + 1}",
    }


def test_indexes_of_remote_files_are_refused() -> None:
    with pytest.raises(SourceOptionError, match="local files only"):
        list(index_errors(SegmentFile("s3://bucket/orders-0/00000000000000000000.log", 5, "orders", 0)))


@pytest.mark.parametrize("table", ["segment_files", "index_errors"])
def test_rows_come_in_the_columns_asked_for(tmp_path: Path, table: str) -> None:
    file = write_segment(tmp_path / "orders-3", batches(2))
    for columns in (TABLES[table], ("file", "topic")):
        [rows] = read_file_tables([file], table, columns)
        assert rows.schema.names == list(columns)
