"""What every test shares: the header that names the implementation, the marks, and sweeping up after peers."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

from kafkawire import implementation

if TYPE_CHECKING:
    from collections.abc import Iterator

WITH_PEERS = {"clients", "test_peers.py", "test_proxy.py", "test_recordings.py", "test_tshark.py"}

# The same examples in every run, without limits of time; `--hypothesis-profile=default` looks for new ones.
settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "twin: runs in both forms, compiled and Python")
    config.addinivalue_line("markers", "interop: needs another implementation, fetched from its registry")


def pytest_report_header() -> str:
    return f"kafkawire implementation: {implementation.describe()}"


@pytest.fixture(autouse=True)
def sockets_of_peers_are_swept_up(request: pytest.FixtureRequest) -> Iterator[None]:
    """Other client libraries leave sockets to the collector, whose warning would fail whichever test runs by then."""
    yield
    if WITH_PEERS & set(request.path.parts):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
