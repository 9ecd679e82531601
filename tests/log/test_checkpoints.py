"""The small text files of a log directory."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID

import pytest

from kafkawire.log import MemoryFiles
from kafkawire.log.checkpoints import (
    read_offsets,
    read_properties,
    read_topic_id,
    write_offsets,
    write_properties,
    write_topic_id,
)
from kafkawire.log.storage.files import read_file
from kafkawire.messages._uuids import parse_uuid, uuid_text

ROOT = Path("/logs")


@pytest.fixture
def files() -> MemoryFiles:
    files = MemoryFiles()
    files.make_directory(ROOT)
    return files


def put(files: MemoryFiles, name: str, content: bytes) -> Path:
    files.open(ROOT / name, create=True).write(0, [content])
    return ROOT / name


def test_offsets_are_written_as_kafka_writes_them(files: MemoryFiles) -> None:
    write_offsets(files, ROOT / "points", {("orders", 1): 7, ("a-b", 0): 3})
    assert read_file(files, ROOT / "points") == b"0\n2\na-b 0 3\norders 1 7\n"
    assert read_offsets(files, ROOT / "points") == {("orders", 1): 7, ("a-b", 0): 3}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"0",
        b"0\n1\n",
        b"0\n2\na 0 1\n",
        b"1\n1\na 0 1\n",
        b"0\n1\na 0\n",
        b"0\nx\na 0 1\n",
        b"0\n1\na 0 -1\n",
        b"0\n1\na 0 9223372036854775808\n",
        b"\xff\xfe",
        bytes(40),
    ],
)
def test_a_damaged_checkpoint_is_none(files: MemoryFiles, content: bytes) -> None:
    assert read_offsets(files, put(files, "points", content)) is None


def test_a_missing_checkpoint_is_none(files: MemoryFiles) -> None:
    assert read_offsets(files, ROOT / "points") is None


def test_properties_with_comments_as_java_writes_them(files: MemoryFiles) -> None:
    path = put(files, "meta.properties", b"#\n#Sun Nov 15 20:52:12 UTC 2026\nnode.id=1\nversion=1\n")
    assert read_properties(files, path) == {"node.id": "1", "version": "1"}
    write_properties(files, path, {"b": "2", "a": "1"})
    assert read_file(files, path) == b"a=1\nb=2\n"


def test_topic_ids_are_kept_in_kafkas_spelling(files: MemoryFiles) -> None:
    topic_id = UUID("e1227bf0-c54d-4511-93bf-b95cdad5c8d6")
    write_topic_id(files, ROOT, topic_id)
    assert read_file(files, ROOT / "partition.metadata") == b"version: 0\ntopic_id: 4SJ78MVNRRGTv7lc2tXI1g"
    assert read_topic_id(files, ROOT) == topic_id
    assert parse_uuid(uuid_text(topic_id)) == topic_id


@pytest.mark.parametrize(
    "content", [b"", b"version: 0", b"version: 1\ntopic_id: 4SJ78MVNRRGTv7lc2tXI1g", b"version: 0\ntopic_id: x!"]
)
def test_damaged_partition_metadata_is_none(files: MemoryFiles, content: bytes) -> None:
    put(files, "partition.metadata", content)
    assert read_topic_id(files, ROOT) is None
