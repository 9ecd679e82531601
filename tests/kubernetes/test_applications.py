"""Applications in client and in cluster mode: executors in pods find the format, and read and write topics."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from tests.kubernetes.submissions import NAMESPACE
from tests.kubernetes.topics import values

if TYPE_CHECKING:
    from pathlib import Path

    from tests.kubernetes.cluster import Cluster
    from tests.kubernetes.submissions import Submissions
    from tests.spark.filled_broker import FilledBroker

pytestmark = [pytest.mark.kubernetes, pytest.mark.timeout(1800)]
_VALUES = sorted(f"v{n}" for count in (30, 20) for n in range(count))
_JOB = """
import json, sys

from pyspark.sql import SparkSession
from pyspark.sql.functions import udf

servers, = sys.argv[1:]
spark = SparkSession.builder.getOrCreate()


@udf("string")
def form(_):
    import socket
    import kafkawire
    from kafkawire._native import describe

    return f"{describe()} from {kafkawire.__file__} on {socket.gethostname()}"


to = {"kafka.bootstrap.servers": servers}
rows = spark.read.format("kafkawire").options(subscribe="t", **to).load()
forms = sorted(row[0] for row in rows.select(form("offset")).distinct().collect())
goal = {"topic": "written", "deliveryGuarantee": "exactly-once"}
rows.select("key", "value").write.format("kafkawire").mode("append").options(**goal, **to).save()
print("found", json.dumps({"count": rows.count(), "forms": forms}))
"""


def test_a_driver_outside_of_the_cluster_reads_and_writes_on_executors_by_image(
    spark: Submissions, broker: FilledBroker, tmp_path: Path
) -> None:
    (tmp_path / "job.py").write_text(_JOB)
    done = spark.submit("client", str(tmp_path / "job.py"), broker.bootstrap_servers, settings=spark.settings())
    assert done.returncode == 0, done.stderr[:6000]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    found: dict[str, Any] = json.loads(line.removeprefix("found "))
    assert found["count"] == 50
    assert found["forms"]
    for form in found["forms"]:
        assert form.startswith("compiled from /opt/venv/lib/"), form
        assert "-exec-" in form, "not in the pod of an executor"
    assert values(broker, "written") == _VALUES


def test_the_job_of_the_example_runs_in_the_pod_of_a_driver(
    spark: Submissions, cluster: Cluster, broker: FilledBroker, shared: Path
) -> None:
    settings = spark.settings(shared, spark__kubernetes__driver__pod__name="copy")
    words = [broker.bootstrap_servers, "t", "streamed", str(shared / "checkpoint")]
    done = spark.submit("cluster", "local:///opt/jobs/job.py", *words, settings=settings)
    assert done.returncode == 0, done.stderr[:6000]
    [driver] = [pod for pod in cluster.pods(NAMESPACE) if pod["metadata"]["name"] == "copy"]
    said = cluster.log(NAMESPACE, "copy")
    assert driver["status"]["phase"] == "Succeeded", said[-5000:]
    assert "streamed has 50 records" in said
    assert values(broker, "streamed") == _VALUES
