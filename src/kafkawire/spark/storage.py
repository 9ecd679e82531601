"""Where a run keeps its results: directories of this machine, and whatever Hadoop knows by URL.

Rules:
- Tables are written by Spark, so what a URL means is what it means to Hadoop: `hdfs://`, `s3a://`, `abfss://`, `gs://`,
  `file://`, with the settings that Spark has for them. Small files go the same way.
- A text file is put in place whole where the store can do that: renamed locally, made visible at its close in object
  stores.
- Names are relative to a directory, with slashes.
"""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from py4j.protocol import Py4JError, Py4JJavaError

from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

_Result = TypeVar("_Result")


class Storage(Protocol):
    """What results need of a file system, below one directory."""

    @property
    def root(self) -> str:
        """The directory, as Spark and people name it."""

    def is_file(self) -> bool:
        """Whether the directory's name is that of a file."""

    def create(self) -> None:
        """Make the directory, unless it is there."""

    def children(self, name: str = "") -> list[str]:
        """The names in a directory; none where there is no such."""

    def files(self, name: str) -> list[str]:
        """The files below a directory, by their names in it."""

    def read_text(self, name: str) -> str | None: ...
    def write_text(self, name: str, text: str) -> None: ...
    def remove(self, name: str) -> None:
        """Remove a file, or a directory with all that is in it."""


class LocalStorage:
    """A directory of this machine."""

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()

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
        draft = self.path / f"{name}.new"
        draft.write_text(text, "utf-8")
        draft.replace(self.path / name)

    def remove(self, name: str) -> None:
        path = self.path / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


class HadoopStorage:
    """A directory that Hadoop knows by its URL."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self._url = url.rstrip("/")
        self._jvm: Any = spark.sparkContext._jvm
        conf = spark.sparkContext._jsc.hadoopConfiguration()
        self._system: Any = self._told(lambda: self._path("").getFileSystem(conf))

    @property
    def root(self) -> str:
        return self._url

    def is_file(self) -> bool:
        return bool(self._told(lambda: self._exists("") and self._system.getFileStatus(self._path("")).isFile()))

    def create(self) -> None:
        self._told(lambda: self._system.mkdirs(self._path("")))

    def children(self, name: str = "") -> list[str]:
        def ask() -> list[str]:
            found = self._system.listStatus(self._path(name)) if self._exists(name) else ()
            return sorted(each.getPath().getName() for each in found)

        return self._told(ask)

    def files(self, name: str) -> list[str]:
        def ask() -> list[str]:
            if not self._exists(name):
                return []
            found, names = self._system.listFiles(self._path(name), True), []
            top = self._system.makeQualified(self._path(name)).toUri().getPath()
            while found.hasNext():
                names.append(found.next().getPath().toUri().getPath().removeprefix(f"{top}/"))
            return names

        return self._told(ask)

    def read_text(self, name: str) -> str | None:
        def ask() -> str | None:
            if not self._exists(name):
                return None
            stream = self._system.open(self._path(name))
            try:
                return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
            finally:
                stream.close()

        return self._told(ask)

    def write_text(self, name: str, text: str) -> None:
        def write() -> None:
            stream = self._system.create(self._path(name), True)
            try:
                stream.write(bytearray(text, "utf-8"))
            finally:
                stream.close()

        self._told(write)

    def remove(self, name: str) -> None:
        self._told(lambda: self._system.delete(self._path(name), True))

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(f"{self._url}/{name}" if name else self._url)

    def _exists(self, name: str) -> bool:
        return bool(self._system.exists(self._path(name)))

    def _told(self, work: Callable[[], _Result]) -> _Result:
        try:
            return work()
        except Py4JJavaError as error:
            raise PipelineError(f"{self._url}: {error.java_exception.getMessage()}") from error
        except Py4JError as error:
            raise PipelineError(f"{self._url}: {error}") from error


def is_url(text: str) -> bool:
    """Whether a place is named by a URL.

    >>> is_url("s3a://bucket/tables"), is_url("/var/tables"), is_url("C:/tables")
    (True, False, False)
    """
    return "://" in text
