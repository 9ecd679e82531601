"""The directory that a pipeline run writes: its tables and the manifest that describes them.

Rules:
- A run writes into an empty directory, or replaces an earlier run's tables if told to; nothing else is ever removed.
- The manifest is there from the start, says `running`, and is put in place whole: `complete` means that every table is.
"""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any, Final

from kafkawire import __version__
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MANIFEST: Final = "manifest.json"
LOG: Final = "spark.log"
REPORT: Final = "report.html"
TABLES: Final = (
    *("batches", "records", "segment_files", "index_errors", "faults"),
    *("capture_files", "connections", "gaps", "exchanges", "exchange_partitions", "group_offsets", "findings"),
)


class OutputDirectory:
    """Where a run writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def claim(cls, path: Path, *, overwrite: bool = False) -> OutputDirectory:
        """Take a directory for a run, or say why it cannot be had."""
        if path.parts and path.parts[0].endswith(":"):  # what is left of a URI's scheme in a path
            raise PipelineError(f"{path}: the output must be a directory that this machine and all executors share")
        if path.exists() and not path.is_dir():
            raise PipelineError(f"{path} is a file; give a directory to write into")
        earlier = is_earlier_run(path)
        if path.is_dir() and any(path.iterdir()):
            if not earlier:
                raise PipelineError(f"{path} is not empty and holds no earlier run; give another directory")
            if not overwrite:
                raise PipelineError(
                    f"{path} holds an earlier run; give another directory, or --overwrite to replace it"
                )
        directory = cls(path.absolute())
        directory.path.mkdir(parents=True, exist_ok=True)
        directory.write_manifest({"state": "running"})
        if earlier:
            for table in TABLES:
                shutil.rmtree(directory.table(table), ignore_errors=True)
            for file in (LOG, REPORT):
                (directory.path / file).unlink(missing_ok=True)
        return directory

    def table(self, name: str) -> Path:
        """Where a table goes."""
        return self.path / name

    @property
    def log_file(self) -> Path:
        return self.path / LOG

    @property
    def report(self) -> Path:
        return self.path / REPORT

    def write_manifest(self, content: Mapping[str, Any]) -> Path:
        """Put a manifest in place of the one that is there."""
        manifest = self.path / MANIFEST
        draft = self.path / f"{MANIFEST}.new"
        draft.write_text(json.dumps({"kafkawire": __version__, **content}, indent=2, ensure_ascii=False) + "\n")
        draft.replace(manifest)
        return manifest


def is_earlier_run(path: Path) -> bool:
    """Whether a directory holds what a run of ours wrote."""
    try:
        manifest = json.loads((path / MANIFEST).read_text())
    except (OSError, ValueError):
        return False
    return isinstance(manifest, dict) and "kafkawire" in manifest and "state" in manifest
