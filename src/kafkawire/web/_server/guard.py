"""The guard: every request passes it first.

Rules:
- `Host` must be one of the names of this server. Otherwise any web page could rebind its own name to this address and
  read everything. `Origin`, if there is one, must be ours, because only our page has a reason to ask.
- A path below /api needs the token of this start. There is no cookie, so other sites have nothing to forge. A download
  needs a ticket instead, which is valid once and for TICKET_SECONDS.
- A body is JSON or raw bytes, never a form, never compressed, and at most as long as the route allows. A longer one is
  refused while it arrives.
- Every answer forbids everything that the page does not need: inline script and style, other hosts, frames, forms.
"""

from __future__ import annotations

import hmac
import json
import secrets
import time
from typing import TYPE_CHECKING, Any, Final

from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
TICKET_SECONDS: Final = 30
LARGEST_BODY: Final = 64 << 20
_TICKETS: Final = "/api/tickets/"
_BODIES: Final = (b"application/json", b"application/octet-stream")
_HEADERS: Final = [(name.encode(), value.encode()) for name, value in HEADERS.items()]


class Guard:
    """Passes the requests that may pass to the application."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        hosts: Collection[str],
        scheme: str = "http",
        largest: Mapping[str, int] | None = None,
    ) -> None:
        self._app, self._token = app, token
        self._hosts = {host.lower() for host in hosts}
        self._origins = {f"{scheme}://{host}" for host in self._hosts}
        self._largest = dict(largest or {})
        self.clock = time.monotonic
        self._tickets: dict[str, tuple[float, str]] = {}

    def ticket(self, path: str) -> str:
        """A path that serves the same as `path` below /api, once and without the token."""
        now = self.clock()
        self._tickets = {name: each for name, each in self._tickets.items() if each[0] > now}
        name = secrets.token_urlsafe(24)
        self._tickets[name] = (now + TICKET_SECONDS, path)
        return _TICKETS + name

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            return
        guarded = _Answer(send)
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name, []).append(value)
        refusal = self._refusal(scope, headers)
        if refusal is not None:
            await _refuse(guarded, *refusal)
            return
        body = _Body(receive, self._largest.get(scope["path"].rstrip("/"), LARGEST_BODY))
        await self._app(scope, body.receive, guarded.send)

    def _refusal(self, scope: Scope, headers: Mapping[bytes, list[bytes]]) -> tuple[int, str] | None:
        hosts = headers.get(b"host", [])
        if len(hosts) != 1 or hosts[0].decode("latin-1").lower() not in self._hosts:
            return 421, "this server does not serve that host; use the address that the command printed"
        for origin in headers.get(b"origin", ()):
            if origin.decode("latin-1").lower() not in self._origins:
                return 403, "another site asked for this"
        if scope["method"] not in ("GET", "HEAD", "POST"):
            return 405, "only GET and POST are served"
        path = scope["path"]
        if path.startswith(_TICKETS):
            return self._redeem(scope, path.removeprefix(_TICKETS))
        if not (path == "/api" or path.startswith("/api/")):
            return None
        if any(each not in (b"same-origin", b"none") for each in headers.get(b"sec-fetch-site", ())):
            return 403, "another site asked for this"
        given = headers.get(b"authorization", [])
        if len(given) != 1 or not hmac.compare_digest(given[0], b"Bearer " + self._token.encode()):
            return 401, "the token is missing or old; open the address that the command printed"
        return _body_refusal(scope, headers, self._largest.get(path.rstrip("/"), LARGEST_BODY))

    def _redeem(self, scope: Scope, name: str) -> tuple[int, str] | None:
        until, path = self._tickets.pop(name, (0.0, ""))
        if until < self.clock() or scope["method"] != "GET":
            return 401, "this link was used, or is too old; start the download again"
        scope["path"], _, query = path.partition("?")
        scope["raw_path"], scope["query_string"] = scope["path"].encode(), query.encode()
        return None


def _body_refusal(scope: Scope, headers: Mapping[bytes, list[bytes]], largest: int) -> tuple[int, str] | None:
    if scope["method"] != "POST":
        return None
    if b"content-encoding" in headers:
        return 415, "a compressed body is not accepted"
    kind = headers.get(b"content-type", [b""])[0].partition(b";")[0].strip().lower()
    if kind not in _BODIES:
        return 415, "the body must be JSON or raw bytes"
    length = headers.get(b"content-length", [b"0"])[0]
    if not length.isdigit() or len(length) > len(str(largest)) or int(length) > largest:
        return 413, f"the body has more than {largest} bytes"
    return None


class _Body:
    """Counts the bytes of a body while they arrive."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self._receive, self._largest = receive, largest
        self._seen = 0

    async def receive(self) -> Message:
        message = await self._receive()
        self._seen += len(message.get("body", b""))
        if self._seen > self._largest:
            raise Problem(f"the body has more than {self._largest} bytes", status=413)
        return message


class _Answer:
    """Adds the headers to the answer."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            own = [pair for pair in message.get("headers", ()) if pair[0].decode("latin-1").lower() not in HEADERS]
            message = {**message, "headers": [*own, *_HEADERS]}
        await self._send(message)


async def _refuse(answer: _Answer, status: int, text: str) -> None:
    body = json.dumps({"error": text}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await answer.send({"type": "http.response.start", "status": status, "headers": headers})
    await answer.send({"type": "http.response.body", "body": body})
