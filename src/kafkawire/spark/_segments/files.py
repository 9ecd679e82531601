"""List the segment files of paths, with their sizes, topics and partitions.

Rules:
- A path is a file, a directory or a pattern of either (`*`, `?`, `[...]`, within one name). A directory is searched
  recursively for the segment names of Kafka, 20 digits and `.log`. A file that is named directly may have any name.
- Topic and partition come from the directory name, `<topic>-<partition>`; both are None for other names.
- Directories that Kafka has renamed (`.<id>-delete`, `-future`, `-stray`) contain copies and leftovers. A search skips
  them; a path that names them reads them.
- Paths may be URIs of all file systems of pyarrow, and of fsspec if it is installed. `s3a://` and `s3n://` mean `s3://`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Final, Self

import pyarrow as pa
from pyarrow import fs

from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_SEGMENT: Final = re.compile(r"\d{20}\.log")
_PARTITION: Final = re.compile(r"(?P<topic>.+)-(?P<partition>\d{1,10})(?P<aside>\.[^.]+-(?:delete|future|stray))?")
_WILD: Final = re.compile(r"[*?\[]")
_SCHEME: Final = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+)://")


@dataclass(frozen=True)
class SegmentFile:
    """A `.log` file: its path or URL, its size, its topic and partition."""

    name: str
    size: int
    topic: str | None
    partition: int | None

    @property
    def base_offset(self) -> int | None:
        """The first offset of the file, by its name."""
        stem = PurePosixPath(self.name).name.removesuffix(".log")
        return int(stem) if len(stem) == 20 and stem.isdecimal() else None

    def beside(self, kind: str) -> str:
        """The name of the companion file of another kind, such as `.index`."""
        return self.name.removesuffix(".log") + kind


def list_segments(paths: Iterable[str]) -> list[SegmentFile]:
    """The segment files of paths and patterns, each once, sorted by name."""
    found = {file.name: file for path in paths for file in _listed(path)}
    return [found[name] for name in sorted(found)]


class OpenFile:
    """A file open for reading at any position, in any file system."""

    def __init__(self, name: str) -> None:
        system, path, _ = _resolve(name)
        self._file = system.open_input_file(path)

    def read(self, position: int, size: int) -> memoryview:
        """Bytes from a position on; fewer at the end of the file."""
        return memoryview(self._file.read_at(size, position))  # type: ignore[call-arg]  # the stubs lack the position

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def topic_and_partition(directory: str) -> tuple[str | None, int | None]:
    """The topic and partition of a directory name.

    >>> topic_and_partition("page-views-12"), topic_and_partition("downloads")
    (('page-views', 12), (None, None))
    """
    match = _PARTITION.fullmatch(directory)
    return (match["topic"], int(match["partition"])) if match else (None, None)


def _resolve(path: str) -> tuple[fs.FileSystem, str, str]:
    """The file system of a path, the path within it, and the prefix that makes such paths URLs."""
    scheme = _SCHEME.match(path)
    if not scheme or scheme["scheme"] == "file":
        local = path[scheme.end() :] if scheme else path
        return fs.LocalFileSystem(), str(Path(local).absolute()), ""
    uri = re.sub(r"^s3[an]://", "s3://", path)
    kind, plain = uri.partition("://")[0], _WILD.split(uri)[0]
    try:
        system, inner = fs.FileSystem.from_uri(plain)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, ImportError, OSError) as error:
        found = _by_fsspec(plain)
        if found is None:
            hint = "" if find_spec("fsspec") else "; fsspec, which supports more, is not installed"
            raise SourceOptionError(f"{path}: no file system for {kind}:// ({error}){hint}") from error
        system, inner = found
    if plain.endswith("/") and not inner.endswith("/"):
        inner += "/"
    return system, inner + uri[len(plain) :], f"{kind}://"


def _by_fsspec(uri: str) -> tuple[fs.FileSystem, str] | None:
    try:
        from fsspec.core import url_to_fs

        system, inner = url_to_fs(uri)
    except (ImportError, ValueError):
        return None
    except OSError as error:
        raise SourceOptionError(f"{uri}: {error}") from error
    return fs.PyFileSystem(fs.FSSpecHandler(system)), inner  # type: ignore[abstract]  # the stubs lack its methods


def matches(path: str) -> tuple[fs.FileSystem, list[fs.FileInfo], str]:
    """The files and directories that match a path or pattern, their file system, and the prefix of their names."""
    system, inner, prefix = _resolve(path)
    matched = [info for info in _expanded(system, inner) if info.type != fs.FileType.NotFound]
    if not matched:
        raise SourceOptionError(f"{path}: no such file or directory{_pattern_hint(inner)}")
    return system, matched, prefix


def _listed(path: str) -> Iterator[SegmentFile]:
    system, matched, prefix = matches(path)
    for info in matched:
        if info.type == fs.FileType.Directory:
            for below in system.get_file_info(fs.FileSelector(info.path, recursive=True)):
                if below.is_file and _SEGMENT.fullmatch(below.base_name) and not _set_aside(below.path, info.path):
                    yield _segment(below, prefix)
        else:
            yield _segment(info, prefix)


def _expanded(system: fs.FileSystem, pattern: str) -> list[fs.FileInfo]:
    """The matches of a pattern, one part of the path at a time."""
    wild = _WILD.search(pattern)
    if not wild:
        return [system.get_file_info(pattern)]
    head = pattern[: wild.start()].rpartition("/")[0]
    part, _, tail = pattern[len(head) + 1 :].partition("/")
    inside = system.get_file_info(fs.FileSelector(head or "/", allow_not_found=True))
    names = [info for info in inside if fnmatchcase(info.base_name, part)]
    if not tail:
        return names
    return [found for info in names if not info.is_file for found in _expanded(system, f"{info.path}/{tail}")]


def _set_aside(path: str, root: str) -> bool:
    match = _PARTITION.fullmatch(PurePosixPath(path).parent.name)
    return bool(match and match["aside"]) and str(PurePosixPath(path).parent) != root


def _segment(info: fs.FileInfo, prefix: str) -> SegmentFile:
    topic, partition = topic_and_partition(PurePosixPath(info.path).parent.name)
    return SegmentFile(prefix + info.path, info.size or 0, topic, partition)


def _pattern_hint(path: str) -> str:
    return " matches the pattern" if _WILD.search(path) else ""
