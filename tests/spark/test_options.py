"""The options of the data source, checked before anything is read."""

from __future__ import annotations

import pytest

from kafkawire.spark._segments.source import Options
from kafkawire.spark.errors import SourceOptionError


def test_every_option_has_its_default() -> None:
    options = Options.parse({"path": "/logs", "minPartitions": "3"})
    assert options == Options(("/logs",), "records", "FAILFAST", True, False, 128 * 1024 * 1024, 3)


def test_options_are_read_whatever_their_case() -> None:
    given = {
        "paths": '["/a", "/b"]',
        "TABLE": "Batches",
        "mode": "permissive",
        "verify": "FALSE",
        "includecontrol": "true",
        "maxpartitionbytes": "64m",
        "minPartitions": "2",
    }
    assert Options.parse(given) == Options(("/a", "/b"), "batches", "PERMISSIVE", False, True, 64 * 1024 * 1024, 2)


def test_options_that_a_catalogue_adds_do_no_harm() -> None:
    assert Options.parse({"path": "/a", "owner": "me", "provider": "x", "option.path": "/a"}).paths == ("/a",)


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ({}, r"kafkawire-segments needs a path, as in \.load"),
        ({"paths": "[]"}, r"paths is '\[\]', expected a JSON list of paths"),
        ({"paths": "[1]"}, "expected a JSON list of paths"),
        ({"path": "/a", "tabel": "batches"}, "kafkawire-segments has no option tabel; it has table, mode"),
        ({"path": "/a", "table": "rows"}, "table is 'rows', expected records, batches"),
        ({"path": "/a", "mode": "loose"}, "mode is 'LOOSE', expected FAILFAST, PERMISSIVE, DROPMALFORMED"),
        ({"path": "/a", "verify": "yes"}, "verify is 'yes', expected true, false"),
        ({"path": "/a", "maxPartitionBytes": "0"}, "maxPartitionBytes is '0', expected a number of at least 1"),
        ({"path": "/a", "maxPartitionBytes": "-5m"}, "maxPartitionBytes is '-5m'"),
        ({"path": "/a", "minPartitions": "many"}, "minPartitions is 'many'"),
    ],
)
def test_an_option_that_makes_no_sense_is_refused(given: dict[str, str], problem: str) -> None:
    with pytest.raises(SourceOptionError, match=problem):
        Options.parse(given)
