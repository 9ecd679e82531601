"""Set-up of all tests: the header that names the implementation, marks, scheduling, and the sockets of peers."""

from __future__ import annotations

import gc
import os
import warnings
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from kafkawire import _native as implementation

if TYPE_CHECKING:
    from collections.abc import Generator

ON_SPARK = {
    "sources on Spark": ("tests/spark/",),
    "pipeline on Spark": ("tests/cli/test_pipeline", "tests/cli/test_demo", "tests/examples/test_on_spark"),
}
"""Tests that share a session of Spark, which takes seconds to start. One worker runs all tests of a group."""
LONGEST = (
    "tests/torture/test_short.py",
    "tests/hostile/test_every_api_is_bounded.py",
    "tests/examples/",
    "tests/hostile/",
    "tests/property/test_transactions.py",
    "tests/test_examples.py",
    "tests/log/test_failing_twice.py",
    "tests/crash/",
    "tests/broker/test_real_quotas.py",
    "tests/inspect/test_body_columns.py",
    "tests/inspect/test_healthy_clients.py",
    "tests/platforms/",
    "tests/client/",
    "tests/packaging/",
)
"""The files that take longest. They come first, so that no worker begins one when the others have nothing left."""
ASKED_FOR = {
    "browser": "browser",
    "cluster": "cluster",
    "interop": "interop",
    "kubernetes": "kubernetes",
    "lakes": "lakes",
    "minutes": "minute",
}
"""The mark of the tests in each folder that are run only when they are asked for, by mark or by path."""
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
    config.addinivalue_line("markers", "cluster: starts a cluster of Spark, in `make cluster`")
    config.addinivalue_line("markers", "kubernetes: starts a cluster of Kubernetes, in `make kubernetes`")
    config.addinivalue_line("markers", "lakes: needs jars and other releases of PySpark, in `make lakes`")
    config.addinivalue_line("markers", "minute: needs a minute of real time, in `make minutes`")
    config.addinivalue_line("markers", "browser: needs Debian's chromium, which playwright drives")
    config.addinivalue_line("markers", "interop: needs another implementation, fetched from its registry")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files whose tests `-m` leaves out, because each worker takes seconds to import them."""
    wanted = config.option.markexpr
    mark = ASKED_FOR.get(collection_path.name)
    if mark is not None:
        return not (mark in wanted or any(collection_path.name in each for each in config.args)) or None
    if wanted != "twin" or not collection_path.name.startswith("test_"):
        return None
    return "mark.twin" not in collection_path.read_text("utf-8") or None


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """A worker imports its share of the files first, so that a changed file is compiled by one worker, not by all."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    tests = Path(__file__).parent
    if workers == 1 or [session.config.rootpath / each for each in session.config.args] != [tests]:
        return
    number = int(os.environ["PYTEST_XDIST_WORKER"].removeprefix("gw"))
    files = [
        each
        for each in sorted(tests.rglob("test_*.py"))
        if not any(pytest_ignore_collect(path, session.config) for path in (each, each.parent))
    ]
    for file in files[number::workers]:
        with suppress(Exception, pytest.skip.Exception):  # the collection reports it
            import_module(".".join(file.relative_to(tests.parent).with_suffix("").parts))


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests on Spark come first, because they take longest; then the other long ones."""
    order: list[str | tuple[str, ...]] = [*ON_SPARK.values(), *LONGEST]

    @cache
    def place(file: str) -> int:
        return next((at for at, each in enumerate(order) if file.startswith(each)), len(order))

    items.sort(key=lambda item: place(item.nodeid.partition("::")[0]))


def pytest_collection_finish() -> None:
    """Modules that were imported to find the tests are not garbage. The collector then has little to search."""
    gc.freeze()


class SharedSpark(LoadScopeScheduling):  # type: ignore[misc]  # xdist is untyped
    """One worker runs all tests of a group on Spark. Other tests are scheduled by file."""

    def _split_scope(self, nodeid: str) -> str:
        group = next((group for group, places in ON_SPARK.items() if nodeid.startswith(places)), None)
        return nodeid.partition("::")[0] if group is None else group


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> SharedSpark:
    config.option.loadscopereorder = False
    return SharedSpark(config, log)


def pytest_report_header() -> str:
    return f"kafkawire implementation: {implementation.describe()}"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, object, object]:
    """Other client libraries leave sockets to the collector, whose warning would fail the test that runs by then."""
    result = yield
    if any(place in item.nodeid for place in WITH_PEERS):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        gc.freeze()  # the next collection searches only what is new: a full one takes a second
    return result
