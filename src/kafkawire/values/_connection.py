"""HTTP requests to a registry, over connections of Python's standard library.

Rules:
- Several URLs are tried in their order, the one that answered last first. A failed connection, and a status of 5xx,
  lead to the next, and after the last to another round, ROUNDS times.
- A URL whose whole answer does not arrive within the timeout is not tried again, so that rounds do not multiply it.
- An answer larger than MOST_BYTES is refused.
- One request runs at a time; threads share the connection. A fork and a pickle begin without one.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import ssl
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from socket import SHUT_RDWR
from threading import Lock, Timer
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote, urlsplit

from kafkawire.values.errors import RegistryError, UnknownSchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from socket import socket

ROUNDS: Final = 3
MOST_BYTES: Final = 32 * 1024 * 1024
_PAUSE: Final = 0.2
_CONTENT_TYPE: Final = "application/vnd.schemaregistry.v1+json"
_FAILED: Final = 500
_TOO_MANY: Final = 429


@dataclass(frozen=True)
class Access:
    """The URLs of a registry, and how to log in."""

    urls: tuple[str, ...]
    user: str | None = None
    password: str | None = None
    token: str | None = None
    cafile: str | None = None
    certfile: str | None = None
    keyfile: str | None = None
    key_password: str | None = None
    verify: bool = True
    timeout: float = 30.0

    def context(self) -> ssl.SSLContext:
        """The TLS settings."""
        try:
            made = ssl.create_default_context(cafile=self.cafile)
            if self.certfile:
                made.load_cert_chain(self.certfile, self.keyfile, self.key_password or "")
        except OSError as error:
            files = ", ".join(filter(None, (self.cafile, self.certfile, self.keyfile)))
            raise RegistryError(
                f"the certificates of the registry's client ({files}): {error.strerror or error}"
            ) from error
        if not self.verify:
            made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
        return made

    def authorization(self, url: str) -> dict[str, str]:
        """The header that logs in: by a token, a user, or the user that the URL contains."""
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token}"}
        parts = urlsplit(url)
        user, password = self.user, self.password
        if user is None and parts.username is not None:
            user, password = unquote(parts.username), unquote(parts.password or "")
        if user is None:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(f"{user}:{password or ''}".encode()).decode()}


class Connection:
    """Sends requests and reads JSON."""

    _open: tuple[int, str, http.client.HTTPConnection] | None = None

    def __init__(self, access: Access) -> None:
        self._access = access
        self._reset()

    def _reset(self) -> None:
        self._lock = Lock()
        self._first = 0
        self._open = None

    def __getstate__(self) -> Access:
        return self._access

    def __setstate__(self, access: Access) -> None:
        self._access = access
        self._reset()

    def __del__(self) -> None:
        self._drop()  # a decoder may be the only one that knows its registry

    def close(self) -> None:
        with self._lock:
            self._drop()

    def request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        """The JSON of a response; an error of the registry raises."""
        with self._lock:
            failures: list[str] = []
            numbers = [(self._first + step) % len(self._access.urls) for step in range(len(self._access.urls))]
            for attempt in range(ROUNDS):
                if attempt and numbers:
                    time.sleep(_PAUSE * 2**attempt)
                for number in tuple(numbers):
                    url = self._access.urls[number]
                    try:
                        status, data = self._send(url, method, path, body)
                    except (OSError, http.client.HTTPException) as error:
                        self._drop()
                        failures.append(f"{_shown(url)}: {str(error) or type(error).__name__}")
                        if isinstance(error, TimeoutError):
                            numbers.remove(number)
                        if isinstance(error, ssl.SSLCertVerificationError):
                            break
                        continue
                    if status < _FAILED and status != _TOO_MANY:
                        self._first = number
                        return _result(status, data, f"{method} {_shown(url)}{path}")
                    failures.append(f"{_shown(url)}: HTTP {status} {_message(data)}".rstrip())
        raise RegistryError(f"the Schema Registry does not answer: {'; '.join(dict.fromkeys(failures))}")

    def _send(self, url: str, method: str, path: str, body: dict[str, Any] | None) -> tuple[int, bytes]:
        parts = urlsplit(url)
        data = None if body is None else json.dumps(body).encode()
        headers = {"Accept": f"{_CONTENT_TYPE}, application/json", **self._access.authorization(url)}
        if data is not None:
            headers["Content-Type"] = _CONTENT_TYPE
        target = parts.path.rstrip("/") + path
        is_reused = self._open is not None and self._open[:2] == (os.getpid(), url)
        try:
            status, found = self._exchange(url, method, target, data, headers)
        except ConnectionError:
            if not is_reused:
                raise
            self._drop()  # the server closed the idle connection
            status, found = self._exchange(url, method, target, data, headers)
        if len(found) > MOST_BYTES:
            self._drop()
            raise RegistryError(f"{_shown(url)}: the answer is larger than {MOST_BYTES} bytes")
        return status, found

    def _exchange(
        self, url: str, method: str, target: str, data: bytes | None, headers: dict[str, str]
    ) -> tuple[int, bytes]:
        connection = self._connection(url)
        if connection.sock is None:
            connection.connect()
        with _ended_after(self._access.timeout, connection.sock):
            connection.request(method, target, data, headers)
            response = connection.getresponse()
            return response.status, response.read(MOST_BYTES + 1)

    def _connection(self, url: str) -> http.client.HTTPConnection:
        place = os.getpid(), url
        if self._open is not None and self._open[:2] == place:
            return self._open[2]
        self._drop()
        parts = urlsplit(url)
        access = self._access
        assert parts.hostname is not None
        made = (
            http.client.HTTPSConnection(parts.hostname, parts.port, timeout=access.timeout, context=access.context())
            if parts.scheme == "https"
            else http.client.HTTPConnection(parts.hostname, parts.port, timeout=access.timeout)
        )
        self._open = (*place, made)
        return made

    def _drop(self) -> None:
        opened, self._open = self._open, None
        if opened is not None and opened[0] == os.getpid():
            opened[2].close()


@contextmanager
def _ended_after(seconds: float, connected: socket) -> Iterator[None]:
    """Shut the socket down after a time: its own timeout begins again with each byte that arrives."""
    ended: list[bool] = []

    def end() -> None:
        ended.append(True)
        with suppress(OSError):
            connected.shutdown(SHUT_RDWR)

    timer = Timer(seconds, end)
    timer.daemon = True
    timer.start()
    late = f"no whole answer within {seconds:g} s"
    try:
        yield
    except (OSError, http.client.HTTPException) as error:
        raise (TimeoutError(late) if ended else error) from error
    finally:
        timer.cancel()
    if ended:  # an answer without a length ends when the connection does
        raise TimeoutError(late)


def _shown(url: str) -> str:
    """A URL without its password."""
    parts = urlsplit(url)
    return url if parts.username is None else url.replace(f"{parts.netloc}", parts.netloc.rpartition("@")[2])


def _message(data: bytes) -> str:
    try:
        return str(json.loads(data)["message"])
    except (ValueError, TypeError, KeyError, RecursionError):
        return data[:200].decode(errors="replace").strip()


def _result(status: int, data: bytes, what: str) -> Any:
    if status == 401 or status == 403:
        raise RegistryError(f"{what}: HTTP {status}; check the user and the password, or the token", status=status)
    if status >= 400:
        try:
            code = int(json.loads(data)["error_code"])
        except (ValueError, TypeError, KeyError, RecursionError):
            code = 0
        kind = UnknownSchemaError if status == 404 and code else RegistryError
        raise kind(f"{what}: {_message(data) or f'HTTP {status}'}", status=status, code=code)
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        shown = data[:50].decode(errors="replace")
        raise RegistryError(
            f"{what}: expected JSON, found {shown!r}; is it a Schema Registry?", status=status
        ) from None
