"""HTTP/1.1 as far as clients of a registry need it: requests with a JSON body, over connections that are kept.

Rules:
- A head is at most LONGEST_HEAD bytes, a body at most LONGEST_BODY. Both arrive within SECONDS.
- Bodies have a length or are chunked. A request that cannot be read is answered with its error, and the
  connection closes.
- At most MOST_CONNECTIONS are open; further ones are closed at once.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

LONGEST_HEAD: Final = 16 * 1024
LONGEST_BODY: Final = 1024 * 1024
SECONDS: Final = 30.0
MOST_CONNECTIONS: Final = 1000
CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"


class Request(NamedTuple):
    """A request: its method, the decoded parts of its path, its query and its body."""

    method: str
    path: tuple[str, ...]
    query: dict[str, str]
    body: bytes

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() == "true"


class Response(NamedTuple):
    """A response with a JSON body, or with plain text that is JSON already."""

    status: int
    body: Any


class _BadRequestError(Exception):
    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class HttpServer:
    """A listener that answers each request by `serve`."""

    def __init__(self, serve: Callable[[Request], Awaitable[Response]]) -> None:
        self._serve = serve
        self._listening: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def listen(self, host: str, port: int) -> int:
        """Listen; returns the port."""
        self._listening = await asyncio.start_server(self._connected, host or None, port, limit=LONGEST_HEAD)
        return int(self._listening.sockets[0].getsockname()[1])

    async def close(self) -> None:
        """Stop listening and close the connections."""
        if self._listening is not None:
            self._listening.close()
            for writer in list(self._open):
                writer.close()
            await self._listening.wait_closed()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if len(self._open) >= MOST_CONNECTIONS:
            writer.close()
            return
        self._open.add(writer)
        try:
            while await self._exchange(reader, writer):
                pass
        except (asyncio.IncompleteReadError, TimeoutError, ConnectionError):
            pass
        finally:
            self._open.discard(writer)
            writer.close()

    async def _exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Answer one request; returns whether the connection is kept."""
        try:
            async with asyncio.timeout(SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                line, headers = _parse_head(head)
                if headers.get("expect", "").lower() == "100-continue":
                    writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                body = await _read_body(reader, headers)
            request = _request(line, body)
        except asyncio.LimitOverrunError:
            await _send(writer, "GET", Response(431, _error(431, "the head of the request is too long")), keep=False)
            await _linger(reader)
            return False
        except _BadRequestError as error:
            await _send(writer, "GET", Response(error.status, _error(error.status, str(error))), keep=False)
            await _linger(reader)
            return False
        keep = headers.get("connection", "").lower() != "close" and line[2] != "HTTP/1.0"
        await _send(writer, request.method, await self._serve(request), keep=keep)
        return keep


async def _linger(reader: asyncio.StreamReader) -> None:
    """Read what the client still sends, so that the error is not lost by a reset of the connection."""
    with suppress(TimeoutError, ConnectionError):
        async with asyncio.timeout(1):
            for _ in range(64):
                if not await reader.read(LONGEST_HEAD * 16):
                    return


def _parse_head(head: bytes) -> tuple[list[str], dict[str, str]]:
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _BadRequestError(400, "expected a request line of HTTP/1.1")
    headers = {}
    for line in lines[1:-2]:
        name, colon, value = line.partition(":")
        if not colon or not name.strip():
            raise _BadRequestError(400, f"expected a header, found {line[:50]!r}")
        headers[name.strip().lower()] = value.strip()
    return words, headers


async def _read_body(reader: asyncio.StreamReader, headers: dict[str, str]) -> bytes:
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await _read_chunks(reader)
    text = headers.get("content-length", "0")
    if not text.isdecimal():
        raise _BadRequestError(400, f"Content-Length {text[:50]!r} is not a number")
    _check_size(int(text[:20]))
    return await reader.readexactly(int(text))


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while True:
        line = (await reader.readuntil(b"\r\n")).split(b";")[0].strip()
        try:
            size = int(line, 16)
        except ValueError:
            raise _BadRequestError(400, "expected the size of a chunk") from None
        if size < 0:
            raise _BadRequestError(400, "expected the size of a chunk")
        _check_size(len(body) + size)
        if size == 0:
            while (await reader.readuntil(b"\r\n")) != b"\r\n":
                pass
            return bytes(body)
        body += await reader.readexactly(size)
        await reader.readexactly(2)


def _check_size(size: int) -> None:
    if size > LONGEST_BODY:
        raise _BadRequestError(413, f"the body is longer than {LONGEST_BODY} bytes")


def _request(line: list[str], body: bytes) -> Request:
    try:
        parts = urlsplit(line[1])
    except ValueError:
        raise _BadRequestError(400, "expected a path") from None
    path = tuple(unquote(part) for part in parts.path.strip("/").split("/")) if parts.path.strip("/") else ()
    return Request(line[0], path, dict(parse_qsl(parts.query, keep_blank_values=True)), body)


def _error(status: int, message: str) -> dict[str, Any]:
    return {"error_code": status, "message": message}


async def _send(writer: asyncio.StreamWriter, method: str, response: Response, *, keep: bool) -> None:
    text = response.body if isinstance(response.body, bytes) else json.dumps(response.body).encode()
    try:
        reason = HTTPStatus(response.status).phrase
    except ValueError:
        reason = "Unknown"
    head = (
        f"HTTP/1.1 {response.status} {reason}\r\nContent-Type: {CONTENT_TYPE}\r\nContent-Length: {len(text)}\r\n"
        f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    )
    writer.write(head.encode() + (b"" if method == "HEAD" else text))
    await writer.drain()
