"""The log lines of `kafkawire serve`, written to standard error by a thread.

Rules:
- The event loop never waits for standard error. A pipe without a reader, a stopped terminal or a busy disk delays only
  log lines, not clients.
- At most WAITING lines are queued. Later lines are dropped, and the next line that is written counts them.
- Lines are written to the file descriptor, because a thread that blocks in `sys.stderr` holds a lock that the
  interpreter needs to exit.
- The end of the command waits for the lines, but not longer than LAST_SECONDS.
"""

from __future__ import annotations

import json
import logging
import os
import queue
import threading
from contextlib import contextmanager, suppress
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

WAITING: Final = 10_000
LAST_SECONDS: Final = 2.0
_STDERR: Final = 2


class JsonLines(logging.Formatter):
    """A log line as one JSON object, with the fields of the event."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


class ThreadedLines(logging.Handler):
    """A handler that queues formatted lines, and the thread that writes them."""

    def __init__(self, formatter: logging.Formatter) -> None:
        super().__init__()
        self.setFormatter(formatter)
        self._lines: queue.Queue[str | None] = queue.Queue(WAITING)
        self._dropped = 0
        self._thread = threading.Thread(target=self._write, name="kafkawire-log", daemon=True)
        self._thread.start()

    def emit(self, record: logging.LogRecord) -> None:
        if self._dropped:
            words = f"{self._dropped} log lines were dropped, because standard error was blocked"
            late = logging.LogRecord(record.name, logging.WARNING, __file__, 0, words, None, None)
            if not self._put(self.format(late)):
                self._dropped += 1
                return
            self._dropped = 0
        if not self._put(self.format(record)):
            self._dropped += 1

    def finish(self) -> None:
        """Write the queued lines and end the thread."""
        end = monotonic() + LAST_SECONDS
        with suppress(queue.Full):
            self._lines.put(None, timeout=LAST_SECONDS if self._thread.is_alive() else 0)
        self._thread.join(max(0.0, end - monotonic()))

    def _put(self, line: str) -> bool:
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            return False
        return True

    def _write(self) -> None:
        while (line := self._lines.get()) is not None:
            left = memoryview(line.encode("utf-8", "backslashreplace") + b"\n")
            try:
                while left:
                    left = left[os.write(_STDERR, left) :]
            except OSError:
                return


@contextmanager
def log_to_stderr(form: str, *, verbose: bool) -> Iterator[None]:
    """Write all log lines to standard error within the block; `form` is text or json."""
    text = logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    handler = ThreadedLines(JsonLines() if form == "json" else text)
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
    try:
        yield
    finally:
        handler.finish()
