"""A Kafka broker of one node: topics, records and groups over real sockets, kept in Kafka's own files.

>>> import asyncio
>>> from kafkawire.broker import Broker
>>> async def main() -> str:
...     async with Broker(port=0) as broker:
...         return broker.bootstrap.partition(":")[0]
>>> asyncio.run(main())
'127.0.0.1'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kafkawire._lazy import load_when_asked

if TYPE_CHECKING:
    from kafkawire.broker._broker import Broker
    from kafkawire.broker._clock import Clock
    from kafkawire.broker._config.settings import BrokerConfig
    from kafkawire.broker._config.settings import keys as setting_keys
    from kafkawire.broker._config.sources import from_environment, from_file, from_pairs
    from kafkawire.broker._dispatch.dispatcher import Serve
    from kafkawire.broker._dispatch.registry import (
        CloseConnectionError,
        HeldResponse,
        RequestContext,
        Response,
        served_apis,
    )
    from kafkawire.broker._metadata.changes import NewTopic
    from kafkawire.broker._metadata.directories import partition_name
    from kafkawire.broker._metadata.journal.files import JOURNAL, is_of_kafka
    from kafkawire.broker._metadata.journal.files import examine as examine_journal
    from kafkawire.broker._metadata.restoration import plan as plan_restoration
    from kafkawire.broker._metadata.topics import Topic
    from kafkawire.broker._metrics.http import MetricsPage
    from kafkawire.broker._net.listeners import DEFAULT_HOST, DEFAULT_PORT, CannotListenError, Endpoint
    from kafkawire.broker._node import Node
    from kafkawire.broker._ops.process import new_loop, own_process
    from kafkawire.broker._security.development_certificates import DevelopmentAuthority
    from kafkawire.broker._security.secure_start import SecureStart, secure_start

__all__ = [
    "Broker",
    "BrokerConfig",
]

# The pure parts are used without the server; it is imported when it is asked for.
_HOMES = {
    "Broker": "_broker",
    "BrokerConfig": "_config.settings",
}

# For other packages of kafkawire; not part of the public interface.
_SHARED = {
    "CannotListenError": "_net.listeners",
    "CloseConnectionError": "_dispatch.registry",
    "DEFAULT_HOST": "_net.listeners",
    "DEFAULT_PORT": "_net.listeners",
    "DevelopmentAuthority": "_security.development_certificates",
    "Endpoint": "_net.listeners",
    "HeldResponse": "_dispatch.registry",
    "JOURNAL": "_metadata.journal.files",
    "MetricsPage": "_metrics.http",
    "Node": "_node",
    "NewTopic": "_metadata.changes",
    "RequestContext": "_dispatch.registry",
    "SecureStart": "_security.secure_start",
    "Topic": "_metadata.topics",
    "examine_journal": "_metadata.journal.files:examine",
    "from_environment": "_config.sources",
    "from_file": "_config.sources",
    "from_pairs": "_config.sources",
    "is_of_kafka": "_metadata.journal.files",
    "new_loop": "_ops.process",
    "own_process": "_ops.process",
    "partition_name": "_metadata.directories",
    "plan_restoration": "_metadata.restoration:plan",
    "secure_start": "_security.secure_start",
    "served_apis": "_dispatch.registry",
    "setting_keys": "_config.settings:keys",
}

if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, _HOMES | _SHARED)
