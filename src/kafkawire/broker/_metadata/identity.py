"""The ids of a data directory, from its `meta.properties`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from uuid import uuid4

from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.log.checkpoints import META, read_properties
from kafkawire.messages import parse_uuid, uuid_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path
    from uuid import UUID

    from kafkawire.log.storage.files import FileSystem


def cluster_id_of(files: FileSystem, root: Path) -> str:
    """The cluster id of a directory, or a new one."""
    found = read_properties(files, root / META) or {}
    return found.get("cluster.id") or uuid_text(uuid4())


def directory_id_of(properties: Mapping[str, str]) -> UUID:
    """The id that a directory states; none if it cannot be read, because nothing depends on it."""
    try:
        return parse_uuid(properties["directory.id"])
    except ValueError:
        return NO_ID
