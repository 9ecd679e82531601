"""Exchanges that are added while they happen, in the same list as those of a capture.

Rules:
- The latest MOST exchanges are kept, and at most MOST_BYTES of their frames. Older ones leave, and are counted.
- The tables are rebuilt when a page asks for them, but not within REMAKE_SECONDS after a rebuild. After a long rebuild
  the rest is REST times its duration.
- Exchanges come from one thread, and are read by others.
"""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from kafkawire.inspect import TopicNames
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from kafkawire.inspect import Asked, Finding, Reading
    from kafkawire.messages import Message
    from kafkawire.testing import FaultCalls
    from kafkawire.web._captures.exchanges import ExchangeList
    from kafkawire.web._captures.packets import Sent

MOST: Final = 50_000
MOST_BYTES: Final = 128 << 20
REMAKE_SECONDS: Final = 0.3
REST: Final = 4
_NAMING: Final = ("Metadata", "CreateTopics", "DescribeTopicPartitions")


@dataclass(slots=True)
class LiveExchange:
    """An exchange; times are nanoseconds, and an absent response has none."""

    client: str
    broker: str
    api_key: int
    api: str | None
    version: int
    correlation: int
    client_id: str | None
    request: Message | None
    response: Message | None
    asked: bytes
    answered: bytes
    began: int
    ended: int | None
    has_response: bool = True
    conn_id: int = 0
    seq: int = 0


class LiveSource:
    """The exchanges of a proxy or of the embedded broker."""

    letter: Final = "p"

    def __init__(self, title: str, *, faults: FaultCalls | None = None, empty: str = "") -> None:
        self.title, self.faults, self._empty = title, faults, empty
        self.phase, self.failure, self.done = "whole", None, 0
        self._kept: deque[LiveExchange] = deque()
        self._bytes = 0
        self._connections: dict[str, tuple[int, int]] = {}
        self._topics = TopicNames()
        self._lock = Lock()
        self._made: tuple[int, float, Reading, ExchangeList] | None = None

    def about(self) -> dict[str, Any]:
        views = [["exchanges", "Exchanges"], ["conversations", "Connections"], ["findings", "Findings"]]
        if self.faults is not None:
            views.append(["faults", "Faults"])
        shown = {"kind": "capture", "title": self.title, "first": ["exchanges"], "live": True}
        return {**shown, "views": views, "empty": self._empty, "text": "live traffic", "packets": True}

    def add(self, exchange: LiveExchange) -> None:
        """Add an exchange that is complete."""
        with self._lock:
            number, seq = self._connections.get(exchange.client, (len(self._connections), 0))
            self._connections[exchange.client] = (number, seq + 1)
            exchange.conn_id, exchange.seq = number, seq
            self._kept.append(exchange)
            if exchange.api in _NAMING:
                self._topics.learn(exchange.response)
            self._bytes += len(exchange.asked) + len(exchange.answered)
            self.done += 1
            while len(self._kept) > MOST or (self._bytes > MOST_BYTES and len(self._kept) > 1):
                gone = self._kept.popleft()
                self._bytes -= len(gone.asked) + len(gone.answered)

    @property
    def reading(self) -> Reading:
        """The tables of what is kept."""
        return self._current()[2]

    @property
    def exchanges(self) -> ExchangeList:
        """The list of what is kept."""
        return self._current()[3]

    @property
    def version(self) -> int:
        """A number that changes when an exchange is added."""
        return self.done

    def findings(self) -> list[Finding]:
        """The findings of the rules over what is kept."""
        from kafkawire.inspect import find_incidents

        return find_incidents(self.reading.tables)

    def open_bytes(self, item: str, _: Asked) -> Document:
        """The frames of an exchange, `connection/sequence`."""
        from kafkawire.inspect import Asked, explain_request, explain_response

        with self._lock:
            found = next((each for each in self._kept if f"{each.conn_id}/{each.seq}" == item), None)
        if found is None:
            raise Problem(f"exchange {item} is not kept any more; the latest {MOST} are", status=404)
        frames = [explain_request(found.asked)] if found.asked else []
        if found.answered and found.api is not None:
            frames.append(explain_response(found.answered, found.api_key, found.version))
        if not frames:
            raise Problem(f"exchange {item} has no frame that could be read", status=404)
        return Document(frames, Asked(), origin=Origin(f"exchange {item} of {self.title}"))

    def endpoints(self, conn_id: int) -> tuple[str, str]:
        """The addresses of the client and of the broker of a connection."""
        found = next(each for each in list(self._kept) if each.conn_id == conn_id)
        return found.client, found.broker

    def sent(self, conn_id: int, seq: int) -> list[Sent]:
        """The frames of an exchange that are kept."""
        from kafkawire.web._captures.packets import Sent

        with self._lock:
            found = next((each for each in self._kept if (each.conn_id, each.seq) == (conn_id, seq)), None)
        if found is None:
            return []
        sides = ((True, found.asked, found.began), (False, found.answered, found.ended or found.began))
        return [Sent(time, from_client, _unsized(data)) for from_client, data, time in sides if data]

    def _current(self) -> tuple[int, float, Reading, ExchangeList]:
        made, now = self._made, time.monotonic()
        if made is not None and (made[0] == self.done or now < made[1]):
            return made
        from kafkawire.inspect import Reading
        from kafkawire.web._captures.exchanges import ExchangeList
        from kafkawire.web._live.tables import tables_of

        with self._lock:
            kept, done = list(self._kept), self.done
        tables = tables_of(kept, self._topics)
        exchanges = ExchangeList(tables)
        ended = time.monotonic()
        self._made = (done, ended + max(REMAKE_SECONDS, REST * (ended - now)), Reading(tables, [], []), exchanges)
        return self._made


def _unsized(frame: bytes) -> bytes:
    """A frame without its size."""
    return frame[4:] if int.from_bytes(frame[:4], "big") == len(frame) - 4 else frame
