"""The rows of traffic that rules read."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from tests.inspect.captures import write_pcap
from tests.inspect.cluster_traffic import cluster_traffic

from kafkawire.inspect import Evidence, find_incidents, grouped, read_captures
from kafkawire.inspect._diagnose.evidence import client_of, topic_of, when
from kafkawire.inspect._tables.rows import LazyRows

if TYPE_CHECKING:
    from pathlib import Path

    import pytest


def _shuffled(tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    order = np.random.default_rng(5)
    return {name: table.take(order.permutation(len(table))) for name, table in tables.items()}


def test_rows_are_joined_and_in_the_order_of_time_whatever_the_order_of_the_tables(tmp_path: Path) -> None:
    path = tmp_path / "x.pcap"
    path.write_bytes(write_pcap(cluster_traffic(8, 30, payload=80).packets))
    evidence = Evidence(_shuffled(read_captures([path]).tables))
    exchanges, partitions = [*evidence.exchanges], [*evidence.partitions]
    assert [when(row) for row in exchanges] == sorted(when(row) for row in exchanges) == evidence.times.tolist()
    assert all(row["exchange"] is evidence.exchange(row["conn_id"], row["seq"]) for row in partitions)
    assert all(row["connection"] is evidence.connections[row["conn_id"]] for row in exchanges)
    assert {**evidence.by_connection} == grouped(exchanges, lambda row: row["conn_id"])
    assert {**evidence.by_client} == grouped(exchanges, client_of)
    assert [*evidence.by_client] == [*grouped(exchanges, client_of)]
    assert evidence.exchanges.where(api_key=(0, 1)) == [row for row in exchanges if row["api_key"] in (0, 1)]
    assert evidence.of_topics({"orders"}) == [row for row in partitions if topic_of(row) == "orders"]
    for row in exchanges[:50]:
        own = [each for each in partitions if each["exchange"] is row]
        assert evidence.of_exchange(row) == own


def test_rules_make_only_the_rows_that_they_look_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "x.pcap"
    traffic = cluster_traffic(3, 300, payload=80)
    fetching = {frame.client for frame in traffic.truth}
    path.write_bytes(write_pcap(traffic.packets))
    tables = read_captures([path]).tables
    quiet = tables["exchanges"].filter(pa.compute.not_equal(tables["exchanges"]["api_key"], pa.scalar(1, pa.int16())))
    made: list[int] = []
    make = LazyRows._make

    def counted(own: LazyRows, missing: list[int]) -> None:
        made.append(len(missing))
        make(own, missing)

    monkeypatch.setattr(LazyRows, "_make", counted)
    find_incidents(tables | {"exchanges": quiet})
    assert len(fetching) == 3
    assert len(quiet) >= 600
    assert 0 < sum(made) < 200
