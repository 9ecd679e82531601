"""The line that a failure of Spark becomes."""

from __future__ import annotations

from kafkawire.spark._pipeline.progress import reason_of


def test_the_exception_of_java_counts_and_not_the_call_of_py4j() -> None:
    text = "An error occurred while calling o206.start.\n: org.x.NotFound: [CATALOG] no such\n\tat a.b(C.java:1)\n"
    assert reason_of(RuntimeError(text)) == "org.x.NotFound: [CATALOG] no such"


def test_a_missing_jar_of_a_format_is_named_with_the_option() -> None:
    for name in ("delta", "iceberg"):
        text = f"[DATA_SOURCE_NOT_FOUND] Failed to find the data source: {name}. Make sure"
        assert f"this Spark has no jar of {name.capitalize()}" in reason_of(RuntimeError(text))
        text = f"Cannot find catalog plugin class for catalog 'spark_catalog': org.{name}.Catalog."
        assert f"this Spark has no jar of {name.capitalize()}" in reason_of(RuntimeError(text))
