"""A capture as a source: its first exchanges, then all headers, then the bodies, read in a thread.

Rules:
- The first exchanges come from the first FIRST bytes of a large capture. All follow when the headers are read, and
  errors, topics and findings with the bodies.
- Files of log directories that are given with the captures name topics by their ids.
- A file that changes is read again, after a rest: as long as the last reading took, and at least REST times its
  processor time. If that fails, the tables that are there stay, beside the failure.
- Files are mapped into memory, and others may cut them off. The missing bytes then read as zeros, and the file is read
  again. An exchange of a file that is shorter than it was is refused.
"""

from __future__ import annotations

import logging
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import exchange_named

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kafkawire.inspect import Asked, Finding, Reading
    from kafkawire.web._captures.exchanges import ExchangeList
    from kafkawire.web._captures.packets import Sent


FIRST: Final = 32 << 20
LOOK_SECONDS: Final = 0.5
REST: Final = 4

_log = logging.getLogger("kafkawire.web")


class CaptureSource:
    """The exchanges of capture files."""

    letter: Final = "c"

    def __init__(self, paths: Sequence[str | Path], *, title: str = "", reading: Reading | None = None) -> None:
        self.paths = [Path(each) for each in paths]
        self.title = title or ", ".join(each.name for each in self.paths)
        self._reading: Reading | None = None
        self._list: ExchangeList | None = None
        self._findings: tuple[Reading, list[Finding]] | None = None
        self._talks: tuple[Reading, dict[int, Any]] | None = None
        self.failure: str | None = None
        self.done = self.version = 0
        self._ending = threading.Event()
        self._changed = threading.Condition()
        self._seen: list[tuple[int, int]] = []
        self._mapped: list[tuple[int, int]] = []
        self.phase = "headers"
        if reading is not None:
            self._set(reading, "whole")
            self._thread = None
        else:
            self._thread = threading.Thread(target=self._read_and_follow, name=f"capture {self.title}", daemon=True)
            self._thread.start()

    def about(self) -> dict[str, Any]:
        return {"kind": "capture", "title": self.title, "first": ["exchanges"], "text": "a capture", "packets": True}

    def close(self) -> None:
        self._ending.set()

    @property
    def reading(self) -> Reading:
        """The tables that are there; waits for the headers."""
        with self._changed:
            while self._reading is None and self.failure is None:
                self._changed.wait(0.5)
        if self._reading is None:
            raise Problem(self.failure or "the capture cannot be read")
        return self._reading

    @property
    def exchanges(self) -> ExchangeList:
        """The list of exchanges that are there."""
        _ = self.reading
        assert self._list is not None
        return self._list

    def findings(self) -> list[Finding]:
        """The findings; waits for the bodies."""
        with self._changed:
            while self.phase != "whole" and self.failure is None:
                self._changed.wait(0.5)
        found, reading = self._findings, self.reading
        if found is None or found[0] is not reading:
            from kafkawire.inspect import find_incidents

            found = self._findings = (reading, find_incidents(reading.tables))
        return found[1]

    def open_bytes(self, item: str, _: Asked) -> Document:
        """The request and the response of an exchange, `connection/sequence`."""
        from kafkawire.inspect import Asked, explain_exchange

        named = exchange_named(item)
        if named is None:
            raise Problem(f"{item!r} is not an exchange such as 0/17", status=404)
        self._check_sizes()
        frames = list(explain_exchange(self.reading, *named))
        if not frames:
            raise Problem(f"exchange {item} is not there, or the capture lacks its bytes", status=404)
        return Document(frames, Asked(), origin=Origin(f"exchange {item} of {self.title}"))

    def endpoints(self, conn_id: int) -> tuple[str, str]:
        """The addresses of the client and of the broker of a connection."""
        connection = self._talk(conn_id).connection
        return connection.client, connection.broker

    def sent(self, conn_id: int, seq: int) -> list[Sent]:
        """The frames of an exchange that the capture has."""
        from kafkawire.web._captures.packets import Sent

        talk = self._talk(conn_id)
        self._check_sizes()
        sides = (
            (True, talk.connection.requests, int(talk.matches.request[seq])),
            (False, talk.connection.responses, int(talk.matches.response[seq])),
        )
        return [
            Sent(int(frames.begin[at]), from_client, bytes(frames.read(at)))
            for from_client, frames, at in sides
            if at >= 0 and frames.whole[at]
        ]

    def _talk(self, conn_id: int) -> Any:
        if self._talks is None or self._talks[0] is not self.reading:
            self._talks = (self.reading, {each.conn_id: each for each in self.reading.conversations})
        found = self._talks[1].get(conn_id)
        if found is None:
            raise Problem(f"connection {conn_id} is not in the capture", status=404)
        return found

    def _set(self, reading: Reading, phase: str) -> None:
        from kafkawire.web._captures.exchanges import ExchangeList

        made = ExchangeList(reading.tables)
        with self._changed:
            self._reading, self._list, self.phase, self.failure = reading, made, phase, None
            self._mapped = self._seen
            self.version += 1
            self._changed.notify_all()

    def _read_and_follow(self) -> None:
        from kafkawire.inspect import outlive_cuts

        outlive_cuts()
        while not self._ending.is_set():
            began, used = time.monotonic(), time.thread_time()
            try:
                self._seen = self._sizes()
                self._read()
            except _StoppedError:
                return
            except Exception as error:  # whatever it is, views that wait must hear of it
                if not isinstance(error, KafkaWireError | OSError | MemoryError):
                    _log.exception("%s cannot be read", self.title)
                with self._changed:
                    self.failure = str(error) or type(error).__name__
                    self._changed.notify_all()
            self._ending.wait(max(time.monotonic() - began, REST * (time.thread_time() - used)))
            while not self._ending.wait(LOOK_SECONDS) and not self._has_changed():
                pass

    def _read(self) -> None:
        from kafkawire.inspect import Reading, learn_topics, read_captures, read_tables, traffic_table

        is_first = self._reading is None
        if is_first and sum(size for size, _ in self._seen) > 2 * FIRST:
            self._set(read_captures(self.paths, bodies=False, first_bytes=FIRST), "headers")
        reading = read_captures(self.paths, bodies=False)
        if is_first or self.phase != "whole":
            self._set(reading, "bodies")
        learn_topics(reading.topics, reading.conversations)
        self.done = 0
        tables = read_tables(reading.conversations, reading.topics, progress=self._progress)
        tables["transactions"] = traffic_table(tables)
        whole = Reading(tables, reading.conversations, reading.faults, reading.packets, reading.files, reading.topics)
        self._set(whole, "whole")

    def _sizes(self) -> list[tuple[int, int]]:
        found = [each.stat() for each in self.paths]
        return [(each.st_size, each.st_mtime_ns) for each in found]

    def _has_changed(self) -> bool:
        try:
            return self._sizes() != self._seen
        except OSError:  # a file that is gone has not changed; its tables stay
            return False

    def _check_sizes(self) -> None:
        try:
            is_cut = any(now < then for (now, _), (then, _) in zip(self._sizes(), self._mapped, strict=False))
        except OSError:  # a file that was removed keeps its bytes as long as it is mapped
            return
        if is_cut:
            raise Problem(f"{self.title} was cut off or overwritten; it is read again", status=409)

    def _progress(self, count: int) -> None:
        self.done += count
        if self._ending.is_set():
            raise _StoppedError


class _StoppedError(Exception):
    """The page was closed while a capture was read."""
