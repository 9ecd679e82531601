"""What the broker does by itself: when, and what it says of it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kafkawire.broker.maintenance import Maintenance

if TYPE_CHECKING:
    from kafkawire.broker.clock import ManualClock
    from kafkawire.broker.node import Node
    from kafkawire.log.memory import MemoryFiles


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
