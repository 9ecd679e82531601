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

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.testing._acl_lines import AclLineError
    from kafkawire.testing._async_broker import AsyncBroker
    from kafkawire.testing._fault_calls import FaultCalls
    from kafkawire.testing._orders import ImpossibleOrderError, UnusedFaultError
    from kafkawire.testing._registry import RunningRegistry
    from kafkawire.testing._requests import RecordedRequest
    from kafkawire.testing._running import RunningBroker
    from kafkawire.testing._several_brokers import UnknownBrokerError
    from kafkawire.testing._topic_calls import UnknownSettingError
    from kafkawire.testing._waits import WaitTimeoutError
    from kafkawire.testing.faulty_files import Fault, FaultyFiles
    from kafkawire.testing.manual_clock import ManualClock

__all__ = [
    "AclLineError",
    "AsyncBroker",
    "Fault",
    "FaultyFiles",
    "ImpossibleOrderError",
    "ManualClock",
    "RecordedRequest",
    "RunningBroker",
    "RunningRegistry",
    "UnknownBrokerError",
    "UnknownSettingError",
    "UnusedFaultError",
    "WaitTimeoutError",
]

# pytest imports the plugin in every run, so the broker is imported only when a test uses one.
_HOMES = {
    "AclLineError": "_acl_lines",
    "AsyncBroker": "_async_broker",
    "Fault": "faulty_files",
    "FaultyFiles": "faulty_files",
    "ImpossibleOrderError": "_orders",
    "ManualClock": "manual_clock",
    "RecordedRequest": "_requests",
    "RunningBroker": "_running",
    "RunningRegistry": "_registry",
    "UnknownBrokerError": "_several_brokers",
    "UnknownSettingError": "_topic_calls",
    "UnusedFaultError": "_orders",
    "WaitTimeoutError": "_waits",
}

# For other packages of kafkawire; not part of the public interface.
_SHARED = {"FaultCalls": "_fault_calls"}

if not TYPE_CHECKING:  # a type checker that saw it would accept any name
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)
