"""The running server: sockets, certificate, token, the browser, and the end.

Rules:
- Without a host it listens on 127.0.0.1 and, on the same port, on ::1 if the system has it.
- Another host needs a certificate, or `insecure`, because token and data would cross the network in the clear.
- The token is in the fragment of the address, which browsers never send. The browser is started with a private file
  that redirects, because other users of the machine see command lines.
- With `until_closed` the server ends when the last tab was closed: a tab asks for a stream that lives as long as it.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import secrets
import socket
import tempfile
from html import escape
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import uvicorn
from starlette.routing import Route

from kafkawire._platforms import claim_address
from kafkawire.exceptions import KafkaWireError
from kafkawire.web._server.answers import answer, stream
from kafkawire.web._server.app import application
from kafkawire.web._server.guard import Guard
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import body_of, field_in
from kafkawire.web._server.uploads import LARGEST_UPLOAD
from kafkawire.web._server.uploads import PATH as UPLOADS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from starlette.requests import Request
    from starlette.responses import Response

    from kafkawire.web._server.workspace import Workspace

LOOPBACK: Final = ("127.0.0.1", "::1")
BEAT_SECONDS: Final = 10.0
LOOK_SECONDS: Final = 0.5
LEFT_SECONDS: Final = 3.0


class PageServer:
    """Serves a workspace until it is stopped."""

    def __init__(
        self,
        workspace: Workspace,
        *,
        host: str | None = None,
        port: int = 0,
        certificate: tuple[Path, Path] | None = None,
        insecure: bool = False,
        until_closed: bool = False,
    ) -> None:
        if host is not None and not _is_loopback(host) and certificate is None and not insecure:
            words = f"--host {host}: the page would be served without encryption"
            raise KafkaWireError(f"{words}; give --certificate and --key, or --insecure if the network may read it")
        self.workspace = workspace
        self.token = secrets.token_urlsafe(32)
        self._certificate, self._until_closed = certificate, until_closed
        self._sockets = _listen(host, port)
        self.port: int = self._sockets[0].getsockname()[1]
        self._host = host or LOOPBACK[0]
        app = application(workspace)
        app.routes.append(Route("/api/tab", self._tab))
        app.routes.append(Route("/api/ticket", self._ticket, methods=["POST"]))
        app.state.server = self
        self.guard = Guard(
            app, token=self.token, hosts=_hosts(host, self.port), scheme=self._scheme, largest={UPLOADS: LARGEST_UPLOAD}
        )
        self.wants_browser = True
        self._tabs = 0
        self._leaving: asyncio.TimerHandle | None = None
        self._redirect: Path | None = None
        config: dict[str, Any] = {}
        if certificate is not None:
            config = {"ssl_certfile": str(certificate[0]), "ssl_keyfile": str(certificate[1])}
        self._server = uvicorn.Server(
            uvicorn.Config(
                self.guard,
                log_config=None,
                log_level="error",  # a local process could print advice to the user's terminal by odd requests
                access_log=False,
                lifespan="off",
                http="h11",
                ws="none",
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=1,
                **config,
            )
        )

    @property
    def _scheme(self) -> str:
        return "https" if self._certificate is not None else "http"

    @property
    def address(self) -> str:
        """The address for the browser, with the token in its fragment."""
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"{self._scheme}://{host}:{self.port}/#token={self.token}{self.workspace.start}"

    async def serve(self) -> None:
        """Serve until `stop`, without signal handlers of its own."""
        try:
            self._server.config.load()
            self._server.lifespan = self._server.config.lifespan_class(self._server.config)
            await self._server.startup(sockets=self._sockets)
            for source in self.workspace.sources.values():
                if hasattr(source, "listening"):
                    source.listening()
            await self._server.main_loop()
            await self._server.shutdown(sockets=self._sockets)
        finally:
            self.close()

    @property
    def is_ending(self) -> bool:
        """Whether streams should end."""
        return self._server.should_exit

    def stop(self) -> None:
        """Let `serve` return; open streams end."""
        self._server.should_exit = True

    def close(self) -> None:
        """Close the sockets, and remove what the server wrote."""
        for each in self._sockets:
            each.close()
        if self._redirect is not None:
            self._redirect.unlink(missing_ok=True)
            with contextlib.suppress(OSError):
                self._redirect.parent.rmdir()
        self.workspace.close()

    def open_browser(self) -> bool:
        """Open the page in the browser of the user; returns whether one was started."""
        import webbrowser

        folder = Path(tempfile.mkdtemp(prefix="kafkawire-open-"))
        self._redirect = folder / "open.html"
        number = os.open(self._redirect, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        target = escape(self.address, quote=True)
        with os.fdopen(number, "w", encoding="utf-8") as file:
            file.write(f'<!doctype html><meta http-equiv="refresh" content="0;url={target}"><title>kafkawire</title>')
        with contextlib.suppress(Exception):  # a broken browser is not our failure; the address is printed
            return webbrowser.open(self._redirect.as_uri())
        return False

    def _tab(self, request: Request) -> Response:
        """A stream that lives as long as a tab."""
        return stream(self._beat(request))

    async def _ticket(self, request: Request) -> Response:
        """A link to an export, valid once; other paths get none."""
        path = field_in(await body_of(request), "path", str, "")
        if not self.workspace.options.export:
            raise Problem("exports are turned off (--no-export)", status=403)
        if not path.startswith("/api/") or not path.partition("?")[0].endswith("/export"):
            raise Problem("only exports are downloaded by a link", status=400)
        return answer({"href": self.guard.ticket(path)})

    async def _beat(self, request: Request) -> AsyncGenerator[dict[str, Any], None]:
        self._tabs += 1
        if self._leaving is not None:
            self._leaving.cancel()
            self._leaving = None
        try:
            while not await self._is_over(request):
                yield {"beat": self._tabs}
                for _ in range(int(BEAT_SECONDS / LOOK_SECONDS)):
                    if await self._is_over(request):
                        break
                    await asyncio.sleep(LOOK_SECONDS)
        finally:
            self._tabs -= 1
            if self._until_closed and not self._tabs:
                self._leaving = asyncio.get_running_loop().call_later(LEFT_SECONDS, self.stop)

    async def _is_over(self, request: Request) -> bool:
        return self._server.should_exit or await request.is_disconnected()


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _listen(host: str | None, port: int) -> list[socket.socket]:
    try:
        first = _socket(host or LOOPBACK[0], port)
    except OSError as error:
        words = f"cannot listen on {host or LOOPBACK[0]}:{port}: {error.strerror or error}"
        raise KafkaWireError(f"{words}; --port 0 chooses a free port") from error
    if host is not None:
        return [first]
    try:
        return [first, _socket(LOOPBACK[1], first.getsockname()[1])]
    except OSError:  # no IPv6 here, or another process has the port there
        return [first]


def _socket(host: str, port: int) -> socket.socket:
    place = socket.getaddrinfo(host, port, 0, socket.SOCK_STREAM, socket.IPPROTO_TCP, socket.AI_PASSIVE)[0]
    made = socket.socket(*place[:3])  # with the protocol, because asyncio sets TCP_NODELAY only where it is named
    try:
        claim_address(made)
        if place[0] == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(place[4])
        made.listen(128)
        made.setblocking(False)
    except BaseException:
        made.close()
        raise
    return made


def _hosts(host: str | None, port: int) -> set[str]:
    """The values of the Host header that name this server."""
    names = {"localhost", "127.0.0.1", "[::1]"}
    if host is not None and not _is_loopback(host):
        names = {f"[{host}]" if ":" in host else host, socket.gethostname().lower()}
        if host in ("0.0.0.0", "::"):
            names |= {"localhost", "127.0.0.1", "[::1]"}
    return {f"{name}:{port}" for name in names}
