"""Captures divided among workers give the tables that one reader gives, wherever they are cut."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.inspect.captures import Conversation, merge, write_pcap, write_pcapng
from tests.inspect.cluster_traffic import cluster_traffic, impaired
from tests.inspect.incidents import INCIDENTS
from tests.inspect.sample_messages import batch, fetch, fetched, produce, produced

from kafkawire.inspect._parallel.part import open_ranges, stream_part, whole_connections
from kafkawire.inspect._parallel.plan import plan_captures
from kafkawire.inspect._tables.read import SUMMARIES, read_captures
from kafkawire.inspect._transactions.tables import traffic_table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from kafkawire.inspect._parallel.plan import Plan


def rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


def read_plan(plan: Plan, load_bytes: int) -> dict[str, pa.Table]:
    """The tables that the parts of a plan join to."""
    pieces: dict[str, list[pa.Table]] = {}
    for packed in plan.parts:
        for piece in stream_part(packed.unpack(), values=True, load_bytes=load_bytes):
            for name, table in piece.items():
                pieces.setdefault(name, []).append(table)
    return {name: pa.concat_tables(tables) for name, tables in pieces.items()}


def agree(paths: Sequence[Path], *, part_bytes: int, load_bytes: int = 1 << 20) -> Plan:
    """Check that parts of this size give what one reader gives."""
    expected = read_captures(paths, values=True).tables
    plan = plan_captures(paths, part_bytes)
    found = read_plan(plan, load_bytes)
    assert found.pop("summaries").schema == SUMMARIES
    for name, table in expected.items():
        if name not in ("connections", "transactions"):  # made of the joined parts
            assert rows(found[name]) == rows(table)
    joined = traffic_table({"connections": expected["connections"], **found})
    assert rows(joined) == rows(expected["transactions"])
    undivided = plan_captures(paths, part_bytes, whole=True)
    assert rows(pa.concat_tables([whole_connections(part.unpack()) for part in undivided.parts])) == rows(
        expected["connections"]
    )
    return plan


def one_connection(exchanges: int, payload: int = 900, port: int = 50_000) -> Conversation:
    """A producer and consumer in one, whose fetches are of one session."""
    talk = Conversation(client=("10.0.0.1", port)).open()
    talk.exchange(fetch(0, 0, (0, 0), (1, 50)), fetched(9, (0, 10, b"")), 11)
    for number in range(1, exchanges):
        records = batch(b"%d" % number * payload, base_offset=number)
        talk.exchange(produce(records), produced(number), 8)
        talk.exchange(fetch(9, number, (number % 2, number)), fetched(9, (number % 2, number + 1, records)), 11)
    return talk.close()


@pytest.mark.parametrize(("part_bytes", "load_bytes"), [(700, 1 << 20), (20_000, 1), (1 << 30, 4000)])
def test_parts_join_to_the_tables_of_one_reader(tmp_path: Path, part_bytes: int, load_bytes: int) -> None:
    paths = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    paths[0].write_bytes(write_pcap(impaired(cluster_traffic(9, 8, payload=3000), lost=2).packets))
    paths[1].write_bytes(write_pcap(cluster_traffic(4, 5, payload=200, seed=3).packets))
    agree(paths, part_bytes=part_bytes, load_bytes=load_bytes)


def test_incidents_are_the_same_when_captures_are_read_in_pieces(tmp_path: Path) -> None:
    paths = []
    for number, name in enumerate(list(INCIDENTS)[::5]):
        paths.append(tmp_path / f"{number:02}.pcap")
        paths[-1].write_bytes(write_pcap(merge(INCIDENTS[name].shows()), nanoseconds=True))
    plan = agree(paths, part_bytes=1500)
    assert len(plan.parts) > len(paths)


def test_one_large_connection_is_in_many_parts(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(one_connection(60).packets))
    plan = agree([path], part_bytes=path.stat().st_size // 20)
    assert len(plan.parts) == 20
    shares = [[share.talk.first for share in part.unpack().shares] for part in plan.parts]
    assert all(len(firsts) == 1 for firsts in shares)
    assert sorted(shares) == shares


def test_parts_know_the_sessions_that_go_on_in_them(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(one_connection(30).packets))
    found = read_plan(plan_captures([path], 1000), 1 << 20)["exchanges"].to_pylist()
    sizes = [row["session_size"] for row in found if row["api"] == "Fetch"]
    assert sizes == [2] * 30


def test_a_session_goes_on_over_connections_and_parts(tmp_path: Path) -> None:
    one = Conversation(client=("10.0.0.1", 1000)).open()
    one.exchange(fetch(0, 0, (0, 10), (1, 70)), fetched(9), 11).close()
    two = Conversation(client=("10.0.0.1", 1001), now=one.now).open()
    two.exchange(fetch(9, 1), fetched(9, (0, 11, b"")), 11)
    two.exchange(fetch(9, 2), fetched(9, (1, 71, b"")), 11)
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(merge([one, two])))
    plan = agree([path], part_bytes=100)
    assert len(plan.parts) >= 3
    found = read_plan(plan, 1)["exchange_partitions"].to_pylist()
    assert {(row["partition"], row["fetch_offset"]) for row in found} == {(0, 10), (1, 70)}


@pytest.mark.parametrize(
    "write",
    [
        lambda packets: write_pcap(packets, snaplen=600),
        lambda packets: write_pcap(packets[100:]),
        lambda packets: write_pcap(packets)[:-40],
        lambda packets: write_pcapng(packets, links=(1, 113)),
        lambda packets: gzip.compress(write_pcap(packets)),
    ],
    ids=["cut by a snap length", "begun in mid-stream", "cut at the end", "pcapng", "packed"],
)
def test_captures_of_every_kind_are_divided(tmp_path: Path, write: Callable[[Sequence[object]], bytes]) -> None:
    path = tmp_path / "x"
    path.write_bytes(write(merge([one_connection(20), one_connection(9, payload=40, port=7)])))
    agree([path], part_bytes=9000, load_bytes=3000)


def test_a_worker_reads_its_bytes_and_little_else(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(one_connection(400).packets))
    size = path.stat().st_size
    asked: list[tuple[int, int]] = []

    def opened(name: str) -> Callable[[int, int], memoryview]:
        ranges = open_ranges(name)

        def read(position: int, length: int) -> memoryview:
            asked.append((position, length))
            return ranges(position, length)

        return read

    plan = plan_captures([path], size // 8)
    for number, packed in enumerate(plan.parts):
        asked.clear()
        for _ in stream_part(packed.unpack(), opened=opened):
            pass
        assert min(position for position, _ in asked) >= number * size // 8
        assert sum(length for _, length in asked) < 1.2 * size / 8
        assert len(asked) == 1
    asked.clear()
    for _ in stream_part(plan.parts[0].unpack(), opened=opened, load_bytes=1000):
        pass
    assert max(length for _, length in asked) < 5000


def test_tables_of_headers_alone_read_no_bodies(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(one_connection(9).packets))
    (packed,) = plan_captures([path], 1 << 20).parts
    path.unlink()
    pieces = list(stream_part(packed.unpack(), bodies=False))
    assert sum(len(piece["exchanges"]) for piece in pieces if "exchanges" in piece) == 17


def test_no_files_give_no_parts() -> None:
    assert plan_captures([], 1 << 20).parts == []
