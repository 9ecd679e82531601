"""The small text files of a log directory.

Rules:
- A checkpoint has a version line (0), a count line, then one line per entry. Any other file is damaged.
- Every file is replaced as a whole, durably, by rename.
- A damaged or missing file is reported by the reader as None; its owner rebuilds what it held.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

from kafkawire.log.storage.files import read_file, replace_file
from kafkawire.messages import parse_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path
    from uuid import UUID

    from kafkawire.log.storage.files import FileSystem

RECOVERY_POINTS = "recovery-point-offset-checkpoint"
LOG_STARTS = "log-start-offset-checkpoint"
CLEANED = "cleaner-offset-checkpoint"
HIGH_WATERMARKS = "replication-offset-checkpoint"
EPOCHS = "leader-epoch-checkpoint"
PARTITION = "partition.metadata"
META = "meta.properties"
CLEAN_SHUTDOWN = ".kafka_cleanshutdown"
LOCK = ".lock"

TopicPartition = tuple[str, int]
_USUAL_METADATA: Final = 100  # bytes of the file with a topic id; longer content is damaged, and not remembered


def write_lines(files: FileSystem, path: Path, lines: Iterable[str], *, durable: bool = True) -> None:
    """Replace a checkpoint file by these entries."""
    entries = list(lines)
    content = "".join(f"{line}\n" for line in ["0", str(len(entries)), *entries]).encode()
    replace_file(files, path, content, durable=durable)


def read_lines(files: FileSystem, path: Path) -> list[list[str]] | None:
    """The entries of a checkpoint file, each split into its words; None if it is missing or damaged."""
    try:
        lines = read_file(files, path).decode().splitlines()
        if lines[0].strip() != "0" or int(lines[1]) != len(lines) - 2:
            return None
    except (OSError, ValueError, IndexError):
        return None
    return [line.split() for line in lines[2:]]


def write_offsets(files: FileSystem, path: Path, offsets: Mapping[TopicPartition, int]) -> None:
    """Replace one of the root's `topic partition offset` files."""
    write_lines(files, path, (f"{topic} {number} {offset}" for (topic, number), offset in sorted(offsets.items())))


def read_offsets(files: FileSystem, path: Path) -> dict[TopicPartition, int] | None:
    """The offsets of a `topic partition offset` file; None if it is missing or damaged."""
    lines = read_lines(files, path)
    if lines is None:
        return None
    try:
        offsets = {(topic, int(number)): int(offset) for topic, number, offset in lines}
    except ValueError:
        return None
    return offsets if all(0 <= offset < 2**63 for offset in offsets.values()) else None


def write_properties(files: FileSystem, path: Path, properties: Mapping[str, str]) -> None:
    """Replace a Java properties file; its names and values never need escapes."""
    replace_file(files, path, "".join(f"{name}={value}\n" for name, value in sorted(properties.items())).encode())


def read_properties(files: FileSystem, path: Path) -> dict[str, str] | None:
    """The pairs of a Java properties file; None if it is missing or not text."""
    try:
        lines = read_file(files, path).decode().splitlines()
    except (OSError, UnicodeDecodeError):
        return None
    pairs = (line.partition("=") for line in lines if "=" in line and not line.startswith("#"))
    return {name.strip(): value.strip() for name, _, value in pairs}


def write_topic_id(files: FileSystem, directory: Path, topic_id: UUID) -> Path:
    """Write a partition's metadata file, which the caller syncs; its path."""
    path = directory / PARTITION
    # It needs no rename: a file that a crash cut short has no topic id, and it had none before.
    file = files.open(path, create=True)
    file.truncate(0)
    file.write(0, [f"version: 0\ntopic_id: {uuid_text(topic_id)}".encode()])
    return path


def read_topic_id(files: FileSystem, directory: Path) -> UUID | None:
    """The topic id in a partition's metadata file; None if it is missing or damaged."""
    try:
        return parse_topic_id(read_file(files, directory / PARTITION))
    except OSError:
        return None


def parse_topic_id(content: bytes) -> UUID | None:
    """The topic id in the content of a partition's metadata file; None if it is damaged."""
    return _known_topic_id(content) if len(content) <= _USUAL_METADATA else _parsed_topic_id(content)


def _parsed_topic_id(content: bytes) -> UUID | None:
    try:
        lines = content.decode().splitlines()
        version, topic_id = (line.partition(":")[2].strip() for line in lines)
        return parse_uuid(topic_id) if version == "0" else None
    except ValueError:
        return None


_known_topic_id: Final = lru_cache(1024)(_parsed_topic_id)  # all partitions of a topic have the same content
