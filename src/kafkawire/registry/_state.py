"""The state of the registry: subjects with their versions, ids, levels and modes; pure, changed by records.

Rules:
- `apply` is the only way to change the state. It takes the records of the topic `_schemas`, the same at a start and
  after a request. A record of an unknown kind changes nothing.
- An id belongs to a text with its type and references, in all subjects.
- A soft-deleted version keeps its number and its id, so that old values can be read. A version that is deleted
  permanently is gone, and its number too if it was the last.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.values import Reference, Schema, SchemaType

if TYPE_CHECKING:
    from collections.abc import Iterator

GLOBAL: Final = ""
"""The name of the settings that hold for all subjects."""


@dataclass(frozen=True)
class Version:
    """One version of a subject."""

    subject: str
    number: int
    id: int
    schema: Schema
    is_deleted: bool = False

    @property
    def guid(self) -> UUID:
        """The id of the schema that is the same in every registry."""
        return guid_of(self.schema)


def guid_of(schema: Schema) -> UUID:
    """A UUID made of the text, the type and the references of a schema."""
    parts = [
        schema.type.value,
        schema.text,
        *(f"{each.name} {each.subject} {each.version}" for each in schema.references),
    ]
    return UUID(bytes=hashlib.md5("\0".join(parts).encode(), usedforsecurity=False).digest())


@dataclass
class State:
    """Everything that the registry knows."""

    subjects: dict[str, dict[int, Version]] = field(default_factory=dict)
    levels: dict[str, str] = field(default_factory=dict)
    modes: dict[str, str] = field(default_factory=dict)
    ids: dict[int, Schema] = field(default_factory=dict)
    _id_of: dict[UUID, int] = field(default_factory=dict)

    def apply(self, key: dict[str, Any], value: dict[str, Any] | None) -> None:
        """Change the state as a record says."""
        subject = key.get("subject") or GLOBAL
        match key.get("keytype"):
            case "SCHEMA":
                self._apply_schema(subject, key["version"], value)
            case "DELETE_SUBJECT" if value is not None:
                for number, version in self.subjects.get(subject, {}).items():
                    if number <= value["version"]:
                        self.subjects[subject][number] = replace(version, is_deleted=True)
            case "CONFIG":
                _set(self.levels, subject, value, "compatibilityLevel")
            case "MODE":
                _set(self.modes, subject, value, "mode")

    def _apply_schema(self, subject: str, number: int, value: dict[str, Any] | None) -> None:
        if value is None:
            versions = self.subjects.get(subject, {})
            versions.pop(number, None)
            if not versions:
                self.subjects.pop(subject, None)
            return
        references = tuple(
            Reference(each["name"], each["subject"], each["version"]) for each in value.get("references") or ()
        )
        schema = Schema(value["schema"], SchemaType(value.get("schemaType") or "AVRO"), references)
        version = Version(subject, number, value["id"], schema, bool(value.get("deleted")))
        self.subjects.setdefault(subject, {})[number] = version
        self.ids[version.id] = schema
        self._id_of.setdefault(version.guid, version.id)

    def live(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """The versions of a subject, oldest first; with `deleted` also those that are soft-deleted."""
        found = self.subjects.get(subject, {})
        return [found[number] for number in sorted(found) if deleted or not found[number].is_deleted]

    def everything(self, *, deleted: bool = False) -> Iterator[Version]:
        """The versions of all subjects."""
        for subject in sorted(self.subjects):
            yield from self.live(subject, deleted=deleted)

    def id_of(self, schema: Schema) -> int | None:
        """The id of a schema, if it was ever registered."""
        return self._id_of.get(guid_of(schema))

    def next_id(self) -> int:
        return max(self.ids, default=0) + 1

    def next_version(self, subject: str) -> int:
        return max(self.subjects.get(subject, ()), default=0) + 1

    def level(self, subject: str) -> str:
        """The compatibility level that holds for a subject."""
        return self.levels.get(subject) or self.levels.get(GLOBAL, "BACKWARD")

    def mode(self, subject: str) -> str:
        """The mode that holds for a subject."""
        everywhere = self.modes.get(GLOBAL, "READWRITE")
        return everywhere if everywhere == "READONLY_OVERRIDE" else self.modes.get(subject, everywhere)

    def referenced_by(self, subject: str, number: int) -> list[Version]:
        """The versions that refer to a version."""
        return [
            version
            for version in self.everything()
            if any((each.subject, each.version) == (subject, number) for each in version.schema.references)
        ]


def _set(settings: dict[str, str], subject: str, value: dict[str, Any] | None, name: str) -> None:
    if value is None or not value.get(name):
        settings.pop(subject, None)
    else:
        settings[subject] = value[name]
