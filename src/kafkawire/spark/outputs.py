"""The directory that a pipeline run writes: its tables and the manifest that describes them.

Rules:
- A run writes into an empty directory, or replaces an earlier run's tables if told to; nothing else is ever removed.
- A stream goes on in the directory that it wrote before, and in no other: its manifest says where its checkpoint is.
- The manifest is there from the start, says `running`, and is put in place whole: `complete` means that every table is,
  `failed` that the run came to its end without; a run that was killed leaves it at `running`.
"""

from __future__ import annotations

import json
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire import __version__
from kafkawire.spark.errors import PipelineError
from kafkawire.spark.storage import LocalStorage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from kafkawire.spark.storage import Storage

MANIFEST: Final = "manifest.json"
LOG: Final = "spark.log"
REPORT: Final = "report.html"
TABLES: Final = (
    *("batches", "records", "segment_files", "index_errors", "faults"),
    *("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "group_offsets", "findings"),
)


class OutputDirectory:
    """Where a run writes."""

    def __init__(self, storage: Storage, checkpoint: str | None = None) -> None:
        self.storage = storage
        self._checkpoint = checkpoint

    @classmethod
    def claim(cls, place: Path | Storage, *, overwrite: bool = False) -> OutputDirectory:
        """Take a directory for a run, or say why it cannot be had."""
        output = cls(LocalStorage(place) if isinstance(place, Path) else place)
        earlier = output._look()
        if earlier and not overwrite:
            raise PipelineError(
                f"{output.root} holds an earlier run; give another directory, or --overwrite to replace it"
            )
        output.storage.create()
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
            what = f"a stream whose checkpoint is {before}" if before else "a run that was no stream"
            raise PipelineError(f"{output.root} holds {what}; give another directory")
        storage.create()
        earlier.pop("problem", None)
        output.write_manifest({**earlier, "state": "running"})
        return output

    @property
    def root(self) -> str:
        return self.storage.root

    def table(self, name: str) -> str:
        """Where a table goes."""
        return f"{self.storage.root}/{name}"

    @contextmanager
    def telling_failure(self) -> Iterator[None]:
        """Whatever ends the block before its time is told by the manifest."""
        try:
            yield
        except BaseException as failure:
            problem = "interrupted" if isinstance(failure, KeyboardInterrupt) else str(failure)
            with suppress(PipelineError, OSError):  # what ended the run is told, whether or not this can be
                self.write_manifest({**self._look(), "state": "failed", "problem": problem})
            raise

    def write_report(self, page: str) -> None:
        self.storage.write_text(REPORT, page)

    def write_manifest(self, content: Mapping[str, Any]) -> None:
        """Put a manifest in place of the one that is there."""
        kept = {"checkpoint": self._checkpoint} if self._checkpoint else {}
        whole = {"kafkawire": __version__, **content, **kept}
        text = json.dumps(whole, indent=2, ensure_ascii=False, default=str)
        self.storage.write_text(MANIFEST, text + "\n")

    def _look(self) -> dict[str, Any]:
        """The manifest of an earlier run; a directory that holds anything else is refused."""
        if self.storage.is_file():
            raise PipelineError(f"{self.root} is a file; give a directory to write into")
        if not self.storage.children():
            return {}
        try:
            manifest = json.loads(self.storage.read_text(MANIFEST) or "")
        except ValueError:
            manifest = None
        if not isinstance(manifest, dict) or not {"kafkawire", "state"} <= manifest.keys():
            raise PipelineError(f"{self.root} is not empty and holds no earlier run; give another directory")
        return manifest
