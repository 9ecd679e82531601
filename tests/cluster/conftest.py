"""Tests that start a cluster run only when they are asked for: `pytest -m cluster`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.cluster.processes import standalone
from tests.spark.filled_broker import FilledBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

_KEPT = {"retention.ms": -1}  # the records are old, and a test on a busy machine may outlast a round of retention


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "cluster" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("cluster")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("cluster")]


@pytest.fixture(scope="session")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a standalone cluster of a master and two workers."""
    with standalone(tmp_path_factory.mktemp("cluster")) as url:
        yield url


@pytest.fixture
def broker() -> Iterator[FilledBroker]:
    """A broker with a topic of two partitions with 30 and 20 records, and empty ones to write to."""
    with FilledBroker() as broker:
        broker.create_topic("t", 2, _KEPT)
        broker.fill("t", 30)
        broker.fill("t", 20, partition=1)
        for name in ("written", "streamed"):
            broker.create_topic(name, 1, _KEPT)
        yield broker
