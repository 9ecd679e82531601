"""Telemetry of clients (KIP-714): subscriptions are answered, pushes are taken.

Rules:
- It is on while there is a subscription (`kafkawire client-metrics`, the resource CLIENT_METRICS). Until then the
  broker does not list the APIs, and clients send nothing.
- A client that learned of the APIs before the last subscription was removed is answered that nothing is wanted.
- Matching a client and reading a push run in a thread, because expressions and payloads are hostile.
- An unpacked push is at most telemetry.max.bytes long, like a packed one. A longer one is TELEMETRY_TOO_LARGE, and one
  that cannot be read INVALID_RECORD, which ends the telemetry of its client.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Final

from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._ops.event_log import log_event
from kafkawire.broker._telemetry.collected import CollectedMetrics
from kafkawire.broker._telemetry.instances import Instance, Instances
from kafkawire.broker._telemetry.otlp import TelemetryFormatError, read_points
from kafkawire.broker._telemetry.subscriptions import ClientAttributes, wanted_of
from kafkawire.messages.errors import (
    ApiError,
    ErrorCode,
    InvalidRecordError,
    TelemetryTooLargeError,
    UnsupportedCompressionTypeError,
)
from kafkawire.records import (
    Codec,
    CorruptRecordError,
    DecompressedSizeError,
    MissingCodecError,
    compress,
    decompress,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

    from kafkawire.broker._clock import Clock
    from kafkawire.broker._config.client_metrics import ClientMetricsConfigs
    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._security.peer import Peer
    from kafkawire.broker._telemetry.otlp import Buffer, Point
    from kafkawire.broker._telemetry.subscriptions import Wanted

CODECS: Final = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)
EXPIRY_MS: Final = 30_000


class Telemetry:
    """The instances of clients, and what they have pushed."""

    def __init__(self, configs: ClientMetricsConfigs, clock: Clock, max_bytes: int) -> None:
        self._configs = configs
        self._clock = clock
        self.max_bytes = max_bytes
        self.instances = Instances()
        self.collected = CollectedMetrics()
        self.errors: dict[str, int] = {}
        """How many requests were refused, by the name of the error."""
        self._looked = 0

    @property
    def is_on(self) -> bool:
        """Whether clients learn that they may push metrics."""
        return bool(self._configs.own)

    async def ask(self, instance_id: UUID, context: RequestContext) -> Instance:
        """The instance that asks what it shall push; the zero id asks for a new one."""
        instance = await self._instance(instance_id if instance_id.int else self.instances.new_id(), context)
        try:
            instance.ask(self._clock.elapsed())
        except ApiError as error:
            self._count(error)
            raise
        return instance

    async def push(
        self,
        instance_id: UUID,
        subscription: int,
        codec: int,
        data: Buffer,
        context: RequestContext,
        *,
        is_last: bool,
    ) -> None:
        """Take the metrics of an instance."""
        instance = await self._instance(instance_id, context)
        try:
            instance.push(self._clock.elapsed(), subscription, is_last=is_last)
            if codec not in (Codec.NONE, *codecs()):
                raise UnsupportedCompressionTypeError(f"compression type {codec}, expected 0 or one of {codecs()}")
            if len(data) > self.max_bytes:
                raise TelemetryTooLargeError(f"a push of {len(data)} bytes, telemetry.max.bytes is {self.max_bytes}")
            if len(data):
                loop = asyncio.get_running_loop()
                points = await loop.run_in_executor(None, unpack, bytes(data), codec, self.max_bytes)
                if self.instances.has(instance):
                    self.collected.add(instance, points)
        except ApiError as error:
            self._count(error)
            instance.last_error = error.code
            if error.code == ErrorCode.INVALID_RECORD:
                client = context.client_id or ""
                log_event("client metrics refused", level=logging.WARNING, client=client, reason=error.message)
            raise
        instance.last_error = 0

    def disconnected(self, peer: Peer) -> None:
        """Forget the instances of a connection that has ended."""
        if len(self.instances):
            self.collected.forget(self.instances.disconnected(peer))

    def gauges(self) -> Iterator[Gauge]:
        """The numbers of clients for the metrics page, and numbers about them."""
        if not self.collected.pushes and not self.errors:
            return
        yield Gauge("kafkawire_telemetry_clients", {}, len(self.instances))
        yield Gauge("kafkawire_telemetry_series", {}, len(self.collected))
        yield Gauge("kafkawire_telemetry_pushes_total", {}, self.collected.pushes)
        yield Gauge("kafkawire_telemetry_dropped_values_total", {}, self.collected.dropped)
        for name, count in self.errors.items():
            yield Gauge("kafkawire_telemetry_refused_total", {"error": name}, count)
        yield from self.collected.gauges()

    async def _instance(self, instance_id: UUID, context: RequestContext) -> Instance:
        now, version = self._clock.elapsed(), self._configs.version
        if now - self._looked >= EXPIRY_MS:
            self._looked = now
            self.collected.forget(self.instances.expired(now))
        found = self.instances.find(instance_id, context.peer)
        if found is None or found.version != version:
            wanted = await self._wanted(instance_id, context)
            old, found = found, Instance(instance_id, wanted, version, context.peer, context.client_id or "")
            if old is not None:
                found.is_over = old.is_over
            self.collected.forget(self.instances.add(found))
        return found

    async def _wanted(self, instance_id: UUID, context: RequestContext) -> Wanted:
        software = context.peer.software
        client = ClientAttributes(str(instance_id), context.client_id or "", *software, *map(str, context.address))
        return await asyncio.get_running_loop().run_in_executor(
            None, wanted_of, dict(self._configs.own), client, instance_id
        )

    def _count(self, error: ApiError) -> None:
        name = ErrorCode(error.code).name
        self.errors[name] = self.errors.get(name, 0) + 1


@cache
def codecs() -> list[int]:
    """The codecs of pushes that are installed, the best first."""
    found = []
    for codec in CODECS:
        with suppress(MissingCodecError):
            compress(codec, b"")
            found.append(int(codec))
    return found


def unpack(data: bytes, codec: int, limit: int) -> list[Point]:
    """The numbers of a push; any thread may call it."""
    try:
        return read_points(decompress(codec, data, limit=limit) if codec else data)
    except DecompressedSizeError as error:
        raise TelemetryTooLargeError(f"a push that unpacks to more than {limit} bytes") from error
    except (CorruptRecordError, TelemetryFormatError) as error:
        raise InvalidRecordError(f"metrics cannot be read: {error}") from error
