"""A broker in a thread of its own, for tests and clients that are not asynchronous.

Rules:
- `start` returns when clients can connect, `stop` when the thread has ended.
- `restart` keeps port and data: with a data directory nothing acknowledged is lost, in memory everything is. A port
  that the system chose stays reserved while the broker is stopped.
- An unknown setting is an error, because a test would pass without its setting.
- `security` gives it one listener with TLS, SASL or both, with certificates and users; `client_settings` fit it. `acls`
  say who may do what, as lines such as `alice: read topic orders*`.
- `brokers` gives it several listeners, which are brokers of one cluster to clients (`_several_brokers`).
- A fault that no request met fails the test when the broker is left, unless another error is on its way.
"""

from __future__ import annotations

import asyncio
import socket
from concurrent.futures import Future
from contextlib import suppress
from threading import Thread
from typing import TYPE_CHECKING, Any, Self, TypeVar
from weakref import finalize

from kafkawire._platforms import HOLDS_PORTS, claim_address
from kafkawire.broker import DEFAULT_HOST, Broker, BrokerConfig, new_loop
from kafkawire.exceptions import KafkaWireError
from kafkawire.testing._broker_calls import BrokerCalls
from kafkawire.testing._fault_calls import FaultCalls
from kafkawire.testing._secured import secured
from kafkawire.testing._several_brokers import UnknownBrokerError, several
from kafkawire.testing._topic_calls import TopicCalls, UnknownSettingError, settings_of
from kafkawire.testing._waits import WaitCalls

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterable, Mapping
    from pathlib import Path
    from types import TracebackType

    from kafkawire.broker import Clock
    from kafkawire.log.storage.files import FileSystem
    from kafkawire.testing._topic_calls import Setting

T = TypeVar("T")


class NotRunningError(KafkaWireError):
    """The call needs a running broker."""


