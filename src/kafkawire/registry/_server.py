"""The registry as a server beside a broker, on the broker's loop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Self

from kafkawire.broker import CannotListenError, Endpoint
from kafkawire.registry._http import HttpServer
from kafkawire.registry._routes import Routes
from kafkawire.registry._service import Service

if TYPE_CHECKING:
    from types import TracebackType

    from kafkawire.broker import Broker

DEFAULT_PORT: Final = 8081
DEFAULT_HOST: Final = "127.0.0.1"
_EVERY_ADDRESS: Final = ("", "0.0.0.0", "::")


class RegistryServer:
    """A Schema Registry that keeps its data in a started broker.

    >>> import asyncio
    >>> from kafkawire.broker import Broker
    >>> async def main() -> str:
    ...     async with Broker() as broker, RegistryServer(broker, port=0) as registry:
    ...         return registry.url.rpartition(":")[0]
    >>> asyncio.run(main())
    'http://127.0.0.1'
    """

    def __init__(self, broker: Broker, *, host: str = DEFAULT_HOST, port: int = DEFAULT_PORT) -> None:
        self._broker = broker
        self._place = Endpoint(host, port)

    async def start(self) -> None:
        """Load the topic `_schemas` and listen."""
        service = Service(self._broker)
        await service.open()
        self._server = HttpServer(Routes(service, self._broker.node.cluster_id).serve)
        host, port = self._place
        try:
            self._place = Endpoint(host, await self._server.listen(host, port))
        except OSError as error:
            raise CannotListenError(self._place, error) from error

    async def stop(self) -> None:
        """Close the connections; everything that was answered is in the topic."""
        await self._server.close()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return self._place.port

    @property
    def url(self) -> str:
        """The value for `schema.registry.url` of clients."""
        host, port = self._place
        return f"http://{Endpoint(DEFAULT_HOST if host in _EVERY_ADDRESS else host, port)}"
