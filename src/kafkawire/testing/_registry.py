"""A Schema Registry on the thread of a running broker.

Rules:
- Its data is in the broker's topic `_schemas`: `restart` loads it again.
- The port stays the same while it is stopped, also when the broker restarts; after that call `restart`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from kafkawire.registry import RegistryServer
from kafkawire.testing._running import NotRunningError, RunningBroker, claim_port

if TYPE_CHECKING:
    from types import TracebackType


class RunningRegistry:
    """A Schema Registry beside a broker.

    >>> with RunningBroker() as broker, RunningRegistry(broker) as registry:
    ...     registry.url.startswith("http://127.0.0.1:")
    True
    """

    def __init__(self, broker: RunningBroker, *, port: int | None = None) -> None:
        self._broker = broker
        self._port = port or claim_port(self)
        self._server: RegistryServer | None = None

    @property
    def url(self) -> str:
        """The value for `schema.registry.url` of clients."""
        if self._server is None:
            raise NotRunningError("the registry was not started, so it has no address yet")
        return self._server.url

    def start(self) -> None:
        """Start the registry; returns when clients can connect."""
        server = RegistryServer(self._broker.broker, port=self._port)
        self._broker.run_coroutine(server.start())
        self._server = server

    def stop(self) -> None:
        """Stop the registry; its data stays in the broker."""
        server, self._server = self._server, None
        if server is not None:
            self._broker.run_coroutine(server.stop())

    def restart(self) -> None:
        """Stop the registry and start it again on the same port, with what the broker has."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
