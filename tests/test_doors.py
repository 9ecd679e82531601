"""The doors of the packages: every name behind them is there, documented homes still work, and opening one is cheap."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module

import pytest

DOORS = ("messages", "wire", "records", "log", "broker", "client", "inspect", "spark", "testing")
EARLIER_HOMES = {
    "kafkawire.client.fetch": "BulkReader",
    "kafkawire.spark.captures_input": "CapturesInput",
    "kafkawire.spark.jobs": "Job",
    "kafkawire.spark.segments_input": "SegmentsInput",
    "kafkawire.spark.topic_progress": "LagListener",
    "kafkawire.spark.topics_input": "TopicsInput",
}


def names_of(door: str) -> list[str]:
    """The public names of a package, and those that it keeps for other packages."""
    package = vars(import_module(f"kafkawire.{door}"))
    tables = (package.get(table, {}) for table in ("_HOMES", "_LAZY", "_SHARED"))
    return sorted({*package["__all__"], *(name for table in tables for name in table)})


@pytest.mark.parametrize(("door", "name"), [(door, name) for door in DOORS for name in names_of(door)])
def test_every_name_is_behind_its_door(door: str, name: str) -> None:
    assert getattr(import_module(f"kafkawire.{door}"), name) is not None


@pytest.mark.parametrize("door", DOORS)
def test_a_name_that_is_not_there_is_an_attribute_error(door: str) -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        getattr(import_module(f"kafkawire.{door}"), "no_such_name")  # noqa: B009  # checkers know that it is absent


@pytest.mark.parametrize(("home", "name"), EARLIER_HOMES.items())
def test_an_earlier_home_has_the_same_object_as_the_door(home: str, name: str) -> None:
    door = import_module(home.rpartition(".")[0])
    assert getattr(import_module(home), name) is getattr(door, name)


@pytest.mark.parametrize("door", DOORS)
def test_opening_a_door_loads_neither_arrow_nor_spark(door: str) -> None:
    code = f"import sys, kafkawire.{door}; print({{'numpy', 'pyarrow', 'pyspark'}} & sys.modules.keys())"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"
