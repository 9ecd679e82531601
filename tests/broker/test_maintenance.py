"""Periodic work of the broker: when, and what it says of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tests.broker.node_requests import batch
from tests.broker.test_events import events

from kafkawire.broker._ops.maintenance import Maintenance
from kafkawire.log._cleanup.compaction import compaction
from kafkawire.log._cleanup.retention import retention
from kafkawire.log._cleanup.steps import BackgroundWork, run

if TYPE_CHECKING:
    import pytest

    from kafkawire.broker._node import Node
    from kafkawire.log.partition import Partition
    from kafkawire.log.storage.memory import MemoryFiles
    from kafkawire.testing.manual_clock import ManualClock


def test_a_topic_has_a_delay_of_its_own_before_its_files_go(node: Node, files: MemoryFiles, clock: ManualClock) -> None:
    node.delete_topic(node.create_topic("gone", 1, {"file.delete.delay.ms": "1000"}))
    maintenance = Maintenance(node)

    def left() -> bool:
        return any(folder.name.endswith("-delete") for folder in list(files.folders))

    async def scenario() -> None:
        maintenance.start()
        assert left()
        clock.advance(10_000)
        async with asyncio.timeout(60):
            while left():
                await asyncio.sleep(0.001)
        await maintenance.stop()

    assert node.config.integer("log.segment.delete.delay.ms") == 60_000
    asyncio.run(scenario())


def test_only_a_finished_compaction_is_logged(
    node: Node, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    for name in ("kept", "lost"):
        node.create_topic(name, 1, {"cleanup.policy": "compact,delete", "segment.bytes": "200", "retention.ms": "-1"})
        for number in range(20):
            node.append(name, 0, batch(b"%d" % number))
    lost = node.log("lost", 0)

    def interrupted(log: Partition) -> BackgroundWork[bool]:
        work = compaction(log)
        yield next(work)
        if log is lost:
            log.delete_records(log.high_watermark)
            run(retention(log))
        return (yield from work)

    monkeypatch.setattr("kafkawire.broker._ops.maintenance.compaction", interrupted)
    asyncio.run(Maintenance(node).compact())
    assert [each["partition"] for each in events(caplog) if each["event"] == "log compacted"] == ["kept-0"]
