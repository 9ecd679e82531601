"""`kafkawire inspect`: tables, filters, trees and files out of a capture."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from tests.inspect.captures import START, Conversation, merge, write_pcap
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from kafkawire.cli.main import main
from kafkawire.inspect._tables.schemas import SCHEMAS
from kafkawire.messages import HeartbeatRequest, HeartbeatResponse

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def capture(tmp_path: Path) -> str:
    one = Conversation(client_id="shop").open()
    one.exchange(produce(batch(b"a")), produced(5), 9).wait(1000)
    one.exchange(produce(batch(b"b"), topic="audit"), produced(-1, topic="audit", error=3), 9)
    two = Conversation(client=("10.0.0.2", 50_001), client_id="billing", now=START + 500_000_000).open()
    two.exchange(HeartbeatRequest(group_id="g", member_id="m"), HeartbeatResponse(error_code=27), 4)
    two.exchange(fetch(0, -1, (3, 5)), fetched(0, (3, 6, batch(b"a", base_offset=5))), 11)
    path = tmp_path / "some.pcap"
    path.write_bytes(write_pcap(merge([one, two])))
    return str(path)


def named(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [json.loads(line)["exchange"] for line in capsys.readouterr().out.splitlines()]


def test_a_summary_comes_first_then_a_line_an_exchange(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", capture]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "2 (2 kafka)" in lines[1]
    assert [line.split()[0] for line in lines[-4:]] == ["0/0", "1/0", "1/1", "0/1"]
    assert "UNKNOWN_TOPIC_OR_PARTITION" in lines[-1]


@pytest.mark.parametrize(
    ("options", "chosen"),
    [
        (["--api", "produce"], ["0/0", "0/1"]),
        (["--api", "Heartbeat", "--api", "1"], ["1/0", "1/1"]),
        (["--client", "billing"], ["1/0", "1/1"]),
        (["--client", "10.0.0.1"], ["0/0", "0/1"]),
        (["--topic", "orders"], ["0/0", "1/1"]),
        (["-G", "g"], ["1/0"]),
        (["--error", "any"], ["1/0", "0/1"]),
        (["--error", "REBALANCE_IN_PROGRESS"], ["1/0"]),
        (["--error", "3", "--client", "billing"], []),
        (["--connection", "1"], ["1/0", "1/1"]),
        (["--until", "2023-11-14T22:13:20.300"], ["0/0"]),
        (["--since", "2023-11-14T22:13:21"], ["0/1"]),
        (["--limit", "1"], ["0/0"]),
    ],
)
def test_filters(capture: str, options: list[str], chosen: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", capture, "--json", *options]) == 0
    assert named(capsys) == chosen


def test_one_exchange_byte_by_byte(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", capture, "--tree", "0/0"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("ProduceRequest v9\n")
    assert "ProduceResponse v9\n" in printed
    for wrong in ("0/9", "9/0", "9", "0/x"):
        assert main(["inspect", capture, "--tree", wrong]) == 2


def test_tables_by_name_follow_the_filters(capture: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["inspect", capture, "--table", "batches", "--api", "Fetch", "--json"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert (row["source"], row["base_offset"], row["crc_ok"]) == ("response", 5, True)


def test_parquet_files_have_the_schemas_of_the_tables(capture: str, tmp_path: Path) -> None:
    assert main(["inspect", capture, "--parquet", str(tmp_path / "out")]) == 0
    written = {path.stem: pq.read_table(path) for path in (tmp_path / "out").glob("*.parquet")}
    of_exchanges = {"exchanges", "exchange_partitions", "batches", "records", "transactions"}
    assert set(written) == {"connections", "gaps", *of_exchanges}
    assert len(written["records"]) == 3
    rows = written["exchanges"].to_pylist()
    assert [(row["conn_id"], row["seq"]) for row in rows] == [(0, 0), (1, 0), (1, 1), (0, 1)]
    for name, table in written.items():
        assert table.schema.names == SCHEMAS[name].names


def test_a_directory_stands_for_the_captures_in_it(
    capture: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["inspect", str(tmp_path), "--json", "--api", "Fetch"]) == 0
    assert named(capsys) == ["1/1"]
    empty = tmp_path / "empty"
    empty.mkdir()
    assert main(["inspect", str(empty)]) == 2


def test_a_file_that_is_not_a_capture_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("hello there")
    assert main(["inspect", str(path)]) == 1
    assert (
        capsys.readouterr().err
        == f"kafkawire: {path}: not a capture: it starts with 68656c6c, expected pcap or pcapng\n"
    )


def test_a_log_file_is_pointed_elsewhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(batch(b"a"))
    assert main(["inspect", str(path)]) == 2
    assert "expected the directory of the log" in capsys.readouterr().err


def test_records_are_not_left_out_for_want_of_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "packed.pcap"
    one = Conversation().open()
    one.exchange(produce(batch(b"a", compression="snappy")), produced(5), 9)
    path.write_bytes(write_pcap(one.packets))
    monkeypatch.setitem(sys.modules, "cramjam", None)
    assert main(["inspect", str(path), "--table", "batches"]) == 0
    assert main(["inspect", str(path), "--table", "records"]) == 1
    assert "pip install 'kafkawire[codecs]'" in capsys.readouterr().err


def test_transactions_of_a_capture_for_people(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from tests.inspect.captures import merge, write_pcap
    from tests.inspect.transaction_conversations import Producer

    old = Producer(0).init().add(0, 1).write(10).wait(20).end(error=90)
    new = Producer(1, at=5_000).init(1).add(1).write(3, partition=1).end()
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(merge([old.talk, new.talk]), nanoseconds=True))
    assert main(["inspect", str(path), "--table", "transactions"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 3
    assert "payments" in lines[1]
    assert "fenced" in lines[1]
    assert "orders-0 10..10, orders-1" in lines[1]
    assert "10.0.0.2:50001" in lines[1]
    assert "committed" in lines[2]
    assert main(["inspect", str(path), "--table", "transactions", "--connection", "1", "--json"]) == 0
    (row,) = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert row["outcome"] == "committed"
