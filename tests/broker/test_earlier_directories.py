"""Directories that earlier versions wrote are opened with all that they hold.

`tests/vectors/directories` has one archive per version: the topic `orders` with two partitions, the values 0 to 4 from
an idempotent producer, and the end offsets of the group `readers`.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._node import Node
from kafkawire.broker.groups.classic.group import Group
from kafkawire.log import DiskFiles
from kafkawire.records import read_batches
from kafkawire.testing.manual_clock import ManualClock

ARCHIVES = sorted((Path(__file__).parents[1] / "vectors" / "directories").glob("*.tar.gz"))
NOW = 1_794_889_700_000
"""A minute after the directories were written, so that no offset has expired."""


@pytest.fixture(params=ARCHIVES, ids=lambda path: path.name.removesuffix(".tar.gz"))
def root(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    with tarfile.open(request.param) as archive:
        archive.extractall(tmp_path / "data", filter="data")
    return tmp_path / "data"


def opened(root: Path) -> Node:
    node = Node(BrokerConfig({}), ManualClock(NOW), root=root, files=DiskFiles())
    node.start()
    return node


def facts(node: Node) -> Any:
    """The state that clients see."""
    group = node.groups.find("readers")
    assert isinstance(group, Group)
    values = [
        bytes(record.value or b"")
        for index in (0, 1)
        for batch in read_batches(node.log("orders", index).read(0, 10_000).read())
        for record in batch.records()
    ]
    return (
        {topic.name: (topic.id, topic.partitions) for topic in node.topics},
        values,
        {place: committed.offset for place, committed in group.offsets.items()},
        (group.state.value, group.generation),
        node.producer_ids.next_block,
        node.features.finalized,
    )


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "crashed"])
def test_everything_is_there_also_after_the_next_start(root: Path, clean: bool) -> None:
    if not clean:
        (root / ".kafka_cleanshutdown").unlink()
    node = opened(root)
    found = facts(node)
    topics, values, offsets, group, _, features = found
    assert {name: count for name, (_, count) in topics.items()} == {"orders": 2, "__consumer_offsets": 1}
    assert sorted(values) == [b"0", b"1", b"2", b"3", b"4"]
    assert offsets == {("orders", 0): 3, ("orders", 1): 2}
    assert group == ("Empty", 2)
    assert features["transaction.version"] == 2
    node.close()
    assert facts(opened(root)) == found
