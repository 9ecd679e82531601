"""A real broker for tests: in this process, on a real socket, for any client.

With the package installed, pytest has the fixtures `kafka_broker` and `kafka_topic`; without pytest:

>>> from kafkawire.testing import RunningBroker
>>> with RunningBroker() as broker:
...     broker.create_topic("orders", partitions=3)
...     broker.bootstrap_servers.startswith("127.0.0.1:")
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkawire.testing.faults import RecordedRequest
    from kafkawire.testing.running import RunningBroker

__all__ = ["RecordedRequest", "RunningBroker"]
_PLACES = {"RecordedRequest": "kafkawire.testing.faults", "RunningBroker": "kafkawire.testing.running"}


def __getattr__(name: str) -> Any:
    # pytest imports the plugin in every run; only tests that want a broker pay for one.
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
