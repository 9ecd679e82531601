"""The output directory of a pipeline run: its manifest and its tables.

Rules:
- A run writes into an empty directory, or with `overwrite` replaces the tables of an earlier run. It removes nothing
  else.
- A stream continues only in the directory that it wrote before; the manifest names its checkpoint.
- Only one run writes a local directory at a time; another fails before it changes anything.
- The manifest is replaced atomically. Its state is `running` from the start, `complete` if every table is written, and
  `failed` if the run ended early. A run that was killed leaves `running`.
- A table is listed once, after it was written: queries over it share the frame. A small table is read as one partition,
  because a query over few rows then needs one task, no shuffle and no second planning.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire import __version__
from kafkawire.spark._pipeline.storage import LocalStorage
from kafkawire.spark._pipeline.table_formats import FORMATS
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from kafkawire.spark._pipeline.storage import Storage

MANIFEST: Final = "manifest.json"
LOG: Final = "spark.log"
REPORT: Final = "report.html"
TABLES: Final = (
    *("batches", "records", "segment_files", "index_errors", "faults", "transactions", "old_formats"),
    *("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "group_offsets", "findings"),
)
_SMALL: Final = 16 * 1024 * 1024


class OutputDirectory:
    """The directory that a run writes."""

    def __init__(self, storage: Storage, checkpoint: str | None = None) -> None:
        self.storage = storage
        self._checkpoint = checkpoint

    @classmethod
    def claim(cls, place: Path | Storage, *, overwrite: bool = False) -> OutputDirectory:
        """Take a directory for a run; raises if it holds anything that the run may not replace."""
        output = cls(LocalStorage(place) if isinstance(place, Path) else place)
        earlier = output._look()
        if earlier and not overwrite:
            raise PipelineError(
                f"{output.root} holds an earlier run; give another directory, or --overwrite to replace it"
            )
        output.storage.create()
        output.storage.lock()
        output.write_manifest({"state": "running"})
        if earlier:
            for name in (*TABLES, LOG, REPORT):
                output.storage.remove(name)
        return output

    @classmethod
    def resume(cls, storage: Storage, checkpoint: str) -> OutputDirectory:
        """Take a directory for a stream: a new one, or the one that it wrote with this checkpoint."""
        output = cls(storage, checkpoint)
        earlier = output._look()
        if earlier and earlier.get("checkpoint") != checkpoint:
            before = earlier.get("checkpoint")
            what = f"a stream whose checkpoint is {before}" if before else "a run that was not a stream"
            raise PipelineError(f"{output.root} holds {what}; give another directory")
        storage.create()
        storage.lock()
        earlier.pop("problem", None)
        output.write_manifest({**earlier, "state": "running"})
        return output

    @classmethod
    def reopen(cls, storage: Storage) -> OutputDirectory:
        """Take the directory of an earlier run to change its tables; raises if it holds none, or if a run writes it."""
        output = cls(storage)
        if not output._look():
            raise PipelineError(f"{output.root} does not hold an earlier run")
        storage.lock()
        return output

    def tables(self) -> list[str]:
        """The tables that are there."""
        return [name for name in self.storage.children() if name in TABLES]

    @property
    def root(self) -> str:
        return self.storage.root

    def table(self, name: str) -> str:
        """The path or URL of a table."""
        return f"{self.storage.root}/{name}"

    @contextmanager
    def recording_failure(self) -> Iterator[None]:
        """Write `failed` and the problem into the manifest if the block raises."""
        try:
            yield
        except BaseException as failure:
            problem = "interrupted" if isinstance(failure, KeyboardInterrupt) else str(failure)
            with suppress(PipelineError, OSError):  # the error of the run matters more than the manifest
                self.write_manifest({**self._look(), "state": "failed", "problem": problem})
            raise
        finally:
            self.storage.unlock()

    def write_report(self, page: str) -> None:
        self.storage.write_text(REPORT, page)

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Replace the manifest."""
        kept = {"checkpoint": self._checkpoint} if self._checkpoint else {}
        whole = {"kafkawire": __version__, **content, **kept}
        text = json.dumps(whole, indent=2, ensure_ascii=False, default=str)
        self.storage.write_text(MANIFEST, text + "\n")

    def _look(self) -> dict[str, Any]:
        """The manifest of an earlier run; raises if the directory holds anything else."""
        if self.storage.is_file():
            raise PipelineError(f"{self.root} is a file; give a directory to write into")
        if not self.storage.children():
            return {}
        try:
            manifest = json.loads(self.storage.read_text(MANIFEST) or "")
        except ValueError:
            manifest = None
        if not isinstance(manifest, dict) or not {"kafkawire", "state"} <= manifest.keys():
            raise PipelineError(f"{self.root} is not empty and does not hold an earlier run; give another directory")
        return manifest


@dataclass
class WrittenTables:
    """The tables that are in the output directory so far."""

    spark: SparkSession
    output: OutputDirectory
    format: str = "parquet"
    schemas: dict[str, StructType] = field(default_factory=dict)
    rows: dict[str, int] = field(default_factory=dict)
    """The number of rows of each table that was counted."""
    _frames: dict[str, DataFrame] = field(default_factory=dict)

    def add(self, name: str, schema: StructType, rows: int | None = None) -> None:
        """Add a table that was written or has grown."""
        self.schemas[name] = schema
        self._frames.pop(name, None)
        self.rows.pop(name, None)
        if rows is not None:
            self.rows[name] = rows

    def has(self, *names: str) -> bool:
        return all(name in self.schemas for name in names)

    def frame(self, name: str) -> DataFrame:
        """A table as it is on disk."""
        if name not in self._frames:
            frame = self._load(name)
            self._frames[name] = frame.coalesce(1) if _size(frame) <= _SMALL else frame
        return self._frames[name]

    def _load(self, name: str) -> DataFrame:
        return FORMATS[self.format].read(self.spark, self.output.table(name), self.schemas[name])


def _size(frame: DataFrame) -> int:
    """The bytes of the files that a frame reads, by Spark's listing."""
    return int(frame._jdf.queryExecution().optimizedPlan().stats().sizeInBytes())
