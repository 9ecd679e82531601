"""A broker as a source: an admin client on the loop of the server, and a reader for messages in threads.

Rules:
- Options of the client, credentials among them, stay here. They are never part of an answer.
- The last MOST_SENT exchanges of the page itself are kept, and at most MOST_BYTES of their frames, without credentials.
- Lists are names first. Descriptions are asked for the rows in sight, and kept for a few seconds.
- Modules are imported in a thread before they are needed: those of lists while the browser starts, those of messages
  when a list was answered.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections import deque
from importlib import import_module
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client import Admin
from kafkawire.exceptions import KafkaWireError
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.client import BulkReader, TraceEvent
    from kafkawire.inspect import Asked

MOST_SENT: Final = 500
MOST_BYTES: Final = 64 << 20
LISTS: Final = tuple(f"kafkawire.web._broker.{name}" for name in ("listing", "message_routes", "writes"))
MESSAGES: Final = ("kafkawire.web._broker.messages", "pyarrow.compute")
_TIMEOUT_MS: Final = 8_000


class BrokerSource:
    """A cluster that the page looks at."""

    letter: Final = "b"

    def __init__(self, config: Mapping[str, Any], *, title: str = "") -> None:
        self._config = {
            "client_id": "kafkawire-ui",
            "default_api_timeout_ms": _TIMEOUT_MS,
            **config,
            "trace": self._note,
        }
        servers = config.get("bootstrap_servers", "")
        self.title = title or (servers if isinstance(servers, str) else ",".join(servers))
        self._admin: Admin | None = None
        self._starting = asyncio.Lock()
        self._reader: BulkReader | None = None
        self._reading = Lock()
        self._sent: deque[dict[str, Any]] = deque()
        self._waiting: dict[tuple[int, int | None], tuple[int | None, bytes]] = {}
        self._number = self._bytes = 0
        self._noting = Lock()
        self._kept: dict[Any, tuple[float, Any]] = {}

    def listening(self) -> None:
        """The server listens, and its first requests are about to come."""
        self.prepare(LISTS)

    def prepare(self, modules: Iterable[str]) -> None:
        """Import modules in a thread."""
        names = [each for each in modules if each not in sys.modules]
        if names:
            Thread(target=lambda: [import_module(each) for each in names], name="imports", daemon=True).start()

    def about(self) -> dict[str, Any]:
        return {"kind": "broker", "title": self.title, "first": ["topics"], "text": "a broker"}

    @property
    def config(self) -> dict[str, Any]:
        """The options of clients of this cluster."""
        return dict(self._config)

    async def admin(self) -> Admin:
        """The admin client, connected."""
        async with self._starting:
            if self._admin is None:
                made = Admin(self._config)
                try:
                    await made.start()
                except BaseException:
                    await made.stop()
                    raise
                self._admin = made
        return self._admin

    def reader(self) -> BulkReader:
        """The reader of messages, for threads."""
        from kafkawire.client import BulkReader

        with self._reading:
            if self._reader is None:
                self._reader = BulkReader(config=self._config)
            return self._reader

    def kept(self, key: Any, seconds: float) -> Any:
        """A value that was kept not longer ago; None otherwise."""
        found = self._kept.get(key)
        return found[1] if found is not None and time.monotonic() - found[0] < seconds else None

    def keep(self, key: Any, value: Any) -> Any:
        """Keep a value for a while."""
        if len(self._kept) > 20_000:
            self._kept.clear()
        self._kept[key] = (time.monotonic(), value)
        return value

    def close(self) -> None:
        """Close the clients."""
        if self._reader is not None:
            self._reader.close()
        admin, self._admin = self._admin, None
        if admin is not None:
            try:
                asyncio.get_running_loop().create_task(admin.stop())
            except RuntimeError:  # the loop ended, and its sockets with it
                return

    def sent(self) -> list[dict[str, Any]]:
        """The exchanges of the page itself, the latest first."""
        with self._noting:
            rows = list(self._sent)[::-1]
        return [{name: value for name, value in row.items() if name != "frames"} for row in rows]

    def open_bytes(self, item: str, _: Asked) -> Document:
        """The frames of an exchange of the page: `sent/7`."""
        from kafkawire.inspect import Asked, explain_request, explain_response

        number = item.removeprefix("sent/")
        with self._noting:
            row = next((each for each in self._sent if str(each["number"]) == number), None)
        if row is None or not any(row["frames"]):
            kept = f"the last {MOST_SENT} exchanges are, and {MOST_BYTES >> 20} MiB of frames without credentials"
            raise Problem(f"{item} is not kept: {kept}", status=404)
        asked, answered = row["frames"]
        frames = [explain_request(asked)] if asked else []
        if answered:
            frames.append(explain_response(answered, row["api"], row["version"]))
        return Document(frames, Asked(), origin=Origin(f"sent by this page, {row['api']}"))

    def _note(self, event: TraceEvent) -> None:
        key, frame = (event.connection, event.correlation_id), event.frame or b""
        with self._noting:
            if event.kind == "request":
                if len(self._waiting) > MOST_SENT:
                    self._waiting.clear()
                self._waiting[key] = event.size, frame
            elif event.kind == "response":
                self._number += 1
                size, asked = self._waiting.pop(key, (None, b""))
                self._keep_exchange(event, size, (asked, frame))

    def _keep_exchange(self, event: TraceEvent, size: int | None, frames: tuple[bytes, bytes]) -> None:
        self._sent.append(
            {
                "number": self._number,
                "time": str(int(event.time * 1e6)),
                "place": event.place,
                "api": event.api,
                "version": event.version,
                "correlation": event.correlation_id,
                "request": size,
                "response": event.size,
                "wait": None if event.seconds is None else round(event.seconds * 1e6),
                "error": event.error,
                "frames": frames,
            }
        )
        self._bytes += sum(map(len, frames))
        while len(self._sent) > MOST_SENT or (self._bytes > MOST_BYTES and len(self._sent) > 1):
            self._bytes -= sum(map(len, self._sent.popleft()["frames"]))


async def connected(source: BrokerSource) -> Admin:
    """The admin client; a broker that is away is a problem that says so."""
    try:
        return await asyncio.wait_for(source.admin(), _TIMEOUT_MS / 1000 + 2)
    except (KafkaWireError, OSError, UnicodeError) as error:  # a name may be no name of a host
        words = str(error) or "no answer"
        raise Problem(
            f"{source.title}: {words}. Is the broker running, and is this its address?", status=502
        ) from error
