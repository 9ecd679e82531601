"""Copy a topic exactly once, as a batch or as a stream: `job.py SERVERS FROM TO [CHECKPOINT]`.

It runs unchanged on a machine, on a cluster, and in a driver's pod on Kubernetes.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

servers, source, target, *checkpoint = sys.argv[1:]
spark = SparkSession.builder.appName(f"copy {source}").getOrCreate()
origin = {"kafka.bootstrap.servers": servers, "subscribe": source, "startingOffsets": "earliest"}
goal = {"kafka.bootstrap.servers": servers, "topic": target, "deliveryGuarantee": "exactly-once"}

if checkpoint:
    rows = spark.readStream.format("kafkawire").options(**origin).load()
    stream = rows.select("key", "value").writeStream.format("kafkawire").options(**goal)
    query = stream.option("checkpointLocation", checkpoint[0]).trigger(availableNow=True).start()
    query.awaitTermination()
else:
    batch = spark.read.format("kafkawire").options(**origin).load()
    batch.select("key", "value").write.format("kafkawire").options(**goal).mode("append").save()

copied = spark.read.format("kafkawire").options(**{**origin, "subscribe": target}).load().count()
print(f"{target} has {copied} records")
spark.stop()
