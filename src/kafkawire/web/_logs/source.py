"""Log directories as a source, read in a thread.

Rules:
- Files are only read, and only those of the directories that were given.
- The tables are those of `read_directories`. Records are read for one batch at a time, when a page asks for them.
- A batch is named by the number of its file in the list of files, and its position: `3@61`.
"""

from __future__ import annotations

import logging
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.web._bytes.document import Document, Origin
from kafkawire.web._server.problems import Problem
from kafkawire.web._server.requests import whole_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from kafkawire.inspect import Asked, Finding

LARGEST_BATCH: Final = 64 << 20

_log = logging.getLogger("kafkawire.web")


class LogSource:
    """The partitions of log directories."""

    letter: Final = "d"

    def __init__(self, roots: Sequence[str | Path]) -> None:
        self.roots = [Path(each) for each in roots]
        self.title = ", ".join(str(each) for each in self.roots)
        self.total = sum(path.stat().st_size for root in self.roots for path in root.rglob("*.log"))
        self.done = 0
        self.failure: str | None = None
        self._tables: dict[str, pa.Table] | None = None
        self._findings: list[Finding] | None = None
        self._changed = threading.Condition()
        threading.Thread(target=self._read, name=f"logs {self.title}", daemon=True).start()

    def about(self) -> dict[str, Any]:
        return {"kind": "logs", "title": self.title, "text": "log directories"}

    @property
    def is_read(self) -> bool:
        return self._tables is not None

    @property
    def tables(self) -> dict[str, pa.Table]:
        """The tables; waits until the directories are read."""
        with self._changed:
            while self._tables is None and self.failure is None:
                self._changed.wait(0.5)
        if self._tables is None:
            raise Problem(self.failure or "the directories cannot be read")
        return self._tables

    def findings(self) -> list[Finding]:
        """The findings of the rules over logs."""
        if self._findings is None:
            from kafkawire.inspect import find_incidents

            self._findings = find_incidents(self.tables)
        return self._findings

    def files(self) -> list[str]:
        """The log files, in the order of the table."""
        table = self.tables["segment_files"]
        pairs = zip(table["file"].to_pylist(), table["kind"].to_pylist(), strict=True)
        return [str(file) for file, kind in pairs if kind == "log"]

    def paths_of(self, topic: str, partition: str) -> list[Path]:
        """The directories of a partition, or all that were given; names of the page only choose among them."""
        if not topic:
            return self.roots
        wanted = {Path(file).parent for file in self.files()}
        found = [each for each in wanted if each.name == f"{topic}-{partition}"]
        if not found:
            raise Problem(f"there is no partition {topic}-{partition}", status=404)
        return found

    def batch_bytes(self, item: str) -> tuple[bytes, str]:
        """The bytes of a batch, and the topic that it belongs to."""
        number, position = (whole_number(part) for part in item.partition("@")[::2])
        files = self.files()
        if number is None or position is None or number >= len(files):
            raise Problem(f"{item!r} is not a batch such as 0@61", status=404)
        path = Path(files[number])
        if position >= path.stat().st_size:
            raise Problem(f"there is nothing at {item}; the file is shorter", status=404)
        with path.open("rb") as file:
            file.seek(position)
            head = file.read(12)
            size = int.from_bytes(head[8:12], "big", signed=True) if len(head) == 12 else -1
            if not 0 < size <= LARGEST_BATCH:
                file.seek(position)
                return file.read(1 << 16), path.parent.name.rpartition("-")[0]
            return head + file.read(size), path.parent.name.rpartition("-")[0]

    def open_bytes(self, item: str, _: Asked) -> Document:
        """A batch as a document."""
        from kafkawire.inspect import Asked, explain_records

        data, topic = self.batch_bytes(item)
        file = self.files()[int(item.partition("@")[0])]
        origin = Origin(f"{Path(file).parent.name}/{Path(file).name} at {item.partition('@')[2]}")
        return Document([explain_records(data, topic=topic)], Asked("records", topic=topic), origin=origin)

    def _read(self) -> None:
        from kafkawire.inspect import outlive_cuts, read_directories

        outlive_cuts()
        try:
            tables = read_directories(self.roots, progress=self._progress)
            with self._changed:
                self._tables = tables
                self._changed.notify_all()
        except Exception as error:  # whatever it is, views that wait must hear of it
            if not isinstance(error, KafkaWireError | OSError | MemoryError):
                _log.exception("%s cannot be read", self.title)
            with self._changed:
                self.failure = str(error) or type(error).__name__
                self._changed.notify_all()

    def _progress(self, size: int) -> None:
        self.done += size
