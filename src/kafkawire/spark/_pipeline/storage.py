"""The storage of results: local directories, and all file systems of Hadoop by URL.

Rules:
- Spark writes the tables, so Hadoop interprets URLs: `hdfs://`, `s3a://`, `abfss://`, `gs://`, `file://`, with the
  settings of Spark. Small files use the same file system.
- A text file is replaced atomically if the storage supports it: by a rename on a local disk, at its close in object
  stores. On a full disk it is rewritten in its place, which needs no space if it fits the blocks that it has.
- A local directory is locked while a run writes it. The lock ends with the process, however it ends.
- Names are relative to a directory, with slashes.
"""

from __future__ import annotations

import errno
import os
import shutil
from typing import TYPE_CHECKING, Any, Final, Protocol, TypeVar
from weakref import finalize

from py4j.protocol import Py4JError, Py4JJavaError

from kafkawire._platforms import HAS_DIRECTORY_LOCKS, lock_directory
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

_Result = TypeVar("_Result")
_FULL: Final = (errno.ENOSPC, errno.EDQUOT)


class Storage(Protocol):
    """The operations on one directory that results need."""

    @property
    def root(self) -> str:
        """The path or URL of the directory."""

    def is_file(self) -> bool:
        """Whether the path is a file."""

    def create(self) -> None:
        """Create the directory if it does not exist."""

    def children(self, name: str = "") -> list[str]:
        """The names in a directory; empty if it does not exist."""

    def files(self, name: str) -> list[str]:
        """The files below a directory, by their relative names."""

    def read_text(self, name: str) -> str | None: ...
    def write_text(self, name: str, text: str) -> None: ...
    def remove(self, name: str) -> None:
        """Remove a file, or a directory with its content."""

    def lock(self) -> None:
        """Keep other runs from writing here until `unlock`, if the file system can; raises if one does."""

    def unlock(self) -> None: ...


class LocalStorage:
    """A local directory."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self._closing: finalize[Any, Any] | None = None

    @property
    def root(self) -> str:
        return str(self.path)

    def is_file(self) -> bool:
        return self.path.is_file()

    def create(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)

    def children(self, name: str = "") -> list[str]:
        directory = self.path / name
        return sorted(each.name for each in directory.iterdir()) if directory.is_dir() else []

    def files(self, name: str) -> list[str]:
        directory = self.path / name
        return [each.relative_to(directory).as_posix() for each in directory.rglob("*") if each.is_file()]

    def read_text(self, name: str) -> str | None:
        try:
            return (self.path / name).read_text("utf-8")
        except OSError:
            return None

    def write_text(self, name: str, text: str) -> None:
        path, draft = self.path / name, self.path / f"{name}.new"
        try:
            draft.write_text(text, "utf-8")
        except OSError as error:
            draft.unlink(missing_ok=True)
            if error.errno not in _FULL or not path.exists():
                raise
            _rewrite(path, text)
            return
        draft.replace(path)

    def remove(self, name: str) -> None:
        path = self.path / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def lock(self) -> None:
        if self._closing is not None or not self.path.is_dir() or not HAS_DIRECTORY_LOCKS:
            return
        descriptor = os.open(self.path, os.O_RDONLY)
        self._closing = finalize(self, os.close, descriptor)
        try:
            lock_directory(descriptor)
        except BlockingIOError as error:
            self.unlock()
            raise PipelineError(f"another run writes to {self.root}; stop it, or give another directory") from error
        except OSError:
            self.unlock()  # a file system without locks, such as some network shares

    def unlock(self) -> None:
        closing, self._closing = self._closing, None
        if closing is not None:
            closing()


def _rewrite(path: Path, text: str) -> None:
    """Replace the content of a file in its place."""
    with path.open("r+", encoding="utf-8") as file:
        file.write(text)
        file.truncate()


class HadoopStorage:
    """A directory of a file system of Hadoop."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._url = url.rstrip("/")
        self._jvm: Any = spark.sparkContext._jvm
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        self._system: Any = self._call(lambda: self._path("").getFileSystem(conf))

    @property
    def root(self) -> str:
        return self._url

    def is_file(self) -> bool:
        return bool(self._call(lambda: self._exists("") and self._system.getFileStatus(self._path("")).isFile()))

    def create(self) -> None:
        self._call(lambda: self._system.mkdirs(self._path("")))

    def children(self, name: str = "") -> list[str]:
        def ask() -> list[str]:
            found = self._system.listStatus(self._path(name)) if self._exists(name) else ()
            return sorted(each.getPath().getName() for each in found)

        return self._call(ask)

    def files(self, name: str) -> list[str]:
        def ask() -> list[str]:
            if not self._exists(name):
                return []
            found, names = self._system.listFiles(self._path(name), True), []
            top = self._system.makeQualified(self._path(name)).toUri().getPath()
            while found.hasNext():
                names.append(found.next().getPath().toUri().getPath().removeprefix(f"{top}/"))
            return names

        return self._call(ask)

    def read_text(self, name: str) -> str | None:
        def ask() -> str | None:
            if not self._exists(name):
                return None
            stream = self._system.open(self._path(name))
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

        return self._call(ask)

    def write_text(self, name: str, text: str) -> None:
        def write() -> None:
            stream = self._system.create(self._path(name), True)
            try:
                stream.write(bytearray(text, "utf-8"))
            finally:
                stream.close()

        self._call(write)

    def lock(self) -> None:
        """Object stores have no locks; two streams with one checkpoint fail when both commit a batch."""

    def unlock(self) -> None:
        """Nothing was locked."""

    def remove(self, name: str) -> None:
        self._call(lambda: self._system.delete(self._path(name), True))

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._url}/{name}" if name else self._url)

    def _exists(self, name: str) -> bool:
        return bool(self._system.exists(self._path(name)))

    def _call(self, work: Callable[[], _Result]) -> _Result:
        try:
            return work()
        except Py4JJavaError as error:
            raise PipelineError(f"{self._url}: {error.java_exception.getMessage()}") from error
        except Py4JError as error:
            raise PipelineError(f"{self._url}: {error}") from error


def is_url(text: str) -> bool:
    """Whether a location is a URL.

    >>> is_url("s3a://bucket/tables"), is_url("/var/tables"), is_url("C:/tables")
    (True, False, False)
    """
    return "://" in text
