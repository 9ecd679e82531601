"""A node without sockets or disk, and running brokers for clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._node import Node
from kafkawire.log.storage.memory import MemoryFiles
from kafkawire.testing.manual_clock import ManualClock

if TYPE_CHECKING:
    from collections.abc import Callable

NOW = 1_700_000_000_000


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(NOW)


@pytest.fixture
def files(clock: ManualClock) -> MemoryFiles:
    return MemoryFiles(clock.now)


@pytest.fixture
def open_node(clock: ManualClock, files: MemoryFiles) -> Callable[..., Node]:
    """Open a node on the test's files, as often as it likes."""

    def make(**settings: str) -> Node:
        config = {name.replace("_", "."): value for name, value in settings.items()}
        return Node(BrokerConfig(config), clock, root=Path("/data"), files=files)

    return make


@pytest.fixture
def node(open_node: Callable[..., Node]) -> Node:
    node = open_node()
    node.create_topic("orders", 2)
    return node
