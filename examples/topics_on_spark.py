"""Read and write topics with PySpark, without a jar: `pip install 'kafkawire[spark]'`, then run this program.

Options and columns are those of Spark's own `kafka` format; only the name of the format differs.
"""

from __future__ import annotations

from kafkawire.spark import build_session
from kafkawire.testing import RunningBroker

with RunningBroker() as broker:
    broker.create_topic("orders", partitions=2)
    broker.create_topic("totals")
    for number in range(100):
        broker.produce("orders", b"%d" % number, key=b"customer-%d" % (number % 5), partition=number % 2)

    spark = build_session("local[2]")
    orders = (
        spark.read.format("kafkawire")
        .option("kafka.bootstrap.servers", broker.bootstrap_servers)
        .option("subscribe", "orders")
        .load()
    )
    totals = orders.selectExpr("key", "CAST(CAST(value AS STRING) AS INT) AS amount").groupBy("key").sum("amount")
    totals.selectExpr("key", "CAST(`sum(amount)` AS STRING) AS value").write.format("kafkawire").option(
        "kafka.bootstrap.servers", broker.bootstrap_servers
    ).option("topic", "totals").mode("append").save()
    for record in sorted(broker.records("totals"), key=lambda record: record.key or b""):
        print(record.key, record.value)
    spark.stop()
