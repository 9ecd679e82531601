"""A Spark Connect server: reading, writing and streaming, with and without registration."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest
from tests.cluster.processes import NotFetchedError, connect_server, environment_of_client, run

if TYPE_CHECKING:
    from pathlib import Path

    from tests.spark.filled_broker import FilledBroker

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(1200)]
CLIENT = """
import json, sys

from pyspark.sql import SparkSession

url, servers, root = sys.argv[1:]
spark = SparkSession.builder.remote(url).getOrCreate()
to = {"kafka.bootstrap.servers": servers}


def topic(name, **more):
    return spark.read.format("kafkawire").options(subscribe=name, **to, **more).load()


counts = [topic("t").count()]
from kafkawire.spark import register

register(spark)
counts.append(topic("t").count())
topic("t").select("key", "value").write.format("kafkawire").mode("append").options(topic="written", **to).save()
counts.append(topic("written").count())
stream = spark.readStream.format("kafkawire").options(subscribe="t", startingOffsets="earliest", **to).load()
query = (
    stream.select("key", "value").writeStream.format("kafkawire")
    .options(topic="streamed", deliveryGuarantee="exactly-once", checkpointLocation=root + "/checkpoint", **to)
    .trigger(availableNow=True).start()
)
query.awaitTermination()
counts.append(topic("streamed", **{"kafka.isolation.level": "read_committed"}).count())
print("found", json.dumps({"client": type(spark).__module__, "counts": counts}))
"""


def test_a_client_reads_writes_and_streams(broker: FilledBroker, tmp_path: Path) -> None:
    try:
        used = environment_of_client()
    except NotFetchedError as error:
        pytest.fail(str(error))
    with connect_server(tmp_path) as url:
        command = [sys.executable, "-W", "ignore", "-c", CLIENT, url, broker.bootstrap_servers, str(tmp_path)]
        done = run(command, used)
    assert done.returncode == 0, done.stderr[-5000:]
    [line] = [line for line in done.stdout.splitlines() if line.startswith("found ")]
    found = json.loads(line.removeprefix("found "))
    assert found["client"].startswith("pyspark.sql.connect"), "not a session of Connect"
    assert found["counts"] == [50, 50, 50, 50]
