"""One Spark session for all tests of a process: it takes seconds to start, and ends with the process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.spark.class_archive import java_options

from kafkawire.spark import JavaNotFoundError, build_session
from kafkawire.spark.java import find_java
from kafkawire.spark.session import LITTLE_DATA

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SETTINGS = {
    **LITTLE_DATA,
    "spark.driver.memory": "1g",
    "spark.driver.extraJavaOptions": java_options(),
    "spark.sql.maxConcurrentOutputFileWriters": "7",
}


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> SparkSession:
    try:
        find_java()
    except JavaNotFoundError as error:
        pytest.skip(str(error))
    return build_session("local[2]", settings=SETTINGS, log_file=tmp_path_factory.mktemp("spark") / "spark.log")
