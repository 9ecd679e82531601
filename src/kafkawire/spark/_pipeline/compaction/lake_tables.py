"""The compaction of Delta and Iceberg tables, by their own commands.

Rules:
- Both add one version to the table. Readers keep the version that they have, and other streams skip this one, because
  it changes no row.
- Old files stay until the user removes them: `VACUUM` of Delta, `expire_snapshots` of Iceberg.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.errors import PySparkException

from kafkawire.spark._pipeline.table_formats import missing_jar
from kafkawire.spark.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SIZES: Final = ("spark.databricks.delta.optimize.maxFileSize", "spark.databricks.delta.optimize.minFileSize")


def compact_delta(spark: SparkSession, path: str, target: int) -> tuple[int, int]:
    """Run OPTIMIZE; returns how many files became how many."""
    for name, size in zip(_SIZES, (target, target // 2), strict=True):
        spark.conf.set(name, str(size))
    escaped = path.replace("`", "``")
    try:
        [row] = spark.sql(f"OPTIMIZE delta.`{escaped}`").select("metrics.*").collect()
    except PySparkException as error:
        raise PipelineError(f"OPTIMIZE of {path}: {str(error).splitlines()[0]}") from error
    return row["numFilesRemoved"], row["numFilesAdded"]


def compact_iceberg(spark: SparkSession, path: str, target: int) -> tuple[int, int]:
    """Run rewriteDataFiles; returns how many files became how many."""
    jvm: Any = spark.sparkContext._jvm
    conf = spark.sparkContext._jsc.hadoopConfiguration()
    iceberg = jvm.org.apache.iceberg
    spark.createDataFrame([], "id int")  # makes this session the active one of the JVM's thread, where the action looks
    try:
        table = iceberg.hadoop.HadoopTables(conf).load(path)
        action = iceberg.spark.actions.SparkActions.get(spark._jsparkSession).rewriteDataFiles(table).binPack()
        done = action.option("target-file-size-bytes", str(target)).option("min-input-files", "2").execute()
    except TypeError as error:  # the name is a package, not a class
        raise PipelineError(missing_jar("iceberg")) from error
    except Py4JJavaError as error:
        raise PipelineError(f"rewriteDataFiles of {path}: {error.java_exception.getMessage()}") from error
    except Py4JError as error:
        raise PipelineError(f"rewriteDataFiles of {path}: {error}") from error
    except PySparkException as error:
        raise PipelineError(f"rewriteDataFiles of {path}: {str(error).splitlines()[0]}") from error
    return done.rewrittenDataFilesCount(), done.addedDataFilesCount()
