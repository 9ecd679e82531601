"""See how a client behaves when the broker fails: `python examples/survive_faults.py`.

The broker refuses two Produce requests, then closes the connection once. The producer retries, and the records arrive
exactly once, because the producer is idempotent by default.
"""

from __future__ import annotations

from kafkawire.client.blocking import Producer
from kafkawire.testing import RunningBroker

with RunningBroker() as broker:
    broker.create_topic("orders")
    broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    with Producer(bootstrap_servers=broker.bootstrap_servers, retry_backoff_ms=20) as producer:
        producer.send_and_wait("orders", b"after two refusals")
        broker.close_next("Produce")
        producer.send_and_wait("orders", b"after a lost connection")

    produced = [request for request in broker.requests if request.api == "Produce"]
    print(f"{len(produced)} Produce requests for 2 records")
    for record in broker.records("orders"):
        print(record.offset, record.value)
