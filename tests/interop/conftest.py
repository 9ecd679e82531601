"""Tests against other implementations run only when they are asked for: `pytest -m interop`."""

from __future__ import annotations

import pytest
from tests.interop.apache_kafka import ApacheKafka


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "interop: needs another implementation, fetched from its registry")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "interop" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("interop")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("interop")]


@pytest.fixture(scope="session")
def kafka() -> ApacheKafka:
    return ApacheKafka()
