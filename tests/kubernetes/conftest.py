"""A cluster of Kubernetes for all tests, and a broker that its pods reach. Both run only for `pytest -m kubernetes`."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.kubernetes.cluster import cluster as started
from tests.kubernetes.machine import HOST
from tests.kubernetes.programs import BUILD, EXAMPLE, MissingError, Programs
from tests.kubernetes.submissions import Submissions
from tests.spark.filled_broker import FilledBroker

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.kubernetes.cluster import Cluster

_KEPT = {"retention.ms": -1}  # the records are old, and a test on a busy machine may outlast a round of retention
_PORT = 19092


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if "kubernetes" in config.getoption("markexpr"):
        return
    left_out = [item for item in items if item.get_closest_marker("kubernetes")]
    config.hook.pytest_deselected(items=left_out)
    items[:] = [item for item in items if not item.get_closest_marker("kubernetes")]


@pytest.fixture(scope="session")
def programs() -> Programs:
    """The programs and the images; a machine that cannot have them skips the tests, and says why."""
    try:
        found = Programs()
        for _ in (found.kubernetes, found.pause, found.image, found.bare_image):
            pass
    except MissingError as error:
        pytest.skip(str(error))
    return found


@pytest.fixture(scope="session")
def cluster(programs: Programs) -> Iterator[Cluster]:
    """A cluster with the images, and the namespace and roles of the example."""
    directory = Path(tempfile.mkdtemp(prefix="kafkawire-kubernetes-"))
    try:
        with started(directory, BUILD / "node-images", programs) as made:
            for name, archive in (programs.image, programs.bare_image):
                if not made.has_image(name):
                    made.load_image(archive)
            made.apply(EXAMPLE / "rbac.yaml")
            yield made
    finally:
        logs = BUILD / "logs"
        shutil.rmtree(logs, ignore_errors=True)
        shutil.copytree(directory / "logs", logs)
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def broker(cluster: Cluster) -> Iterator[FilledBroker]:
    """A broker on the network of the node, with a topic of two partitions with 30 and 20 records, and empty ones."""
    with FilledBroker(config={"listeners": f"PLAINTEXT://{HOST}:{_PORT}"}) as broker:
        broker.create_topic("t", 2, _KEPT)
        broker.fill("t", 30)
        broker.fill("t", 20, partition=1)
        for name in ("written", "streamed"):
            broker.create_topic(name, 1, _KEPT)
        yield broker


@pytest.fixture
def shared() -> Iterator[Path]:
    """A directory that the pods mount at the same path, as they would a shared file system."""
    directory = Path(tempfile.mkdtemp(prefix="kafkawire-shared-"))
    directory.chmod(0o777)  # pods run as another user
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def spark(cluster: Cluster, programs: Programs) -> Submissions:
    """Submits applications as the service account of the example."""
    return Submissions(cluster, programs.image[0], cluster.account("spark", "spark"))
