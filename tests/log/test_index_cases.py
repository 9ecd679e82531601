"""Verification agrees with Apache Kafka's DumpLogSegments, and with itself wherever it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.log.index_cases import CASES, write_case

from kafkawire.inspect import read_directories
from kafkawire.log._offline.findings import verify_paths
from kafkawire.spark._segments.file_totals import index_errors
from kafkawire.spark._segments.files import list_segments

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", CASES)
def test_every_user_of_the_verification_says_the_same(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    path = write_case(tmp_path / "orders-0", case)
    found = [(str(finding.path), finding.message) for finding in verify_paths([tmp_path])]
    if case.ours is None:
        assert found == []
    else:
        assert {file for file, _ in found} == {str(path)}
        assert any(case.ours in message for _, message in found)
    table = read_directories([tmp_path])["index_errors"].to_pylist()
    assert [(row["file"], row["problem"]) for row in table] == found
    (file,) = list_segments([str(tmp_path)])
    assert [(row["file"], row["problem"]) for row in index_errors(file)] == found


@pytest.mark.parametrize("name", CASES)
def test_verification_complains_where_kafka_does(name: str) -> None:
    assert (CASES[name].kafka is None) == (CASES[name].ours is None)
