"""A whole broker: state, server and timers. `kafkawire serve` and programs run it.

Rules:
- It lives between `start` and `stop`, on the loop that called `start`.
- Without a port, or with port 0, it takes a free port; `bootstrap` contains it.
- `users` have these passwords for SCRAM from the start on, as with kafka-storage format --add-scram.
- `acls` exist from the start on. They are in force if the authorizer is set.
- Without a data directory all data is in memory, and lost afterwards. `files` replaces the file system.
- The settings `listeners` and `log.dirs` are those in use, also if they came from arguments.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from kafkawire.broker._clock import LoopClock
from kafkawire.broker._config.group_settings import assignors
from kafkawire.broker._config.settings import BrokerConfig
from kafkawire.broker._dispatch.dispatcher import Dispatcher
from kafkawire.broker._metrics.counters import Metrics
from kafkawire.broker._net.listeners import Endpoint, advertised, listening, protocols
from kafkawire.broker._net.server import Server
from kafkawire.broker._node import Node
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._ops.loading import Loading
from kafkawire.broker._ops.maintenance import Maintenance
from kafkawire.broker._security.listeners import Listeners
from kafkawire.log.storage.files import DiskFiles
from kafkawire.log.storage.memory import MemoryFiles
from kafkawire.messages import error_facts as table

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from types import TracebackType

    from kafkawire.broker._clock import Clock
    from kafkawire.log.storage.files import FileSystem
    from kafkawire.wire.acls import Acl


class Broker:
    """A Kafka broker of one node.

    >>> import asyncio
    >>> async def main() -> int:
    ...     async with Broker() as broker:
    ...         return int(broker.bootstrap.rpartition(":")[2])
    >>> asyncio.run(main()) > 0
    True
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        host: str | None = None,
        port: int | None = None,
        config: Mapping[str, str] | None = None,
        clock: Clock | None = None,
        files: FileSystem | None = None,
        users: Mapping[str, str] | None = None,
        acls: Collection[Acl] = (),
    ) -> None:
        self.config = BrokerConfig(config)
        assignors(self.config)  # refused here, because their coordinator may start much later
        self.clock = clock or LoopClock()
        self.metrics = Metrics()
        self.listeners = listening(self.config, host, port)
        advertised(self.config, self.listeners)
        known = protocols(self.config)
        self.security = Listeners(self.config, {name: known[name] for name in self.listeners}, self.clock)
        self._data_dir = None if data_dir is None else Path(data_dir)
        self._files = files
        self._users = dict(users or {})
        self._acls = acls
        self._started = False

    async def start(self) -> None:
        """Open the logs and listen."""
        began = self.clock.elapsed()
        table()  # loaded now, because later no descriptor may be left to read the table of errors
        if self._data_dir is None:
            root, files = Path("/memory"), self._files or MemoryFiles(self.clock.now)
        else:
            root, files = self._data_dir.absolute(), self._files or DiskFiles()
        self.node = Node(self.config, self.clock, root=root, files=files)
        self.dispatcher = Dispatcher(self.node, self.metrics)
        self.node.listeners = self.security
        self.server = Server(self.config, self.dispatcher, self.metrics)
        try:
            self.node.start()
            self.node.changes.run_now(self.node.changes.users(self._users))
            self._create_acls()
            for name, place in self.listeners.items():
                security = self.security[name]
                self.listeners[name] = Endpoint(place.host, await self.server.listen(security, place))
                security.warn_if_open(place.host)
            self.node.endpoints = advertised(self.config, self.listeners)
            self.config.given |= {
                "listeners": ",".join(f"{name}://{place}" for name, place in self.listeners.items()),
                "log.dirs": str(root),
            }
            await self.server.start()
        except BaseException:
            await self.server.close()
            self.node.close()
            raise
        self._maintenance = Maintenance(self.node, self.dispatcher.turns)
        self._maintenance.start()
        self.dispatcher.watchdog.start()
        self._loading = Loading(self.dispatcher.turns)
        self._loading.start()
        self._started = True
        log_event(
            "broker started",
            cluster=self.node.cluster_id,
            node=self.node.id,
            topics=len(self.node.topics),
            partitions=sum(topic.partitions for topic in self.node.topics),
            clean=self.node.logs.was_clean,
            ms=self.clock.elapsed() - began,
        )

    def _create_acls(self) -> None:
        if self._acls:
            from kafkawire.broker._acls.changes import creation

            self.node.changes.run_now(creation(self.node, self._acls))

    async def stop(self) -> None:
        """Close connections and logs; everything acknowledged is on the disk afterwards."""
        if self._started:
            self._started = False
            self._loading.stop()
            await self._maintenance.stop()
            self.dispatcher.watchdog.stop()
            await self.server.close()
            await self.node.changes.drain()
            await self.node.flusher.drain()
            self.node.close()
            log_event("broker stopped")

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    @property
    def bootstrap(self) -> str:
        """The bootstrap.servers for clients: the advertised address of the first listener."""
        return str(next(iter(self.node.endpoints.values())))

    @property
    def port(self) -> int:
        """The port of the first listener."""
        return next(iter(self.listeners.values())).port
