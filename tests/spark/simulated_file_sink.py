"""Spark's file sink without Spark: batches of Parquet files, its log, and its way to read them.

Rules:
- Written from what Spark does: files of a batch are written into the table first, then one entry of the log lists them.
  Every n-th entry is a `.compact` one. Old entries are removed after a new `.compact` one.
- A batch whose number the log has is not written again.
- Beside each file lies Hadoop's checksum, which Hadoop checks when it reads the file.
"""

from __future__ import annotations

import binascii
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from random import Random

_FIELDS: list[pa.Field[Any]] = [
    pa.field("partition", pa.int32()),
    pa.field("offset", pa.int64()),
    pa.field("value", pa.binary()),
]
SCHEMA = pa.schema(
    _FIELDS,
    metadata={b"org.apache.spark.version": b"4.3.0", b"org.apache.spark.sql.parquet.row.metadata": b"{}"},
)


@dataclass
class SimulatedSink:
    """A table that batches are added to."""

    root: Path
    random: Random
    interval: int = 10
    table: str = "records"
    committed: set[tuple[str, int]] = field(default_factory=set)
    next_offset: int = 0

    @property
    def path(self) -> Path:
        return self.root / self.table

    @property
    def log(self) -> Path:
        return self.path / "_spark_metadata"

    def last_batch(self) -> int:
        return max((_number(each) for each in self._entries()), default=-1)

    def write_files(self, rows: Sequence[tuple[str, int]], schema: pa.Schema = SCHEMA) -> list[str]:
        """The files of a batch, as tasks write them, and their statuses."""
        statuses = []
        for topic in sorted({topic for topic, _ in rows}):
            offsets = [offset for each, offset in rows if each == topic]
            parts = [part for part in (offsets[::2], offsets[1::2]) if part]
            statuses += [self._write_file(topic, part, schema) for part in parts]
        return statuses

    def commit(self, number: int, statuses: Sequence[str]) -> None:
        """Add the entry of a batch."""
        if number <= self.last_batch():
            return
        self.log.mkdir(parents=True, exist_ok=True)
        if (number + 1) % self.interval == 0:
            lines = [*self._all_statuses(), *statuses]
            self._write_entry(f"{number}.compact", lines)
            for each in list(self._entries()):
                if _number(each) < number - self.interval:
                    each.unlink()
                    (self.log / f".{each.name}.crc").unlink(missing_ok=True)
        else:
            self._write_entry(str(number), statuses)

    def add_batch(self, schema: pa.Schema = SCHEMA) -> None:
        """A whole batch of some new rows."""
        rows = [(self.random.choice("ab"), self.next_offset + each) for each in range(self.random.randint(0, 6))]
        self.next_offset += 6
        self.commit(self.last_batch() + 1, self.write_files(rows, schema))
        self.committed |= set(rows)

    def rows_by_log(self) -> list[tuple[str, int]]:
        """The rows as Spark reads them: by the entries that its interval says, checking checksums."""
        found = []
        for status in self._all_statuses():
            listed = json.loads(status)
            path = self.path / listed["path"].rpartition(f"/{self.table}/")[2].replace("%3D", "=")
            assert path.stat().st_size == listed["size"], path
            found += _rows(path)
        return sorted(found)

    def rows_by_listing(self) -> list[tuple[str, int]]:
        """The rows as a program reads them that lists the files first."""
        return sorted(row for path in list(self.path.rglob("*.parquet")) for row in _rows(path))

    def _entries(self) -> list[Path]:
        return list(self.log.glob("[0-9]*")) if self.log.is_dir() else []

    def _all_statuses(self) -> list[str]:
        last = self.last_batch()
        start = max(0, (last + 1) // self.interval * self.interval - 1) if last >= 0 else 0
        lines = []
        for number in range(start, last + 1):
            name = f"{number}.compact" if (number + 1) % self.interval == 0 else str(number)
            lines += self._read(self.log / name).splitlines()[1:]
        return lines

    def _write_entry(self, name: str, lines: Sequence[str]) -> None:
        text = "\n".join(["v1", *lines])
        (self.log / name).write_text(text)
        (self.log / f".{name}.crc").write_bytes(binascii.crc32(text.encode()).to_bytes(4, "big"))

    def _read(self, path: Path) -> str:
        text = path.read_text()
        checksum = path.with_name(f".{path.name}.crc")
        if checksum.exists():
            assert checksum.read_bytes() == binascii.crc32(text.encode()).to_bytes(4, "big"), f"checksum of {path}"
        return text

    def _write_file(self, topic: str, offsets: Sequence[int], schema: pa.Schema) -> str:
        directory = self.path / f"topic={topic}"
        directory.mkdir(parents=True, exist_ok=True)
        name = f"part-00000-{UUID(int=self.random.getrandbits(128))}.c000.snappy.parquet"
        columns = {
            "partition": [0] * len(offsets),
            "offset": offsets,
            "value": [b"v" * self.random.randint(0, 50) for _ in offsets],
        }
        more = {each: [None] * len(offsets) for each in schema.names if each not in columns}
        pq.write_table(pa.table(columns | more, schema=schema), directory / name, store_schema=False)
        (directory / f".{name}.crc").write_bytes(b"crc")
        path = quote(f"{directory}/{name}", safe="/=%")
        size = (directory / name).stat().st_size
        status = {"path": f"file://{path}", "size": size, "isDir": False, "modificationTime": 1, "action": "add"}
        return json.dumps(status, separators=(",", ":"))


def _rows(path: Path) -> list[tuple[str, int]]:
    with path.open("rb") as opened:
        offsets: list[Any] = pq.ParquetFile(opened).read(["offset"]).column(0).to_pylist()
    return [(path.parent.name.removeprefix("topic="), offset) for offset in offsets]


def _number(path: Path) -> int:
    return int(path.name.partition(".")[0])
