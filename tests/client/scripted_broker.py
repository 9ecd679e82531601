"""A broker that follows a script: what each API answers, and how it misbehaves.

A handler takes (request, version) and returns a response, or one of the values below. APIs without a handler close the
connection, as Kafka does with what it does not know.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from kafkawire.messages import ApiVersionsResponse, Message, MetadataResponse, api
from kafkawire.wire import FrameReader, decode_request, encode_response

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping

    Handlers = Mapping[str, Callable[[Any, int], Any]]

SILENCE = "never answer"
HANG_UP = "close the connection"


async def stop_listening(server: asyncio.Server) -> None:
    """Close a server; asyncio would lose a connection that it has taken and not yet handed over."""
    for listener in server.sockets:
        asyncio.get_running_loop().remove_reader(listener.fileno())
    for _ in range(5):
        await asyncio.sleep(0)
    server.close()


class ScriptedBroker:
    """Listens on a free port while its `async with` lasts; `requests` are what it was asked."""

    def __init__(self, handlers: Handlers | None = None) -> None:
        self.handlers: dict[str, Callable[[Any, int], Any]] = {
            "ApiVersions": self.api_versions,
            "Metadata": self.metadata,
            **(handlers or {}),
        }
        self.ranges: dict[str, tuple[int, int]] = {}
        self.topics: dict[str, int] = {}
        self.without_leader: set[int] = set()
        self.requests: list[tuple[str, int, Message]] = []
        self.clients: set[str | None] = set()
        self.accepted = 0
        self.delay = 0.0
        self.tls: ssl.SSLContext | None = None
        self.correlation_shift = 0
        self._writers: set[asyncio.StreamWriter] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self.tls)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        await stop_listening(self._server)
        for writer in list(self._writers):
            writer.transport.abort()
        await asyncio.sleep(0.01)

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    def names(self) -> list[str]:
        """The names of the APIs that were called, in order."""
        return [name for name, _, _ in self.requests]

    def api_versions(self, request: Any, version: int) -> Message:
        keys = []
        for name in self.handlers:
            first, last = self.ranges.get(name, (api(name).versions.first, api(name).versions.last))
            keys.append(ApiVersionsResponse.ApiVersion(api_key=api(name).key, min_version=first, max_version=last))
        return ApiVersionsResponse(api_keys=keys)

    def metadata(self, request: Any, version: int) -> Message:
        broker = MetadataResponse.MetadataResponseBroker(node_id=0, host="127.0.0.1", port=self.port)
        topics: list[MetadataResponse.MetadataResponseTopic] = []
        for name, count in self.topics.items():
            partitions = [
                MetadataResponse.MetadataResponsePartition(
                    partition_index=index,
                    leader_id=-1 if index in self.without_leader else 0,
                    leader_epoch=0,
                    replica_nodes=[0],
                    isr_nodes=[0],
                )
                for index in range(count)
            ]
            topics.append(
                MetadataResponse.MetadataResponseTopic(
                    name=name, topic_id=UUID(int=1 + len(topics)), partitions=partitions
                )
            )
        topics += [
            MetadataResponse.MetadataResponseTopic(name=wanted.name, error_code=3)
            for wanted in request.topics or ()
            if wanted.name not in self.topics
        ]
        return MetadataResponse(brokers=[broker], controller_id=0, topics=topics, cluster_id="fake")

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.accepted += 1
        self._writers.add(writer)
        frames = FrameReader()
        try:
            while chunk := await reader.read(65536):
                for frame in frames.feed(chunk):
                    if not await self._answer(frame, writer):
                        return
        except ConnectionError:
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    async def _answer(self, frame: bytes, writer: asyncio.StreamWriter) -> bool:
        header, message = decode_request(frame)
        which, version = api(header.request_api_key), header.request_api_version
        self.requests.append((which.name, version, message))
        self.clients.add(header.client_id)
        handler = self.handlers.get(which.name)
        if handler is None:
            return False
        answer = handler(message, version)
        if self.delay:
            await asyncio.sleep(self.delay)
        if answer == HANG_UP:
            return False
        if isinstance(answer, bytes):
            writer.write(answer)
        elif isinstance(answer, Message):
            writer.write(
                encode_response(
                    answer,
                    api_key=which.key,
                    version=version,
                    correlation_id=header.correlation_id + self.correlation_shift,
                )
            )
        return True
