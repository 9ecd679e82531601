"""A real broker for tests: in this process, on a real socket, for any client.

With the package installed, pytest has the fixtures `kafka_broker` and `kafka_topic`; without pytest:

>>> from kafkawire.testing import RunningBroker
>>> with RunningBroker() as broker:
...     broker.create_topic("orders", partitions=3)
...     broker.bootstrap_servers.startswith("127.0.0.1:")
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire.loading import load_when_asked

if TYPE_CHECKING:
    from kafkawire.testing.faults import RecordedRequest
    from kafkawire.testing.running import RunningBroker

__all__ = ["RecordedRequest", "RunningBroker"]

# pytest imports the plugin in every run; only tests that want a broker pay for one.
if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, {"RecordedRequest": "faults", "RunningBroker": "running"})
