"""The settings of Spark for each format of tables."""

from __future__ import annotations

import pytest

from kafkawire.spark._pipeline import table_formats
from kafkawire.spark._pipeline.table_formats import FORMATS, settings_of
from kafkawire.spark.errors import PipelineError


def installed(monkeypatch: pytest.MonkeyPatch, release: str) -> None:
    monkeypatch.setattr(table_formats, "version", {"pyspark": release}.__getitem__)


def test_parquet_needs_nothing() -> None:
    assert settings_of("parquet", {}) == {}


@pytest.mark.parametrize(
    ("name", "release", "package"),
    [
        ("delta", "4.2.1", "io.delta:delta-spark_4.2_2.13:4.4.0"),
        ("delta", "4.1.4", "io.delta:delta-spark_4.1_2.13:4.4.0"),
        ("iceberg", "4.1.4", "org.apache.iceberg:iceberg-spark-runtime-4.1_2.13:1.12.0"),
    ],
)
def test_a_format_names_the_package_for_this_pyspark_unless_the_user_names_one(
    monkeypatch: pytest.MonkeyPatch, name: str, release: str, package: str
) -> None:
    installed(monkeypatch, release)
    assert settings_of(name, {}) == {**FORMATS[name].settings, "spark.jars.packages": package}
    for setting in ("spark.jars", "spark.jars.packages"):
        assert settings_of(name, {setting: "mine"}) == FORMATS[name].settings


@pytest.mark.parametrize(("name", "advice"), [("delta", "4.2"), ("iceberg", "4.1")])
def test_a_pyspark_without_a_known_release_is_told_which_have_one_and_how_to_name_another(
    monkeypatch: pytest.MonkeyPatch, name: str, advice: str
) -> None:
    installed(monkeypatch, "4.3.0")
    with pytest.raises(PipelineError, match=f"no release of {name.capitalize()} for PySpark 4.3.0 is known") as error:
        settings_of(name, {})
    text = str(error.value)
    assert f"pip install 'pyspark=={advice}.*'" in text
    assert FORMATS[name].packages[advice] in text
    assert "--conf spark.jars.packages=" in text
    assert "--conf spark.jars=" in text
