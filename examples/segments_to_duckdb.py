"""Ask SQL questions about Kafka's log files with DuckDB: `pip install duckdb`, `python examples/segments_to_duckdb.py`.

The files may be those of Apache Kafka: the layout on disk is the same. Nothing needs to run while they are read.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import duckdb

from kafkawire.client.blocking import Producer
from kafkawire.inspect import read_directories
from kafkawire.testing import RunningBroker

with tempfile.TemporaryDirectory() as directory:
    with RunningBroker(directory) as broker:
        broker.create_topic("orders", partitions=3)
        with Producer(bootstrap_servers=broker.bootstrap_servers, compression_type="lz4") as producer:
            for number in range(1000):
                producer.send("orders", b"order %d" % number, key=b"customer-%d" % (number % 7))

    tables = read_directories([Path(directory)], records=True, values=True)

records, batches = tables["records"], tables["batches"]
print(duckdb.sql("SELECT partition, count(*) AS records FROM records WHERE topic = 'orders' GROUP BY 1 ORDER BY 1"))
print(
    duckdb.sql(
        "SELECT decode(key) AS customer, count(*) AS orders FROM records WHERE topic = 'orders' GROUP BY 1 ORDER BY 1"
    )
)
print(duckdb.sql("SELECT codec, count(*) AS batches FROM batches WHERE topic = 'orders' GROUP BY 1"))
