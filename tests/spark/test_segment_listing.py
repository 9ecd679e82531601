"""Files of a path, and their topics and partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.spark._segments.files import OpenFile, list_segments, topic_and_partition
from kafkawire.spark.errors import SourceOptionError

if TYPE_CHECKING:
    from pathlib import Path

FIRST, SECOND = f"{0:020}.log", f"{500:020}.log"


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    files = [
        *(f"orders-0/{name}" for name in (FIRST, SECOND, "leader-epoch-checkpoint", f"{0:020}.index", "app.log")),
        f"orders-1/{FIRST}",
        f"page-views-12/{FIRST}",
        f"page-views-12/{SECOND}.deleted",
        f"gone-0.0123456789abcdef0123456789abcdef-delete/{FIRST}",
        "meta.properties",
    ]
    for name in files:
        path = tmp_path / "kafka" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"12345")
    return tmp_path / "kafka"


def listed(*paths: Path | str) -> list[tuple[str | None, int | None, str]]:
    return [(file.topic, file.partition, file.name.rpartition("/")[2]) for file in list_segments(map(str, paths))]


def test_a_directory_is_searched_for_segments_only_and_passes_by_what_kafka_set_aside(log_dir: Path) -> None:
    assert listed(log_dir) == [
        ("orders", 0, FIRST),
        ("orders", 0, SECOND),
        ("orders", 1, FIRST),
        ("page-views", 12, FIRST),
    ]


def test_a_pattern_matches_directories_and_files(log_dir: Path) -> None:
    assert listed(log_dir / "orders-*") == [("orders", 0, FIRST), ("orders", 0, SECOND), ("orders", 1, FIRST)]
    assert listed(log_dir / "*-[01]" / "*500.log") == [("orders", 0, SECOND)]


def test_a_directory_that_was_set_aside_is_read_when_it_is_named(log_dir: Path) -> None:
    assert listed(log_dir / "gone-0.0123456789abcdef0123456789abcdef-delete") == [("gone", 0, FIRST)]


def test_a_file_that_is_named_may_be_called_anything(log_dir: Path) -> None:
    assert listed(log_dir / "orders-0" / "app.log", log_dir / "meta.properties") == [
        (None, None, "meta.properties"),
        ("orders", 0, "app.log"),
    ]


def test_paths_that_overlap_give_each_file_once(log_dir: Path) -> None:
    assert len(listed(log_dir, log_dir / "orders-0", f"file://{log_dir}/orders-0")) == 4


def test_a_relative_path_is_taken_from_here(log_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(log_dir)
    [file] = list_segments(["orders-1"])
    assert file.name == str(log_dir / "orders-1" / FIRST)
    with OpenFile(file.name) as opened:
        assert bytes(opened.read(1, 3)) == b"234"
        assert bytes(opened.read(3, 100)) == b"45"


def test_an_empty_directory_has_no_segments(tmp_path: Path) -> None:
    assert listed(tmp_path) == []


@pytest.mark.parametrize(
    ("path", "problem"),
    [("absent", "no such file or directory"), ("*.nothing", "no such file or directory matches the pattern")],
)
def test_a_path_that_means_nothing_is_refused(tmp_path: Path, path: str, problem: str) -> None:
    with pytest.raises(SourceOptionError, match=problem):
        list_segments([str(tmp_path / path)])


def test_a_file_system_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(SourceOptionError, match="no file system for nosuch://"):
        list_segments(["nosuch://host/kafka/*"])


@pytest.mark.parametrize(
    ("directory", "owner"),
    [
        ("orders-0", ("orders", 0)),
        ("a-b-c-21", ("a-b-c", 21)),
        ("__consumer_offsets-49", ("__consumer_offsets", 49)),
        ("orders-7.9f2c-future", ("orders", 7)),
        ("orders", (None, None)),
        ("-3", (None, None)),
        ("orders-", (None, None)),
    ],
)
def test_topic_and_partition_are_in_the_name_of_the_directory(directory: str, owner: tuple[str, int]) -> None:
    assert topic_and_partition(directory) == owner
