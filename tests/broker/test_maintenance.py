"""What the broker does by itself: when, and what it says of it."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from tests.broker.asking import batch
from tests.broker.test_events import events

from kafkawire.broker.maintenance import Maintenance
from kafkawire.log.compaction import compaction
from kafkawire.log.lengthy import Lengthy, run
from kafkawire.log.retention import retention

if TYPE_CHECKING:
    import pytest

    from kafkawire.broker.clock import ManualClock
    from kafkawire.broker.node import Node
    from kafkawire.log.memory import MemoryFiles
    from kafkawire.log.partition import Partition


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


def test_only_a_compaction_that_came_to_its_end_is_told(
    node: Node, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    for name in ("kept", "lost"):
        node.create_topic(name, 1, {"cleanup.policy": "compact,delete", "segment.bytes": "200", "retention.ms": "-1"})
        for number in range(20):
            node.append(name, 0, batch(b"%d" % number))
    lost = node.log("lost", 0)

    def interrupted(log: Partition) -> Lengthy[bool]:
        work = compaction(log)
        yield next(work)
        if log is lost:
            log.delete_records(log.high_watermark)
            run(retention(log))
        return (yield from work)

    monkeypatch.setattr("kafkawire.broker.maintenance.compaction", interrupted)
    asyncio.run(Maintenance(node).compact())
    assert [each["partition"] for each in events(caplog) if each["event"] == "log compacted"] == ["kept-0"]
