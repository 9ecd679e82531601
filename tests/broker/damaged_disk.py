"""A data directory with known content, to be damaged, and the check that a node on it still has everything."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tests.broker.ids import take_id
from tests.broker.node_requests import batch, values

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._node import Node
from kafkawire.testing.faulty_files import FaultyFiles
from kafkawire.testing.manual_clock import ManualClock

if TYPE_CHECKING:
    from uuid import UUID

    import pytest

ROOT = Path("/data")
JOURNAL = ROOT / "__cluster_metadata-0"
LOG = JOURNAL / "00000000000000000000.log"
NOW = 1_700_000_000_000
UNCHECKED = range(12, 16)
"""The bytes of a batch header that hold the leader epoch, which no checksum covers and nothing depends on."""


@dataclass
class Disk:
    """The content of a data directory, and what it is known to hold."""

    files: FaultyFiles
    ids: dict[str, UUID]
    producer_id: int
    leader_epoch: int
    settings: dict[str, dict[str, str]] = field(default_factory=dict)

    def copy(self) -> FaultyFiles:
        return self.files.killed()

    @property
    def journal(self) -> bytes:
        return bytes(self.files.names[LOG].data)


def open_node(files: FaultyFiles) -> Node:
    return Node(BrokerConfig(), ManualClock(NOW), root=ROOT, files=files)


def filled(*, clean: bool) -> Disk:
    files = FaultyFiles()
    node = open_node(files)
    for name in ("orders", "payments", "clicks"):
        node.create_topic(name, 2, {"retention.ms": "77", "segment.bytes": "5000"})
    node.delete_topic(node.create_topic("gone", 1))
    node.add_partitions(node.topics.get("payments"), 3)
    producer_id = take_id(node)
    for topic in node.topics:
        produced = batch(b"of " + topic.name.encode(), producer_id=producer_id, producer_epoch=0, base_sequence=0)
        node.append(topic.name, topic.partitions - 1, produced)
    node.configure_broker("", {"log.retention.ms": "123"})
    node.configure_topic(node.topics.get("clicks"), {"segment.bytes": "6000"})
    node.logs.checkpoint()
    ids = {topic.name: topic.id for topic in node.topics}
    settings = {topic.name: topic.configs for topic in node.topics}
    if clean:
        node.close()
    return Disk(files, ids, producer_id, node.leader_epoch, settings)


class Checked(NamedTuple):
    """A node after its second start, and the warnings of its first."""

    node: Node
    told: list[str]


def check(disk: Disk, files: FaultyFiles, caplog: pytest.LogCaptureFixture) -> Checked:
    """Open a node: every topic with a directory is there, works, and a second start has nothing to report."""
    node = open_node(files)
    told = warnings(caplog)
    assert {name: topic.id for name in disk.ids if (topic := node.topics.find(name))} == disk.ids
    assert {topic.name for topic in node.topics} <= {*disk.ids, "gone"}
    for name, partitions in (("orders", 2), ("payments", 3), ("clicks", 2)):
        assert node.topics.get(name).partitions == partitions
        log = node.log(name, partitions - 1)
        assert values(log.read(0, 1000).read()) == [b"of " + name.encode()]
        assert log.config.retention_ms in (77, -1)
        node.append(name, 0, batch(b"more"))
    assert take_id(node) > disk.producer_id
    assert node.leader_epoch >= disk.leader_epoch
    node.delete_topic(node.create_topic("fresh", 1))
    node.close()
    caplog.clear()
    again = open_node(files)
    assert warnings(caplog) == []
    assert {name: again.topics.get(name).id for name in disk.ids} == disk.ids
    return Checked(again, told)


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def change(files: FaultyFiles, path: Path, content: bytes) -> FaultyFiles:
    file = files.open(path)
    file.truncate(0)
    file.write(0, [content])
    return files


def without_journal(files: FaultyFiles, journal: bytes) -> FaultyFiles:
    for name in [name for name in files.names if name.parent == JOURNAL]:
        files.remove(name)
    files.remove_directory(JOURNAL)
    return files
