"""Our broker behind the fixtures of these tests; tests/interop has the same fixtures with Apache Kafka."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import pytest
from tests.client.topics import Topics
from tests.client.virtual_time import virtual_time

from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["virtual_time"]
STRICT: Final = {"auto.create.topics.enable": "false"}


class OurTopics(Topics):
    """Topics of our broker."""

    def __init__(self, running: RunningBroker) -> None:
        super().__init__(running.bootstrap_servers)
        self._running = running

    def connections_made(self) -> int:
        return self._running.connections_made


@pytest.fixture(scope="module")
def broker() -> Iterator[OurTopics]:
    with RunningBroker(config=STRICT) as running:
        topics = OurTopics(running)
        yield topics
        topics.close()


@pytest.fixture
def restartable(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", config=STRICT) as running:
        yield running
