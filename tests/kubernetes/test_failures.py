"""Failures that users of Kubernetes meet first: the command says what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.kubernetes.submissions import NAMESPACE, Submissions

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.programs import Programs
    from tests.spark.filled_broker import FilledBroker

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(1800)]


def words(broker: FilledBroker, out: Path) -> list[str]:
    return ["--source", "topic", "-b", broker.bootstrap_servers, "t", "--table", "records", "--out", str(out)]


def test_an_image_without_kafkawire_is_named(
    spark: Submissions, programs: Programs, broker: FilledBroker, shared: Path
) -> None:
    bare = spark.settings(shared, spark__kubernetes__container__image=programs.bare_image[0])
    done = spark.pipeline("run", *words(broker, shared / "out"), settings=bare)
    assert done.returncode == 1
    assert "install kafkawire with its extras" in done.stderr, done.stderr
    assert "spark.kubernetes.container.image" in done.stderr, done.stderr


def test_an_account_that_may_not_start_pods_is_named(
    cluster: Cluster, programs: Programs, broker: FilledBroker, tmp_path: Path
) -> None:
    spark = Submissions(cluster, programs.image[0], cluster.account(NAMESPACE, "default"))
    done = spark.pipeline("run", *words(broker, tmp_path / "out"), settings=spark.settings())
    assert done.returncode == 1
    assert "service account" in done.stderr, done.stderr
