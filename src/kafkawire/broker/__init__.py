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

from kafkawire.loading import load_when_asked

if TYPE_CHECKING:
    from kafkawire.broker.broker import Broker

__all__ = ["Broker"]

# The pure parts are used without the server; it is imported when it is asked for.
if not TYPE_CHECKING:  # a checker that saw it would take any name for one of ours
    __getattr__ = load_when_asked(__name__, {"Broker": "broker"})