class RunningBroker(FaultCalls, TopicCalls, BrokerCalls, WaitCalls):
    """A broker that runs in a thread of its own.

    >>> with RunningBroker(config={"num.partitions": 2}) as broker:
    ...     broker.fail_next("Produce", "NOT_LEADER_OR_FOLLOWER", times=2)
    ...     broker.clear_faults()
    ...     broker.requests
    []
    """

    def __init__(
        self,
        data_dir: str | Path | None = None,
        *,
        port: int | None = None,
        config: Mapping[str, Setting] | None = None,
        files: FileSystem | None = None,
        clock: Clock | None = None,
        allow_unused_faults: bool = False,
        security: str | None = None,
        users: Mapping[str, str] | None = None,
        acls: str | Iterable[str] | None = None,
        brokers: int = 1,
    ) -> None:
        self._data_dir = data_dir
        self._port = port
        self._files, self._clock = files, clock
        self._bootstrap = ""
        self._is_secured = security is not None
        self._security = secured(self, security, users, acls)
        given = self._security.settings
        self._brokers = several(brokers)
        if self._brokers is not None:
            if port is not None or "listeners" in (config or {}):
                raise UnknownBrokerError(
                    f"brokers={brokers} listen on ports of their own; leave out port and listeners"
                )
            given = self._brokers.settings(given, [claim_port(self) for _ in self._brokers.ids])
        self._config = {"group.initial.rebalance.delay.ms": "0", **given, **settings_of(config or {})}
        for name, close in BrokerConfig(self._config).unknown().items():
            hint = f"; did you mean {close}?" if close else "; docs/broker.md describes the settings"
            raise UnknownSettingError(f"unknown setting {name!r} of the broker{hint}")
        super().__init__(allow_unused_faults=allow_unused_faults)
        self._faults.brokers = self._brokers
        self._thread: Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopping: asyncio.Event | None = None
        self._failure: Exception | None = None

    def start(self) -> None:
        """Start the broker; raises its error if it fails to start."""
        if self._brokers is None and not self._port and (self._is_secured or "listeners" not in self._config):
            self._port = claim_port(self)
        started: Future[None] = Future()
        self._thread = Thread(target=self._run, args=(started,), name="kafkawire broker", daemon=True)
        self._thread.start()
        started.result()

    def stop(self) -> None:
        """Stop the broker cleanly; raises its error if it fails to stop."""
        if self._thread is None:
            return
        if self._loop is not None and self._stopping is not None:
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()
        self._thread = self._loop = self._stopping = None
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def restart(self) -> None:
        """Stop the broker and start it again on the same port."""
        self.stop()
        self.start()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if kind is None:
            self.check_faults()

    @property
    def bootstrap_servers(self) -> str:
        """The value for `bootstrap.servers` of clients; known once the broker has been started."""
        if not self._bootstrap:
            raise NotRunningError("the broker was not started, so it has no address yet")
        return self._bootstrap

    @property
    def client_config(self) -> dict[str, str]:
        """The settings of a client of the first user, in names that kafkawire and librdkafka know.

        >>> with RunningBroker(security="SASL_SSL", users={"ann": "secret"}) as broker:
        ...     broker.client_config["security.protocol"], broker.client_config["sasl.username"]
        ('SASL_SSL', 'ann')
        """
        return self.client_settings("confluent-kafka")

    def client_settings(
        self, library: str = "confluent-kafka", user: str | None = None, *, mechanism: str = "SCRAM-SHA-512"
    ) -> dict[str, Any]:
        """The settings of a client of this broker, in the words of its library.

        The libraries are confluent-kafka, kafkawire, kafka-python, aiokafka and java. The first user is the default.

        >>> with RunningBroker(security="SASL_SSL", users={"ann": "a", "bob": "b"}) as broker:
        ...     settings = broker.client_settings("kafka-python", "bob")
        >>> settings["sasl_plain_username"], settings["sasl_mechanism"]
        ('bob', 'SCRAM-SHA-512')
        """
        found = self._security.client_settings(library, self.bootstrap_servers, user, mechanism)
        if not self._is_secured:
            found = {name: value for name, value in found.items() if not name.startswith("security")}
        return found

    def java_properties(self, user: str | None = None, *, mechanism: str = "SCRAM-SHA-512") -> str:
        """The settings of a Java client as the text of a properties file."""
        settings = self.client_settings("java", user, mechanism=mechanism)
        return "".join(f"{name}={value}\n" for name, value in settings.items()).replace("\\", "\\\\")

    @property
    def connections_made(self) -> int:
        """The number of connections that the broker has accepted since its last start."""
        return self.call(lambda: self.broker.metrics.connections_total)

    def drop_connections(self) -> None:
        """Close every connection at once, as a failing network would."""
        self.call(lambda: self.broker.server.drop_connections())

    def call(self, work: Callable[[], T]) -> T:
        """Run a function on the broker's loop, the only place where its state may be accessed."""
        loop = self._running_loop()
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(work())
            except BaseException as error:
                done.set_exception(error)

        loop.call_soon_threadsafe(run)
        return done.result()

    def run_coroutine(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the broker's loop."""
        try:
            loop = self._running_loop()
        except NotRunningError:
            work.close()
            raise
        return asyncio.run_coroutine_threadsafe(work, loop).result()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            raise NotRunningError("the broker is not running")
        return self._loop

    def _run(self, started: Future[None]) -> None:
        with asyncio.Runner(loop_factory=new_loop) as runner:
            runner.run(self._serve(started))

    async def _serve(self, started: Future[None]) -> None:
        try:
            self._loop = asyncio.get_running_loop()
            self._stopping = asyncio.Event()
            self.broker = Broker(
                self._data_dir,
                port=self._port,
                config=self._config,
                files=self._files,
                clock=self._clock,
                users=self._security.scram_users,
                acls=self._security.acls,
            )
            await self.broker.start()
            self.attach(self.broker)
            self._port, self._bootstrap = self.broker.port, self.broker.bootstrap
            if self._brokers is not None:
                self._bootstrap = self._brokers.attach(self.broker.node)
        except BaseException as error:
            started.set_exception(error)
            return
        started.set_result(None)
        await self._stopping.wait()
        try:
            await self.broker.stop()
        except Exception as error:
            self._failure = error


def claim_port(owner: object) -> int:
    """A free port for a server that may stop and come back, kept for it while `owner` lives.

    The port is bound but nothing listens on it: the server can, and the system gives it to no other process.
    """
    place = socket.socket()
    finalize(owner, place.close)
    claim_address(place)
    place.bind((DEFAULT_HOST, 0))
    port = int(place.getsockname()[1])
    if not HOLDS_PORTS:
        place.close()
    return port
