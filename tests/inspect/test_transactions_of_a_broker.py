"""The transactions of a producer are the same in its traffic, in the logs of partitions, and in the transaction log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.inspect.recordings import record_from

from kafkawire.client import Producer
from kafkawire.inspect import find_incidents, read_captures, read_directories
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from pathlib import Path


async def pay(bootstrap: str) -> list[bytes]:
    async with Producer(bootstrap_servers=bootstrap, transactional_id="payments") as producer:
        for number in range(4):
            await producer.begin()
            for partition in (0, 1):
                await producer.send_and_wait("orders", b"%d" % number, partition=partition)
            await (producer.abort() if number % 2 else producer.commit())
    return []


def test_the_views_agree(tmp_path: Path) -> None:
    path, root = tmp_path / "x.pcapng", tmp_path / "data"
    with RunningBroker(data_dir=root) as broker:
        broker.create_topic("orders", partitions=2)
        record_from(path, pay, broker.bootstrap_servers)
    capture, logs = read_captures([path]).tables, read_directories([root])
    by_source: dict[str, list[dict[str, Any]]] = {}
    for row in [*capture["transactions"].to_pylist(), *logs["transactions"].to_pylist()]:
        assert (row["transactional_id"], row["outcome"] != "open") == ("payments", True)
        by_source.setdefault(row["source"], []).append(row)
    ended = ["committed", "aborted", "committed", "aborted"]
    assert [row["outcome"] for row in by_source["traffic"]] == ended
    assert [row["outcome"] for row in by_source["transaction_log"]] == ended
    for partition in (0, 1):
        own = [row for row in by_source["segment"] if row["partitions"][0]["partition"] == partition]
        assert [row["outcome"] for row in own] == ended
        seen = [row["partitions"][partition] for row in by_source["traffic"]]
        assert [row["partitions"][0] for row in own] == seen
    for row in by_source["transaction_log"]:
        assert [(each["topic"], each["partition"]) for each in row["partitions"]] == [("orders", 0), ("orders", 1)]
    worse = [each.rule for each in (*find_incidents(capture), *find_incidents(logs)) if each.level == "error"]
    assert worse == []
