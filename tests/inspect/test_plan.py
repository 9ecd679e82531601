"""Captures divided among workers give the tables that one reader gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from tests.inspect.bodies import fetch, fetched
from tests.inspect.captures import Conversation, merge, write_pcap
from tests.inspect.traffic import cluster_traffic, impaired

from kafkawire.inspect.capture import read_captures
from kafkawire.inspect.plan import capture_topics, part_topics, plan_captures, read_part, stream_part

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("parts", [1, 2, 5])
def test_parts_join_to_the_tables_of_one_reader(tmp_path: Path, parts: int) -> None:
    paths = [tmp_path / "one.pcap", tmp_path / "two.pcap"]
    paths[0].write_bytes(write_pcap(impaired(cluster_traffic(9, 8, payload=3000), lost=2).packets))
    paths[1].write_bytes(write_pcap(cluster_traffic(4, 5, payload=200, seed=3).packets))
    whole = read_captures(paths).tables
    planned = plan_captures(paths, parts)
    topics = {topic_id: name for part in planned for topic_id, name in part_topics(part).items()}
    made = [read_part(part, topics) for part in planned]
    for name, table in whole.items():
        joined = pa.concat_tables([each[name] for each in made])
        assert sorted(map(repr, joined.to_pylist())) == sorted(map(repr, table.to_pylist()))


@pytest.mark.parametrize("piece_bytes", [1, 4000, 1 << 20])
def test_pieces_of_any_size_join_to_the_tables_of_one_reader(tmp_path: Path, piece_bytes: int) -> None:
    path = tmp_path / "one.pcap"
    path.write_bytes(write_pcap(impaired(cluster_traffic(9, 8, payload=3000), lost=2).packets))
    whole = read_captures([path], records=True).tables
    topics = capture_topics([path])
    made = [
        piece
        for part in plan_captures([path], 2)
        for piece in stream_part(part, topics, records=True, piece_bytes=piece_bytes)
    ]
    assert len(made) > 60 or piece_bytes > 1
    for name, table in whole.items():
        joined = pa.concat_tables([each[name] for each in made if name in each])
        assert sorted(map(repr, joined.to_pylist())) == sorted(map(repr, table.to_pylist()))


def test_the_parts_are_of_like_size_and_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(cluster_traffic(40, 6, payload=2000).packets))
    planned = plan_captures([path], 4)
    assert sorted(number for part in planned for number in part.numbers) == list(range(40))
    sizes = [part.bytes for part in planned]
    assert max(sizes) < 1.5 * min(sizes)


def test_connections_of_a_client_with_a_broker_stay_together_with_their_sessions(tmp_path: Path) -> None:
    one = Conversation(client=("10.0.0.1", 1000)).open()
    one.exchange(fetch(0, 0, (0, 10)), fetched(9), 11).close()
    two = Conversation(client=("10.0.0.1", 1001), now=one.now).open()
    two.exchange(fetch(9, 1), fetched(9, (0, 11, b"")), 11)
    other = Conversation(client=("10.0.0.2", 1000), now=one.now).open()
    other.exchange(fetch(0, 0, (0, 10)), fetched(7), 11)
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(merge([one, two, other])))
    planned = plan_captures([path], 3)
    assert sorted(part.numbers for part in planned) == [(0, 1), (2,)]
    rows = [row for part in planned for row in read_part(part, {})["exchange_partitions"].to_pylist()]
    assert {row["fetch_offset"] for row in rows} == {10}
