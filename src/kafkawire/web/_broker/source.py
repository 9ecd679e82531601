"""A broker as a source: an admin client on the loop of the server, and a reader for messages in threads.

Rules:
- Options of the client, credentials among them, stay here. They are never part of an answer.
- The last MOST_SENT exchanges of the page itself are kept as messages, without those of credentials.
- Lists are names first. Descriptions are asked for the rows in sight, and kept for a few seconds.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client import Admin
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import api
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._server.problems import Problem
from kafkawire.wire import encode_request, encode_response

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.client import BulkReader, TraceEvent
    from kafkawire.inspect import Asked

MOST_SENT: Final = 500
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
        self._sent: deque[dict[str, Any]] = deque(maxlen=MOST_SENT)
        self._waiting: dict[tuple[int, int | None], TraceEvent] = {}
        self._number = 0
        self._kept: dict[Any, tuple[float, Any]] = {}

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
        rows = list(self._sent)[::-1]
        return [{name: value for name, value in row.items() if name not in ("asked", "answered")} for row in rows]

    def open_bytes(self, item: str, _: Asked) -> Document:
        """The frames of an exchange of the page: `sent/7`."""
        from kafkawire.inspect import Asked, explain_request, explain_response

        number = item.removeprefix("sent/")
        row = next((each for each in list(self._sent) if str(each["number"]) == number), None)
        if row is None:
            raise Problem(f"{item} is not kept any more; the last {MOST_SENT} exchanges are", status=404)
        which, version, frames = api(row["api"]), row["version"], []
        for message, is_request in ((row["asked"], True), (row["answered"], False)):
            if message is None:
                continue
            if is_request:
                made = encode_request(
                    message, version=version, correlation_id=row["correlation"], client_id=self._config["client_id"]
                )
                frames.append(explain_request(bytes(made)))
            else:
                made = encode_response(message, api_key=which.key, version=version, correlation_id=row["correlation"])
                frames.append(explain_response(bytes(made), which.key, version))
        return Document(frames, Asked(), origin=Origin(f"sent by this page, {row['api']}"))

    def _note(self, event: TraceEvent) -> None:
        key = (event.connection, event.correlation_id)
        if event.kind == "request":
            if len(self._waiting) > MOST_SENT:
                self._waiting.clear()
            self._waiting[key] = event
            return
        if event.kind != "response":
            return
        asked = self._waiting.pop(key, None)
        self._number += 1
        self._sent.append(
            {
                "number": self._number,
                "time": str(int(event.time * 1e6)),
                "place": event.place,
                "api": event.api,
                "version": event.version,
                "correlation": event.correlation_id,
                "request": None if asked is None else asked.size,
                "response": event.size,
                "wait": None if event.seconds is None else round(event.seconds * 1e6),
                "error": event.error,
                "asked": None if asked is None else asked.message,
                "answered": event.message,
            }
        )


async def connected(source: BrokerSource) -> Admin:
    """The admin client; a broker that is away is a problem that says so."""
    try:
        return await asyncio.wait_for(source.admin(), _TIMEOUT_MS / 1000 + 2)
    except (KafkaWireError, OSError, TimeoutError) as error:
        words = str(error) or "no answer"
        raise Problem(
            f"{source.title}: {words}. Is the broker running, and is this its address?", status=502
        ) from error
