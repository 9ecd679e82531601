"""Tests that need a minute of real time each run only when they are asked for: `pytest -m minute`."""

from __future__ import annotations

import pytest  # noqa: TC002


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "minute" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("minute")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("minute")]
