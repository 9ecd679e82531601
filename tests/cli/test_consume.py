"""`kafkawire consume`: places to begin, formats, JSON, groups, Parquet."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from pyarrow import parquet

from kafkawire.cli._support.record_formats import formatter, unescape
from kafkawire.cli.main import main
from kafkawire.client import ConnectionLostError, ConsumerRecord
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pyarrow as pa
    from tests.client.topics import Topics

TIME = 1_700_000_000_000


@pytest.fixture(scope="module")
def topic(broker: Topics) -> str:
    broker.create_topic("consumed", 2)
    broker.fill("consumed", 10, size=1)
    broker.append("consumed", 1, [(None, b"\xff\x00"), (b"key", None)])
    return "consumed"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["-e"], "0 1 2 3 4 5 6 7 8 9"),
        (["-o", "beginning", "-e"], "0 1 2 3 4 5 6 7 8 9"),
        (["-o", "7", "-e"], "7 8 9"),
        (["-o", "-2", "-e"], "8 9"),
        (["-o", "-99", "-e"], "0 1 2 3 4 5 6 7 8 9"),
        (["-o", "end", "-e"], ""),
        (["-o", f"s@{TIME + 4}", "-o", f"e@{TIME + 6}"], "4 5"),
        (["-o", f"s@{TIME + 99}", "-e"], ""),
        (["-o", "@2023-11-14T22:13:20.004", "-o", "e@2023-11-14T23:13:20.006+01:00"], "4 5"),
        (["-o", "@-1h", "-e"], ""),
        (["-o", "99", "-e"], ""),
        (["-o", "3", "-c", "2"], "3 4"),
        (["-c", "2"], "0 1"),
        (["-o", "beginning", "-c", "0"], ""),
        (["-o", "-3", "-n", "3"], "7 8 9"),
    ],
)
def test_offsets_select_where_it_begins_and_ends(
    broker: Topics, topic: str, arguments: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", topic, "-p", "0", "-b", broker.bootstrap, *arguments]) == 0
    assert capsys.readouterr().out.split() == expected.split()


def test_a_format_by_percent_signs(broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["-o", "5", "-c", "1", "-f", "%t-%p@%o %k=%s (%K,%S) %T 100%%\\n"]
    assert main(["consume", topic, "-p", "0", "-b", broker.bootstrap, *arguments]) == 0
    assert capsys.readouterr().out == f"{topic}-0@5 k5=5 (2,1) {TIME + 5} 100%\n"


def test_keys_and_delimiters(broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", topic, "-p", "0", "-b", broker.bootstrap, "-o", "8", "-e", "-K", "\\t", "-D", ";"]) == 0
    assert capsys.readouterr().out == "k8\t8;k9\t9;"


def test_json_has_the_keys_of_kcat(broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", topic, "-p", "1", "-b", broker.bootstrap, "-e", "-J"]) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    place = {"topic": topic, "partition": 1, "tstype": "create"}
    assert first == {**place, "offset": 0, "ts": TIME, "key": None, "payload_base64": "/wA="}
    assert second == {**place, "offset": 1, "ts": TIME + 1, "key": "key", "payload": None}


def test_a_group_goes_on_where_it_stopped(broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["-b", broker.bootstrap, "-G", "cli-group", "-X", "auto.offset.reset=earliest", "-f", "%p%o "]
    assert main(["consume", topic, *settings, "-c", "5"]) == 0
    first = capsys.readouterr().out.split()
    assert main(["consume", topic, *settings, "-c", "7"]) == 0
    assert sorted(first + capsys.readouterr().out.split()) == sorted([f"0{n}" for n in range(10)] + ["10", "11"])


def test_a_group_may_begin_at_the_beginning_and_stop_at_the_end(
    broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["-b", broker.bootstrap, "-G", "cli-to-end", "-o", "beginning", "-e", "-f", "%p%o "]
    assert main(["consume", topic, *settings]) == 0
    assert sorted(capsys.readouterr().out.split()) == sorted([f"0{n}" for n in range(10)] + ["10", "11"])
    assert main(["consume", topic, *settings]) == 0
    assert capsys.readouterr().out == ""


def committed(broker: Topics, group: str) -> list[int]:
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        return [each.offset for _, each in sorted(admin.list_group_offsets(group).items())]


@pytest.mark.parametrize("place", [[], ["-o", "stored"], ["-o", "beginning"]], ids=str)
def test_a_new_group_begins_at_the_beginning_as_the_help_says(
    broker: Topics, topic: str, place: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    group = f"cli-new{len(place)}{''.join(place)}"
    assert main(["consume", "-G", group, topic, "-e", *place, "-b", broker.bootstrap, "-f", "%p%o "]) == 0
    assert len(capsys.readouterr().out.split()) == 12
    assert committed(broker, group) == [10, 2]


def test_a_group_that_printed_nothing_commits_nothing(
    broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = ["consume", topic, "-G", "cli-nothing", "-e", "-b", broker.bootstrap]
    assert main([*settings, "-o", "end"]) == 0
    assert main([*settings, "-c", "0"]) == 0
    assert capsys.readouterr().out == ""
    assert committed(broker, "cli-nothing") == []


def test_only_printed_records_are_committed(broker: Topics, topic: str, capsys: pytest.CaptureFixture[str]) -> None:
    settings = ["consume", topic, "-b", broker.bootstrap, "-f", "%o "]
    assert main([*settings, "-G", "cli-counted", "-c", "3"]) == 0
    assert sum(committed(broker, "cli-counted")) == 3
    assert main([*settings, "-G", "cli-off", "-e", "-X", "enable.auto.commit=false"]) == 0
    assert len(capsys.readouterr().out.split()) == 15
    assert committed(broker, "cli-off") == []


@pytest.mark.parametrize("group", [[], ["-G", "cli-lists"]], ids=str)
def test_lists_and_patterns_of_topics(broker: Topics, group: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("listed-a", "listed-b", "listed-c"):
        if not group:
            broker.create_topic(name, 1)
            broker.append(name, 0, [(None, name.encode())])
    assert main(["consume", "listed-a,listed-b", *group, "-e", "-b", broker.bootstrap]) == 0
    assert sorted(capsys.readouterr().out.split()) == ["listed-a", "listed-b"]
    assert main(["consume", "listed-[bc]", *group, "-e", "-b", broker.bootstrap]) == 0
    printed = sorted(capsys.readouterr().out.split())
    assert printed == (["listed-c"] if group else ["listed-b", "listed-c"])


def test_a_member_that_gets_a_signal_commits_and_leaves(broker: Topics, topic: str) -> None:
    arguments = ["-b", broker.bootstrap, "-G", "cli-ended", "-o", "beginning", "-u"]
    command = [sys.executable, "-c", "from kafkawire.cli.main import main; raise SystemExit(main())"]
    with subprocess.Popen([*command, "consume", topic, *arguments], stdout=subprocess.PIPE) as member:
        assert member.stdout is not None
        for _ in range(12):
            assert member.stdout.readline()
        time.sleep(0.5)  # a record that was just printed may not be counted yet; it would be printed again
        member.terminate()
        assert member.wait(60) == 128 + signal.SIGTERM
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        assert admin.describe_groups(["cli-ended"])[0].members == []
        assert sum(each.offset for each in admin.list_group_offsets("cli-ended").values()) == 12


def test_parquet_has_every_column(broker: Topics, topic: str, tmp_path: Path) -> None:
    path = tmp_path / "out.parquet"
    assert main(["consume", topic, "-b", broker.bootstrap, "-o", "beginning", "-o", str(path)]) == 0
    table = parquet.read_table(path)
    assert table.num_rows == 12
    assert table.column_names == [
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestamp_type",
        "key",
        "value",
        "headers",
    ]
    assert table.column("value").to_pylist()[:3] == [b"0", b"1", b"2"]
    assert main(["consume", topic, "-b", broker.bootstrap, "-o", str(path), "-c", "4"]) == 0
    assert parquet.read_table(path).num_rows == 4


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "no topic: expected kafkawire consume TOPIC"),
        (["consumed", "-o", "soon"], "-o 'soon': expected beginning, end, stored"),
        (["consumed", "-o", "a.parquet", "-o", "b.parquet"], "expected one Parquet file"),
        (["consumed", "-o", "stored", "-e"], "-o stored needs a group"),
        (["consumed", "-G", "g", "-o", "5"], "with -G, -o accepts only beginning, end or stored"),
        (["consumed", "-G", "g", "-o", "x.parquet"], "with -G, -o accepts only beginning, end or stored"),
        (["consumed", "-p", "9", "-e"], "consumed has no partition 9; it has 2"),
        (["consumed", "-f", "%q", "-e"], "%q is not one of %s"),
        (["consumed", "-c", "-1"], "argument -c/-n: '-1': expected a whole number from 0 on"),
        (["consumed", "-p", "-1"], "argument -p: '-1': expected a whole number from 0 on"),
        (["consumed", "-G", "g", "-p", "0"], "-p and -G exclude each other"),
        (["consumed", "-J", "-f", "%s"], "expected one form of output, found -J and -f"),
        (["consumed", "-o", "5", "-o", "beginning"], "expected one start and one end"),
        (["consumed", "-o", "5", "-o", "@-1h"], "expected one start and one end"),
        (["consumed", "-o", "@-1h", "-o", "e@-2h"], "the end is before the start"),
        (["consumed", "-e", "-o", "e@-2h"], "expected one end, found -e and -o e@TIME"),
        (["consumed", "-o", "@noon"], "time 'noon': expected milliseconds"),
    ],
)
def test_a_call_that_makes_no_sense(
    broker: Topics, topic: str, arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", *arguments, "-b", broker.bootstrap]) == 2
    printed = capsys.readouterr().err
    assert complaint in printed
    assert printed.startswith("usage: kafkawire consume ")


def test_a_topic_that_is_not_there(broker: Topics, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["consume", "missing", "-b", broker.bootstrap, "-e"]) == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION (3): topic 'missing'" in capsys.readouterr().err


@pytest.mark.parametrize("arguments", [["-e"], [], ["-G", "g"], ["-o", "x.parquet"]])
def test_a_missing_cluster_is_reported_at_once(
    arguments: list[str], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["consume", "t", "-b", "127.0.0.1:1", "-X", "default.api.timeout.ms=3600000", *arguments]) == 1
    assert "no broker answers: 127.0.0.1:1: Connection refused" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_file_of_parquet_is_whole_or_not_there(
    broker: Topics,
    topic: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    read = BulkReader.read

    def read_half(*arguments: Any, **options: Any) -> Iterator[pa.RecordBatch]:
        yield from read(*arguments, **options)
        raise ConnectionLostError("the broker left")

    monkeypatch.setattr(BulkReader, "read", read_half)
    path = tmp_path / "out.parquet"
    path.write_bytes(b"what was there before")
    assert main(["consume", topic, "-b", broker.bootstrap, "-o", str(path)]) == 1
    assert "the broker left" in capsys.readouterr().err
    assert path.read_bytes() == b"what was there before"
    assert list(tmp_path.iterdir()) == [path]


def test_null_may_be_printed_and_sizes_in_bytes(
    broker: Topics, topic: str, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    place = ["consume", topic, "-p", "1", "-b", broker.bootstrap, "-e", "-u"]
    assert main([*place, "-o", "1", "-f", "%k=%s %R\\n", "-Z"]) == 0
    assert capsysbinary.readouterr().out == b"key=NULL \xff\xff\xff\xff\n"
    assert main([*place, "-f", "%k=%s%R;"]) == 0
    assert capsysbinary.readouterr().out == b"=\xff\x00\x00\x00\x00\x02;key=\xff\xff\xff\xff;"
    assert main([*place, "-Z", "-K:"]) == 0
    assert capsysbinary.readouterr().out == b"NULL:\xff\x00\nkey:NULL\n"


def test_escapes_and_headers() -> None:
    assert unescape(r"\x00\\\q") == b"\x00\\\\q"
    record = ConsumerRecord("t", 0, 1, 2, 0, None, None, (("a", b"1"), ("b", None)))
    assert formatter("%k|%K|%S|%h")(record) == b"|-1|-1|a=1,b="


def test_a_group_does_not_wait_for_the_end_of_a_topic_that_does_not_exist(
    broker: Topics, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["consume", "no-such-topic", "-G", "endless", "-e", "-b", broker.bootstrap]) == 1
    assert "UNKNOWN_TOPIC_OR_PARTITION" in capfd.readouterr().err
