"""What every test shares: the header that names the implementation, the marks, who runs what, and sweeping up."""

from __future__ import annotations

import gc
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from kafkawire import implementation

if TYPE_CHECKING:
    from collections.abc import Iterator

ON_SPARK = ("tests/spark/", "tests/cli/test_pipeline", "tests/cli/test_demo")
WITH_PEERS = (
    "broker/clients/",
    "client/test_peers",
    "demo",
    "test_proxy",
    "test_recordings",
    "test_tshark",
    "torture",
)

# The same examples in every run, without limits of time; `--hypothesis-profile=explore` looks for new ones.
settings.register_profile("explore", settings.get_profile("ci"), derandomize=False)
settings.load_profile("ci")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "twin: runs in both forms, compiled and Python")
    config.addinivalue_line("markers", "wheel: needs a wheel in dist, which `make wheel` builds")
    config.addinivalue_line("markers", "torture: the short form of `make torture`")
    config.addinivalue_line("markers", "interop: needs another implementation, fetched from its registry")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The longest work first: what waits for Spark."""
    items.sort(key=lambda item: not item.nodeid.startswith(ON_SPARK))


def pytest_collection_finish() -> None:
    """What was imported to find the tests is not garbage: without it the collector is done in no time."""
    gc.freeze()


class OneSpark(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """One worker has all tests on Spark, whose session takes seconds to start; others take a file at a time."""

    def _split_scope(self, nodeid: str) -> str:
        return "spark" if nodeid.startswith(ON_SPARK) else nodeid.partition("::")[0]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> OneSpark:
    config.option.loadscopereorder = False
    return OneSpark(config, log)


def pytest_report_header() -> str:
    return f"kafkawire implementation: {implementation.describe()}"


@pytest.fixture(autouse=True)
def sockets_of_peers_are_swept_up(request: pytest.FixtureRequest) -> Iterator[None]:
    """Other client libraries leave sockets to the collector, whose warning would fail whichever test runs by then."""
    yield
    if any(place in request.node.nodeid for place in WITH_PEERS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
