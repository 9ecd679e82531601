"""A page server in a thread of its own, and a client that can also ask wrongly."""

from __future__ import annotations

import asyncio
import json
from http.client import BadStatusLine, HTTPConnection
from threading import Thread
from typing import TYPE_CHECKING, Any, Self

from kafkawire.web import PageServer, Workspace

if TYPE_CHECKING:
    from collections.abc import Mapping

WAIT_SECONDS = 30


class RunningPage:
    """Serves a workspace while the block runs."""

    def __init__(self, workspace: Workspace | None = None, **options: Any) -> None:
        self.workspace = workspace or Workspace()
        self.server = PageServer(self.workspace, **options)
        self._kept: HTTPConnection | None = None
        self._thread = Thread(target=lambda: asyncio.run(self.server.serve()), name="page")

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.server.port}"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._kept is not None:
            self._kept.close()
        self.server.stop()
        self._thread.join(WAIT_SECONDS)
        assert not self._thread.is_alive()

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """A request with exactly these headers, and `Host` if it is not among them."""
        connection = HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_SECONDS)
        try:
            return self._ask(connection, method, path, headers, body)
        finally:
            connection.close()

    def ask_again(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        """The same on the connection of the request before, unless the server closed it since."""
        if self._kept is not None:
            try:
                return self._ask(self._kept, method, path, headers, body)
            except (ConnectionError, BadStatusLine):
                self._kept.close()
        self._kept = HTTPConnection("127.0.0.1", self.server.port, timeout=WAIT_SECONDS)
        return self._ask(self._kept, method, path, headers, body)

    def _ask(
        self, connection: HTTPConnection, method: str, path: str, headers: Mapping[str, str] | None, body: bytes | None
    ) -> tuple[int, dict[str, str], bytes]:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in {"host": self.host, **(headers or {})}.items():
            connection.putheader(name, value)
        if body is not None:
            connection.putheader("content-length", str(len(body)))
        connection.endheaders(body)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()

    @property
    def token(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.server.token}"}

    def get(self, path: str) -> Any:
        """The JSON of a request of the page itself, which must succeed."""
        status, _, body = self.ask("GET", path, self.token)
        assert status == 200, (status, body)
        return json.loads(body)

    def post(self, path: str, body: Any, *, status: int = 200) -> Any:
        """The JSON of a POST of the page itself."""
        headers = {**self.token, "content-type": "application/json"}
        found, _, answer = self.ask("POST", path, headers, json.dumps(body).encode())
        assert found == status, (found, answer)
        return json.loads(answer)

    def events(self, path: str, name: str) -> list[Any]:
        """The items of a list in the events of a stream, which must have its end."""
        lines = [json.loads(line) for line in self.octets(path).splitlines()]
        assert lines[-1].get("end") == "all", lines[-1]
        return [item for line in lines for item in line.get(name, ())]

    def octets(self, path: str) -> bytes:
        status, _, body = self.ask("GET", path, self.token)
        assert status == 200, body
        return body
