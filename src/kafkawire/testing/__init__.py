"""A real broker for tests: in this process, on a real socket, for any client.

With the package installed, pytest has the fixtures `kafka_broker` and `kafka_topic`; without pytest:

>>> with RunningBroker() as broker:
...     broker.create_topic("orders", partitions=3)
...     broker.bootstrap_servers.startswith("127.0.0.1:")
True
"""

from kafkawire.testing.faults import RecordedRequest
from kafkawire.testing.running import RunningBroker

__all__ = ["RecordedRequest", "RunningBroker"]
