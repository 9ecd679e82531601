"""The log of Spark's file sink, `_spark_metadata`: the files that the batches of a stream have added to a table.

Rules:
- An entry is named by its batch. It has a line with its version, then a line of JSON for each file. Every tenth entry,
  by default, is named `.compact` and repeats the files of all entries before it.
- The files of a table are those of the last `.compact` entry and of all later ones. A gap between them raises.
- A rewritten log has the same names, because Spark finds its last batch and its interval of `.compact` by them. All
  files are in the first entry that counts; the later ones are empty.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DIRECTORY: Final = "_spark_metadata"
_NAME: Final = re.compile(r"(\d+)(\.compact)?")
_VERSION: Final = "v1"


@dataclass(frozen=True)
class LoggedFile:
    """A file of a table, as Spark lists it."""

    status: dict[str, Any]
    table: str

    @property
    def name(self) -> str:
        """The name relative to the table."""
        return unquote(self.status["path"]).rpartition(f"/{self.table}/")[2]

    def replaced(self, name: str, size: int, milliseconds: int) -> LoggedFile:
        """The status of another file in the same directory."""
        path = f"{self.status['path'].rpartition('/')[0]}/{name}"
        return LoggedFile({**self.status, "path": path, "size": size, "modificationTime": milliseconds}, self.table)


@dataclass(frozen=True)
class SinkLog:
    """The entries that count, in their order, and the files in them."""

    names: tuple[str, ...]
    files: tuple[LoggedFile, ...]

    @classmethod
    def parse(cls, table: str, names: Iterable[str], read: Callable[[str], str]) -> SinkLog | None:
        """The log of a table; None if no batch was committed."""
        found = sorted((int(match[1]), name) for name in names if (match := _NAME.fullmatch(name)))
        if not found:
            return None
        first = max((position for position, (_, name) in enumerate(found) if name.endswith(".compact")), default=0)
        counted = found[first:]
        start = counted[0][0]
        whole = counted[0][1].endswith(".compact") or start == 0
        if not whole or [number for number, _ in counted] != list(range(start, start + len(counted))):
            listed = ", ".join(name for _, name in counted)
            raise PipelineError(f"{table}/{DIRECTORY} lacks an entry; it has {listed}")
        files = [file for _, name in counted for file in _files_of(table, name, read(name))]
        return cls(tuple(name for _, name in counted), tuple(files))

    def rewritten(self, files: Iterable[LoggedFile]) -> dict[str, str]:
        """The text of each entry if the table has other files."""
        first, *others = self.names
        lines = [json.dumps(file.status, separators=(",", ":"), ensure_ascii=False) for file in files]
        return {first: "\n".join([_VERSION, *lines]), **dict.fromkeys(others, _VERSION)}


def _files_of(table: str, name: str, text: str) -> list[LoggedFile]:
    version, *lines = text.split("\n")
    place = f"{table}/{DIRECTORY}/{name}"
    if version != _VERSION:
        raise PipelineError(f"{place} has version {version[:20]!r}, expected {_VERSION}")
    files = []
    for line in lines:
        try:
            status = json.loads(line)
        except ValueError as error:
            raise PipelineError(f"{place}: {line[:80]!r} is not JSON") from error
        if not isinstance(status, dict) or not isinstance(status.get("path"), str) or status.get("action") != "add":
            raise PipelineError(f"{place}: {line[:80]!r} is not a file that was added")
        files.append(LoggedFile(status, table))
    return files
