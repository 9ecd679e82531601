"""A broker for asynchronous tests: calls that wait do not block the loop of the test.

Rules:
- The broker runs on a thread of its own, so that a busy loop of the test does not delay its answers.
- Calls that only order faults or look at requests do not wait; they are those of `RunningBroker`.
- `broker` is the `RunningBroker`, with the rest of its calls.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self

from kafkawire.testing._fault_calls import FaultCalls
from kafkawire.testing._running import RunningBroker

if TYPE_CHECKING:
    from types import TracebackType

    from kafkawire.records import Record
    from kafkawire.testing._requests import RecordedRequest


class AsyncBroker(FaultCalls):
    """A `RunningBroker` with coroutines; the arguments are those of its calls.

    >>> async def main() -> int:
    ...     async with AsyncBroker() as broker:
    ...         await broker.create_topic("orders")
    ...         return await broker.produce("orders", b"one")
    >>> asyncio.run(main())
    0
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._use(RunningBroker(*args, **kwargs))

    @classmethod
    def of(cls, broker: RunningBroker) -> Self:
        """The coroutines of a broker that runs already."""
        made = cls.__new__(cls)
        made._use(broker)
        return made

    def _use(self, broker: RunningBroker) -> None:
        self.broker = broker
        self._faults, self._allows_unused_faults = broker._faults, broker._allows_unused_faults

    @property
    def bootstrap_servers(self) -> str:
        """The value for `bootstrap.servers` of clients."""
        return self.broker.bootstrap_servers

    async def __aenter__(self) -> Self:
        await asyncio.to_thread(self.broker.start)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await asyncio.to_thread(self.broker.__exit__, kind, error, trace)

    async def restart(self) -> None:
        """As `RunningBroker.restart`."""
        await asyncio.to_thread(self.broker.restart)

    async def create_topic(self, *args: Any, **kwargs: Any) -> None:
        """As `RunningBroker.create_topic`."""
        await asyncio.to_thread(self.broker.create_topic, *args, **kwargs)

    async def produce(self, *args: Any, **kwargs: Any) -> int:
        """As `RunningBroker.produce`."""
        return await asyncio.to_thread(self.broker.produce, *args, **kwargs)

    async def records(self, *args: Any, **kwargs: Any) -> list[Record]:
        """As `RunningBroker.records`."""
        return await asyncio.to_thread(self.broker.records, *args, **kwargs)

    async def wait_for_requests(self, *args: Any, **kwargs: Any) -> list[RecordedRequest]:
        """As `RunningBroker.wait_for_requests`."""
        return await asyncio.to_thread(self.broker.wait_for_requests, *args, **kwargs)

    async def wait_for_records(self, *args: Any, **kwargs: Any) -> list[Record]:
        """As `RunningBroker.wait_for_records`."""
        return await asyncio.to_thread(self.broker.wait_for_records, *args, **kwargs)

    async def wait_for_group(self, *args: Any, **kwargs: Any) -> None:
        """As `RunningBroker.wait_for_group`."""
        await asyncio.to_thread(self.broker.wait_for_group, *args, **kwargs)
