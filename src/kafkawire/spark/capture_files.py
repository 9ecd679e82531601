"""From paths to capture files: which there are, and how large.

Rules:
- A path is a file, a directory or a pattern of either. A directory is searched to its bottom for names that end like
  captures (`.pcap`, `.pcapng`, `.cap`, packed or not); a file that is named may be called anything.
- Captures are mapped into memory, so they must be files of this machine, and of every executor's under the same name.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, NamedTuple

from pyarrow import fs

from kafkawire.spark.errors import SourceOptionError
from kafkawire.spark.listing import matches

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_NAME: Final = re.compile(r".+\.(?:pcap|pcapng|cap)(?:\d+)?(?:\.gz|\.zst)?", re.IGNORECASE)


class CaptureFile(NamedTuple):
    """A capture file."""

    name: str
    size: int


def list_captures(paths: Iterable[str]) -> list[CaptureFile]:
    """The capture files of paths and patterns, each once, by name."""
    return sorted({file for path in paths for file in _listed(path)})


def _listed(path: str) -> Iterator[CaptureFile]:
    system, matched, prefix = matches(path)
    if prefix:
        raise SourceOptionError(f"{path}: captures are read from local files only; copy it to a disk first")
    for info in matched:
        if info.type == fs.FileType.Directory:
            for below in system.get_file_info(fs.FileSelector(info.path, recursive=True)):
                if below.is_file and _NAME.fullmatch(below.base_name):
                    yield CaptureFile(below.path, below.size or 0)
        else:
            yield CaptureFile(info.path, info.size or 0)
