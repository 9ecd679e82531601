"""The formats of tables: Parquet, Delta and Iceberg.

Rules:
- Parquet is part of Spark. Delta and Iceberg need jars made for the release of this PySpark. Spark fetches them from
  Maven Central at its start, unless the user's settings name jars or packages.
- The releases here are those that the tests of `make lakes` ran with. Another one is the choice of the user, by
  `spark.jars` or `spark.jars.packages`.
- A stream adds a batch to a table once. Each format keeps the last batch of a query in its own log: Parquet in
  `_spark_metadata`, Delta in its transactions, Iceberg in its snapshots.
- An Iceberg table lies at its path, without a catalog, as Delta tables do. A stream needs the table to exist.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Final

from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame, DataFrameReader, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from pyspark.sql.types import StructType

    from kafkawire.spark._pipeline.storage import Storage

_NAMING_JARS: Final = ("spark.jars", "spark.jars.packages")


@dataclass(frozen=True)
class TableFormat:
    """A format of tables: how it is written, and where its own log of batches is."""

    name: str
    log: str
    entry: re.Pattern[str]
    """The names of the entries of the log that a batch adds."""
    packages: Mapping[str, str] = field(default_factory=dict)
    """The package of Maven for each release of PySpark; empty if the format is part of Spark."""
    settings: Mapping[str, str] = field(default_factory=dict)

    def read(self, spark: SparkSession, path: str, schema: StructType) -> DataFrame:
        """A table as it is on disk."""
        self._prepare(spark)
        reader: DataFrameReader = spark.read.format(self.name)
        if self.name == "parquet":  # without its schema, the type of the topic's column would be guessed
            reader = reader.schema(schema)
        return reader.load(path)

    def write(self, frame: DataFrame, storage: Storage, table: str, partitioning: Sequence[str]) -> None:
        """Replace a table."""
        path = f"{storage.root}/{table}"
        self._prepare(frame.sparkSession)
        if self.name == "iceberg" and not storage.children(f"{table}/{self.log}"):
            _create_iceberg(frame.sparkSession, frame.schema, path, partitioning)
        writer = frame.write.format(self.name).mode("overwrite")
        (writer if self.name == "iceberg" else writer.partitionBy(*partitioning)).save(path)
        if self.name == "parquet" and partitioning and not _has_partitions(storage, table, partitioning[0]):
            # A partitioned table without rows has no file, so its columns could not be read back.
            frame.sparkSession.createDataFrame([], frame.schema).coalesce(1).write.mode("overwrite").parquet(path)

    def start(
        self, writer: DataStreamWriter, rows: DataFrame, storage: Storage, table: str, partitioning: Sequence[str]
    ) -> StreamingQuery:
        """Start a stream that appends to a table."""
        path = f"{storage.root}/{table}"
        self._prepare(rows.sparkSession)
        writer = writer.format(self.name)
        if self.name != "iceberg":
            return writer.partitionBy(*partitioning).start(path)
        if not storage.children(f"{table}/{self.log}"):
            _create_iceberg(rows.sparkSession, rows.schema, path, partitioning)
        return writer.option("fanout-enabled", "true").start(path)  # tasks do not sort rows by topic first

    def batches(self, storage: Storage, table: str) -> list[str]:
        """The entries of the log of a table that batches have added."""
        return [name for name in storage.children(f"{table}/{self.log}") if self.entry.match(name)]

    def _prepare(self, spark: SparkSession) -> None:
        """Iceberg takes its catalog from the session of the thread; in a thread without one it finds no catalog."""
        jvm = spark.sparkContext._jvm
        if self.name == "iceberg" and jvm is not None:
            jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)


FORMATS: Final[Mapping[str, TableFormat]] = {
    each.name: each
    for each in (
        TableFormat("parquet", "_spark_metadata", re.compile(r"\d")),
        TableFormat(
            "delta",
            "_delta_log",
            re.compile(r"\d"),
            {"4.2": "io.delta:delta-spark_4.2_2.13:4.4.0", "4.1": "io.delta:delta-spark_4.1_2.13:4.4.0"},
            {
                "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
                "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            },
        ),
        TableFormat(
            "iceberg",
            "metadata",
            re.compile(r"snap-"),
            {"4.1": "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"},
            {
                # The catalog of tables that are named by their path. By default it asks Hive.
                "spark.sql.catalog.default_iceberg": "org.apache.iceberg.spark.SparkCatalog",
                "spark.sql.catalog.default_iceberg.type": "hadoop",
                "spark.sql.catalog.default_iceberg.warehouse": "spark-warehouse",
                "spark.sql.catalog.default_iceberg.cache-enabled": "false",
            },
        ),
    )
}


def settings_of(table_format: str, given: Mapping[str, str]) -> dict[str, str]:
    """The settings of Spark that a format needs in addition; raises if no release for this PySpark is known.

    >>> settings_of("parquet", {})
    {}
    """
    chosen = FORMATS[table_format]
    settings = dict(chosen.settings)
    if chosen.packages and not any(name in given for name in _NAMING_JARS):
        settings["spark.jars.packages"] = _package_of(chosen)
    return settings


def _package_of(chosen: TableFormat) -> str:
    try:
        installed = version("pyspark")
    except PackageNotFoundError:
        installed = "0.0"
    package = chosen.packages.get(".".join(installed.split(".")[:2]))
    if package is None:
        known = "; ".join(f"PySpark {release} with {each}" for release, each in chosen.packages.items())
        newest = next(iter(chosen.packages))
        raise PipelineError(
            f"--format {chosen.name}: no release of {chosen.name.capitalize()} for PySpark {installed} is known, and"
            f" those for other releases fail on it. Known: {known}. Run: pip install 'pyspark=={newest}.*'. Or name"
            " another release: --conf spark.jars.packages=GROUP:ARTIFACT:VERSION, or --conf spark.jars=FILE.jar,..."
            " without a network"
        )
    return package


def _create_iceberg(spark: SparkSession, schema: StructType, path: str, partitioning: Sequence[str]) -> None:
    """Create a table without snapshots: a write would add one, which is not a batch."""
    context = spark.sparkContext
    jvm, conf = context._jvm, context._jsc.hadoopConfiguration()
    assert jvm is not None
    iceberg = jvm.org.apache.iceberg
    try:
        converted = iceberg.spark.SparkSchemaUtil.convert(spark.createDataFrame([], schema)._jdf.schema())
    except TypeError as error:  # the name is a package, not a class
        raise PipelineError(missing_jar("iceberg")) from error
    spec = iceberg.PartitionSpec.builderFor(converted)
    for column in partitioning:
        spec = spec.identity(column)
    iceberg.hadoop.HadoopTables(conf).create(converted, spec.build(), {}, path)


def missing_jar(table_format: str) -> str:
    """The text of the error for a session without the jars of a format."""
    packages = ", ".join(f"{each} (PySpark {release})" for release, each in FORMATS[table_format].packages.items())
    return (
        f"--format {table_format}: this Spark has no jar of {table_format.capitalize()}; start it with one, by"
        f" --packages or --conf spark.jars.packages= {packages}, or with the files, --conf spark.jars=FILE.jar,..."
    )


def _has_partitions(storage: Storage, table: str, column: str) -> bool:
    return any(name.startswith(f"{column}=") for name in storage.children(table))
