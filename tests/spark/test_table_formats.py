"""The settings of Spark for each format of tables."""

from __future__ import annotations

import pytest

from kafkawire.spark._pipeline import output
from kafkawire.spark._pipeline.output import settings_of
from kafkawire.spark.errors import PipelineError


def test_parquet_needs_nothing() -> None:
    assert settings_of("parquet", {}) == {}


def test_delta_needs_its_package_and_names_its_jars_unless_the_user_does(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(PipelineError, match="run: pip install delta-spark"):
        settings_of("delta", {})
    monkeypatch.setattr(output, "version", {"delta-spark": "4.4.0", "pyspark": "4.2.1"}.__getitem__)
    settings = settings_of("delta", {})
    assert settings["spark.jars.packages"] == "io.delta:delta-spark_4.2_2.13:4.4.0"
    assert settings["spark.sql.extensions"].startswith("io.delta.")
    assert "spark.jars.packages" not in settings_of("delta", {"spark.jars": "/jars/delta.jar"})
