"""Tests that need jars and other releases of PySpark run only when they are asked for: `pytest -m lakes`."""

from __future__ import annotations

import pytest
from tests.lakes.places import NotFetchedError, environment_of, environment_of_readers, jars_of


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "lakes" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("lakes")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("lakes")]


@pytest.fixture(params=["parquet", "delta", "iceberg"])
def table_format(request: pytest.FixtureRequest) -> str:
    """Each format, with everything that it needs fetched."""
    try:
        environment_of(request.param)
        jars_of(request.param)
        environment_of_readers()
    except NotFetchedError as error:
        pytest.fail(str(error))
    return str(request.param)
