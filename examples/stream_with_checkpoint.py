"""Stream a topic into Parquet with Spark, stop, and continue from the checkpoint without a loss or a duplicate.

Run it with `python examples/stream_with_checkpoint.py`; it needs `pip install 'kafkawire[spark]'`.
"""

from __future__ import annotations

import tempfile

from kafkawire.spark import build_session
from kafkawire.testing import RunningBroker

with tempfile.TemporaryDirectory() as directory, RunningBroker() as broker:
    broker.create_topic("orders", partitions=2)
    spark = build_session("local[2]")

    def run() -> int:
        stream = (
            spark.readStream.format("kafkawire")
            .option("kafka.bootstrap.servers", broker.bootstrap_servers)
            .option("subscribe", "orders")
            .option("startingOffsets", "earliest")
            .load()
        )
        query = stream.writeStream.format("parquet").option("path", f"{directory}/orders")
        query = query.option("checkpointLocation", f"{directory}/checkpoint").trigger(availableNow=True)
        query.start().awaitTermination()
        return spark.read.parquet(f"{directory}/orders").count()

    for number in range(100):
        broker.produce("orders", b"%d" % number, partition=number % 2)
    print("after the first run:", run())
    for number in range(50):
        broker.produce("orders", b"%d" % number, partition=number % 2)
    print("after the second run:", run())
    spark.stop()
