"""Column names of before 0.2: they give the old values, with a warning that names the new ones."""

from __future__ import annotations

import warnings
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.one_fetch import TIME, write_one_fetch
from tests.inspect.sample_messages import batch

from kafkawire.inspect import OLD_NAMES, SCHEMAS, read_captures, read_directories

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    return write_one_fetch(tmp_path)


def test_old_names_of_captures_give_the_old_values(capture: Path) -> None:
    wanted = {"batches": [*OLD_NAMES["batches"], "record_count"], "records": ["ts", "timestamp"]}
    with pytest.warns(DeprecationWarning, match="old column names") as raised:
        tables = read_captures([capture], records=True, columns=wanted).tables
    assert any("count is now record_count, ts_type is now timestamp_type" in str(each.message) for each in raised)
    assert {each.filename for each in raised} == {__file__}
    [row] = tables["batches"].to_pylist()
    assert row == {
        "count": 2,
        "ts_type": "append",
        "base_ts": -1,
        "max_ts": TIME,
        "epoch": None,
        "base_seq": None,
        "txn": False,
        "control": False,
        "bytes": row["bytes"],
        "record_count": 2,
    }
    assert tables["records"].to_pylist() == [{"ts": TIME, "timestamp": datetime.fromtimestamp(TIME / 1000, UTC)}] * 2
    assert tables["exchanges"].schema == SCHEMAS["exchanges"]


def test_old_names_of_directories_give_the_old_values(tmp_path: Path) -> None:
    folder = tmp_path / "orders-0"
    folder.mkdir()
    (folder / f"{0:020}.log").write_bytes(batch(b"a", append_timestamp=TIME))
    with pytest.warns(DeprecationWarning, match="bytes is now size, max_ts is now max_timestamp"):
        tables = read_directories([tmp_path], columns={"segment_files": ["bytes", "max_ts", "batches"]})
    [row] = tables["segment_files"].to_pylist()
    assert row == {"bytes": (folder / f"{0:020}.log").stat().st_size, "max_ts": TIME, "batches": 1}


def test_new_names_do_not_warn(capture: Path) -> None:
    with warnings.catch_warnings(action="error"):
        tables = read_captures([capture], columns={"batches": ["size", "record_count"]}).tables
    assert tables["batches"].schema.names == ["size", "record_count"]


@pytest.mark.parametrize(
    ("columns", "problem"),
    [
        ({"batches": ["number"]}, "the table batches has no column number; it has topic"),
        ({"packets": ["size"]}, "no table 'packets', expected one of connections"),
    ],
)
def test_a_selection_that_no_table_has_is_refused(capture: Path, columns: Any, problem: str) -> None:
    with pytest.raises(KeyError, match=problem):
        read_captures([capture], columns=columns)
