"""The data source `kafkawire-segments`: Kafka's log files as tables.

Options, besides the path or paths of `load`:
- `table`: `records` (default), `batches`, `segment_files` or `index_errors`, see `tables.py`. A schema that the user
  gives is a projection of it.
- `mode`: what to do about bytes that cannot be read. `FAILFAST` (default) fails with file and position, `PERMISSIVE`
  gives a row whose `fault` says what is wrong, `DROPMALFORMED` leaves them out. The tables about files count faults
  instead.
- `verify`: whether CRCs are checked (default true).
- `includeControl`: whether the records table has transaction markers and other control records (default false).
- `maxPartitionBytes`: how much a task reads at most (default 128 MiB); `minPartitions`: how many tasks there should be
  at least, if there are 4 MiB for each (default: the processors of the driver).

Rules:
- This module is imported wherever Spark looks for data sources, so it imports nothing heavy before it is used.
- Files are listed and cut when a query is planned; a file that grows afterwards is read up to its size then.
"""

from __future__ import annotations

import json
import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, cast

from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pyarrow as pa
    from pyspark.sql.types import StructType

    from kafkawire.spark.splits import FileRange

FORMAT: Final = "kafkawire-segments"
Mode = Literal["FAILFAST", "PERMISSIVE", "DROPMALFORMED"]
_MODES: Final = ("FAILFAST", "PERMISSIVE", "DROPMALFORMED")
_TABLES: Final = ("records", "batches", "segment_files", "index_errors")
_NAMES: Final = ("table", "mode", "verify", "includeControl", "maxPartitionBytes", "minPartitions")
# A catalogue table hands its own properties over with the options.
_OF_SPARK: Final = re.compile(r"path|paths|owner|provider|comment|location|external|is_managed_location|option\..*")
_UNITS: Final = {"": 1, "b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


@dataclass(frozen=True)
class Options:
    """The options of a read, checked."""

    paths: tuple[str, ...]
    table: str = "records"
    mode: Mode = "FAILFAST"
    verify: bool = True
    include_control: bool = False
    max_partition_bytes: int = 128 * 2**20
    min_partitions: int = 1

    @property
    def is_about_files(self) -> bool:
        return self.table in ("segment_files", "index_errors")

    @classmethod
    def parse(cls, given: Mapping[str, str]) -> Options:
        """The options that Spark hands over, whose keys are in lower case or compare so."""
        options = {key.lower(): value for key, value in given.items()}
        known = {name.lower() for name in _NAMES}
        unknown = sorted(key for key in options if key not in known and not _OF_SPARK.fullmatch(key))
        if unknown:
            raise SourceOptionError(f"{FORMAT} has no option {', '.join(unknown)}; it has {', '.join(_NAMES)}")
        return cls(
            paths=_paths(options),
            table=_choice("table", options.get("table", "records").lower(), _TABLES),
            mode=cast("Mode", _choice("mode", options.get("mode", "FAILFAST").upper(), _MODES)),
            verify=_flag("verify", options.get("verify", "true")),
            include_control=_flag("includeControl", options.get("includecontrol", "false")),
            max_partition_bytes=_size("maxPartitionBytes", options.get("maxpartitionbytes", "128m")),
            min_partitions=_size("minPartitions", options.get("minpartitions", str(os.cpu_count() or 1))),
        )


@dataclass
class SegmentPartition(InputPartition):
    """What one task reads."""

    ranges: tuple[FileRange, ...]


class SegmentsDataSource(DataSource):
    """Kafka's log files as a table of records or of batches.

    >>> spark.read.format("kafkawire-segments").load("/var/lib/kafka/orders-0").count()  # doctest: +SKIP
    """

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> StructType:
        from kafkawire.spark.tables import table_schema

        return table_schema(Options.parse(self.options).table)

    def reader(self, schema: StructType) -> DataSourceReader:
        from kafkawire.spark.tables import check_projection

        options = Options.parse(self.options)
        check_projection(options.table, schema)
        return SegmentsReader(options, tuple(schema.names))


class SegmentsReader(DataSourceReader):
    """Plans on the driver, reads on the executors."""

    def __init__(self, options: Options, columns: tuple[str, ...]) -> None:
        self._options = options
        self._columns = columns

    def partitions(self) -> list[InputPartition]:
        from kafkawire.spark.listing import list_segments
        from kafkawire.spark.splits import plan_tasks, plan_whole_files

        options = self._options
        files = list_segments(options.paths)
        if options.is_about_files:
            tasks = plan_whole_files(files, max_bytes=options.max_partition_bytes)
        else:
            tasks = plan_tasks(files, max_bytes=options.max_partition_bytes, min_tasks=options.min_partitions)
        # Spark makes one partition without a value out of no partitions.
        return [SegmentPartition(tuple(task)) for task in tasks or [[]]]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        from kafkawire.spark.reading import read_ranges

        assert isinstance(partition, SegmentPartition)
        return read_ranges(partition.ranges, self._columns, self._options)


def _paths(options: Mapping[str, str]) -> tuple[str, ...]:
    if "paths" in options:
        try:
            paths = tuple(json.loads(options["paths"]))
        except (ValueError, TypeError):
            paths = ()
        if not paths or not all(isinstance(path, str) for path in paths):
            raise SourceOptionError(f"paths is {options['paths']!r}, expected a JSON list of paths")
        return paths
    if not options.get("path"):
        raise SourceOptionError(f'{FORMAT} needs a path, as in .load("/var/lib/kafka/orders-0")')
    return (options["path"],)


def _choice(name: str, value: str, choices: tuple[str, ...]) -> str:
    if value not in choices:
        raise SourceOptionError(f"{name} is {value!r}, expected {', '.join(choices)}")
    return value


def _flag(name: str, value: str) -> bool:
    return _choice(name, value.lower(), ("true", "false")) == "true"


def _size(name: str, value: str) -> int:
    """A number of at least 1, with a unit if need be.

    >>> _size("maxPartitionBytes", "64m")
    67108864
    """
    match = re.fullmatch(r"(\d{1,18})\s*([kmg]?)b?", value.strip().lower())
    number = int(match[1]) * _UNITS[match[2]] if match else 0
    if not number:
        raise SourceOptionError(f"{name} is {value!r}, expected a number from 1 on, such as 67108864 or 64m")
    return number
