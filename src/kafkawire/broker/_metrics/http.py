"""The metrics page over HTTP: GET /metrics, and nothing else.

Rules:
- One request per connection. Anything but a short GET is answered with 404 or 400.
- The page is built on the broker's loop, in turns with requests. The numbers of one partition belong together.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from kafkawire.broker._coordinator import Gauge
from kafkawire.broker._dispatch.turns import TurnBudget
from kafkawire.broker._metrics.page import GaugeLines, page
from kafkawire.broker._net.listeners import CannotListenError, Endpoint

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.broker._broker import Broker

_LONGEST: Final = 8192
_SECONDS: Final = 10.0


class MetricsPage:
    """A listener for Prometheus."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker
        self._listening: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> int:
        """Serve the page; returns the port."""
        try:
            self._listening = await asyncio.start_server(self._answer, host or None, port, limit=_LONGEST)
        except OSError as error:
            raise CannotListenError(Endpoint(host, port), error) from error
        return int(self._listening.sockets[0].getsockname()[1])

    async def close(self) -> None:
        if self._listening is not None:
            self._listening.close()
            await self._listening.wait_closed()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            status, body = await self._page(head.split(b"\r\n", 1)[0])
            writer.write(
                f"HTTP/1.1 {status}\r\nContent-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                + body
            )
            await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, TimeoutError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _page(self, line: bytes) -> tuple[str, bytes]:
        words = line.split()
        if len(words) != 3 or words[0] != b"GET":
            return "400 Bad Request", b"expected GET /metrics\n"
        if words[1] != b"/metrics":
            return "404 Not Found", b"the page is /metrics\n"
        turn = TurnBudget(self._broker.dispatcher.turns)
        lines = GaugeLines()
        for gauge in gauges(self._broker):
            lines.add(gauge)
            await turn.yield_if_due()
        text = page(self._broker.metrics, lines)
        return "200 OK", await asyncio.get_running_loop().run_in_executor(None, text.encode)


def gauges(broker: Broker) -> Iterator[Gauge]:
    """The gauges of the state: logs, sessions, memory, and those of coordinators."""
    node = broker.node
    yield Gauge("kafkawire_topics", {}, len(node.topics))
    yield Gauge("kafkawire_fetch_sessions", {}, len(node.sessions))
    yield Gauge("kafkawire_request_memory_bytes", {}, broker.server.held)
    yield Gauge("kafkawire_requests_waiting_for_memory", {}, broker.server.budget.waiting)
    yield Gauge("kafkawire_accepting_connections", {}, int(broker.server.acceptor.is_accepting))
    yield Gauge("kafkawire_leader_epoch", {}, node.leader_epoch)
    watchdog = broker.dispatcher.watchdog
    yield Gauge("kafkawire_loop_longest_step_seconds", {}, round(watchdog.longest, 6))
    for api, count in list(watchdog.blocked.items()):
        yield Gauge("kafkawire_loop_blocked_steps", {"api": api}, count)
    for topic in list(node.topics):
        for index in range(topic.partitions):
            log = node.logs.partitions.get((topic.name, index))
            if log is None:
                continue  # deleted while the page was built
            labels = {"topic": topic.name, "partition": str(index)}
            yield Gauge("kafkawire_log_bytes", labels, log.segments.size)
            yield Gauge("kafkawire_log_start_offset", labels, log.log_start_offset)
            yield Gauge("kafkawire_log_end_offset", labels, log.end_offset)
    for coordinator in node.coordinators:
        yield from coordinator.gauges()
    yield from node.telemetry.gauges()
    quotas = broker.node.quotas
    for key, count in quotas.throttled.items():
        yield Gauge("kafkawire_throttled_requests", {"quota": key}, count)
        yield Gauge("kafkawire_throttle_seconds", {"quota": key}, quotas.throttle_ms[key] / 1000)
