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

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kafkawire.broker.broker import Broker

__all__ = ["Broker"]


def __getattr__(name: str) -> Any:
    # The pure parts are used without the server; it is imported when it is asked for.
    if name == "Broker":
        from kafkawire.broker.broker import Broker

        return Broker
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
