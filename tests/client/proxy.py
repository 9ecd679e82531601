"""A TCP proxy between client and broker that cuts, delays, holds back and swallows on demand.

The broker advertises its own address, so the proxy rewrites the port in what it hands back; the number
of digits does not matter, because the port is an int32. A proxy that is not advertised only serves the first contact.
"""

from __future__ import annotations

import asyncio
import struct
from typing import TYPE_CHECKING, Self

from tests.client.scripted_broker import stop_listening

if TYPE_CHECKING:
    from collections.abc import Coroutine

_PORT = struct.Struct(">i")


class FaultyProxy:
    """Forwards a port; the faults are attributes that a test sets while it runs."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.is_advertised = True
        self.delay = 0.0
        self.swallows_answers = False
        self.refuses = False
        self.cut_after: int | None = None
        self.cuts = 0
        self._gates: list[asyncio.Event] = []
        self._links: set[asyncio.Task[None]] = set()
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_listening(self._server)
        self.release()
        self.cut()
        for task in self._links:
            task.cancel()
        await asyncio.gather(*self._links, return_exceptions=True)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def cut(self) -> None:
        """End every connection at once."""
        self.cuts += 1
        for writer in list(self._writers):
            writer.transport.abort()

    def hold(self) -> None:
        """Keep back what comes on the connections there are, while those made from now on are quick."""
        for gate in self._gates:
            gate.clear()

    def release(self) -> None:
        """Let through what was held back, even if its sender has left."""
        for gate in self._gates:
            gate.set()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        self._keep(self._link(reader, writer))

    def _keep(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._links.add(task)
        task.add_done_callback(self._links.discard)

    async def _link(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refuses:
            writer.transport.abort()
            return
        try:
            upstream_reader, upstream_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.transport.abort()
            return
        self._writers.add(upstream_writer)
        gate = asyncio.Event()
        gate.set()
        self._gates.append(gate)
        for source, sink, answers in ((reader, upstream_writer, False), (upstream_reader, writer, True)):
            self._keep(self._forward(source, sink, gate, answers))

    async def _forward(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, gate: asyncio.Event, answers: bool
    ) -> None:
        ours, theirs = _PORT.pack(self.port), _PORT.pack(self.target_port)
        try:
            while chunk := await source.read(65536):
                if self.delay:
                    await asyncio.sleep(self.delay)
                if not answers:
                    await gate.wait()
                if answers and self.swallows_answers:
                    continue
                if answers and self.is_advertised:
                    chunk = chunk.replace(theirs, ours)
                if self.cut_after is not None:
                    self.cut_after -= len(chunk)
                    if self.cut_after <= 0:
                        self.cut_after = None
                        self.cut()
                        return
                sink.write(chunk)
                await sink.drain()
        except (ConnectionError, OSError):
            pass
        finally:
            self._writers.discard(sink)
            sink.transport.abort()
