"""The operations of the registry: register, look up, check and delete schemas.

Rules:
- A change holds the lock from its check until its record is applied, so that two clients never get one version.
- The same schema under the same subject is the version that exists. A soft-deleted one comes back as a new version.
- A level decides which versions a new one is compared with: the latest, or with _TRANSITIVE all.
- A version that others refer to cannot be deleted.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from kafkawire.registry import _errors as errors
from kafkawire.registry._state import GLOBAL, State, Version
from kafkawire.registry._store import Store, deletion, level_change, mode_change, removal, schema_change
from kafkawire.values import Reference, Schema, SchemaError, SchemaType, check_schema, obstacles, usual_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from kafkawire.broker import Broker

LEVELS: Final = {
    "NONE": (),
    "BACKWARD": ("backward",),
    "FORWARD": ("forward",),
    "FULL": ("backward", "forward"),
}
MODES: Final = ("READWRITE", "READONLY", "READONLY_OVERRIDE", "IMPORT")
_LATEST: Final = ("latest", "-1")
_MOST_IMPORTS: Final = 200
_LAST_ID: Final = 2**31 - 1


class Service:
    """The registry without its HTTP."""

    def __init__(self, broker: Broker) -> None:
        self.state = State()
        self._store = Store(broker, self.state)
        self._lock = asyncio.Lock()

    async def open(self) -> None:
        await self._store.open()

    async def register(self, subject: str, body: Mapping[str, Any], *, normalize: bool) -> Version:
        """Register a schema; returns its version, which may have existed."""
        schema = self._schema_from(body, normalize=normalize)
        async with self._lock:
            found = self._find(subject, schema)
            if found is not None:
                return found
            self._check_writable(subject)
            version = Version(subject, self._number(subject, body), self._id(subject, schema, body), schema)
            reasons = self._obstacles(subject, schema, self.state.live(subject))
            if reasons and self.state.mode(subject) != "IMPORT":
                raise errors.incompatible(reasons)
            await self._store.write([schema_change(version)])
            return version

    def look_up(self, subject: str, body: Mapping[str, Any], *, normalize: bool, deleted: bool) -> Version:
        """The version of a subject that has this schema."""
        self.versions(subject, deleted=deleted)
        found = self._find(subject, self._schema_from(body, normalize=normalize), deleted=deleted)
        if found is None:
            raise errors.schema_not_found()
        return found

    def versions(self, subject: str, *, deleted: bool = False) -> list[Version]:
        """The versions of a subject, at least one."""
        found = self.state.live(subject, deleted=deleted)
        if not found:
            raise errors.subject_not_found(subject)
        return found

    def version(self, subject: str, number: str, *, deleted: bool = False) -> Version:
        """A version of a subject by its number, or the latest."""
        wanted = self._parse_version(number)
        found = self.versions(subject, deleted=deleted)
        if wanted is None:
            return found[-1]
        match = next((each for each in found if each.number == wanted), None)
        if match is None:
            raise errors.version_not_found(number)
        return match

    def schema(self, number: int) -> Schema:
        """The schema of an id."""
        found = self.state.ids.get(number)
        if found is None:
            raise errors.schema_not_found(number)
        return found

    def complete(self, schema: Schema) -> Schema:
        """A schema with the schemas that it refers to."""
        imports: dict[str, Schema] = {}
        self._collect(schema, imports, ())
        return replace(schema, imports=imports)

    async def delete_subject(self, subject: str, *, permanent: bool) -> list[int]:
        """Delete a subject; returns the numbers of its versions."""
        async with self._lock:
            self._check_writable(subject)
            every = self.state.live(subject, deleted=True)
            live = [each for each in every if not each.is_deleted]
            if not every:
                raise errors.subject_not_found(subject)
            for version in every:
                self._check_unreferenced(version)
            if permanent:
                if live:
                    raise errors.subject_not_soft_deleted(subject)
                changes = [removal(each) for each in every]
                changes += [level_change(subject, None)] if subject in self.state.levels else []
                changes += [mode_change(subject, None)] if subject in self.state.modes else []
                await self._store.write(changes)
                return [each.number for each in every]
            if not live:
                raise errors.subject_soft_deleted(subject)
            await self._store.write([deletion(subject, live[-1].number)])
            return [each.number for each in live]

    async def delete_version(self, subject: str, number: str, *, permanent: bool) -> int:
        """Delete a version of a subject."""
        async with self._lock:
            self._check_writable(subject)
            version = self.version(subject, number, deleted=permanent or number not in _LATEST)
            self._check_unreferenced(version)
            if permanent and not version.is_deleted:
                raise errors.version_not_soft_deleted(subject, version.number)
            if not permanent and version.is_deleted:
                raise errors.version_soft_deleted(subject, version.number)
            change = removal(version) if permanent else schema_change(replace(version, is_deleted=True))
            await self._store.write([change])
            return version.number

    def check(self, subject: str, body: Mapping[str, Any], number: str | None, *, normalize: bool) -> list[str]:
        """Why a schema is not compatible with a version, or with those that the level names; empty if it is."""
        schema = self._schema_from(body, normalize=normalize)
        if number is None:
            return self._obstacles(subject, schema, self.state.live(subject))
        return self._obstacles(subject, schema, [self.version(subject, number)])

    async def set_level(self, subject: str, level: str | None) -> None:
        """Set the compatibility level of a subject, or of all; None removes it."""
        base = level.removesuffix("_TRANSITIVE") if level is not None else ""
        if level is not None and (base not in LEVELS or level == "NONE_TRANSITIVE"):
            raise errors.invalid_level(level)
        async with self._lock:
            await self._store.write([level_change(subject, level)])

    async def set_mode(self, subject: str, mode: str | None, *, force: bool = False) -> None:
        """Set the mode of a subject, or of all; None removes it."""
        if mode is not None and mode not in MODES:
            raise errors.invalid_mode(mode)
        async with self._lock:
            if mode == "IMPORT" and not force and self.state.live(subject):
                raise errors.not_permitted(
                    f"Cannot import since found existing subject {subject}; force=true overrides"
                )
            await self._store.write([mode_change(subject, mode)])

    def _schema_from(self, body: Mapping[str, Any], *, normalize: bool) -> Schema:
        text = body.get("schema")
        if not isinstance(text, str) or not text:
            raise errors.invalid_schema("the body has no text 'schema'")
        try:
            kind = SchemaType(body.get("schemaType") or "AVRO")
            references = tuple(
                Reference(str(each["name"]), str(each["subject"]), int(each["version"]))
                for each in body.get("references") or ()
            )
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise errors.invalid_schema(f"type or references: {error}") from error
        try:
            schema = self.complete(Schema(text, kind, references))
            check_schema(schema)
            return replace(schema, text=usual_text(schema, normalize=normalize))
        except SchemaError as error:
            raise errors.invalid_schema(str(error)) from error

    def _collect(self, schema: Schema, imports: dict[str, Schema], above: tuple[Reference, ...]) -> None:
        for reference in schema.references:
            if reference.name in imports:
                continue
            if reference in above or len(imports) >= _MOST_IMPORTS:
                raise errors.invalid_schema(f"the references of {reference.name!r} have no end")
            wanted = str(reference.version)
            try:
                found = self.version(reference.subject, wanted, deleted=True).schema
            except errors.ApiError as error:
                raise errors.invalid_schema(f"reference {reference.name!r}: {error}") from error
            self._collect(found, imports, (*above, reference))
            imports[reference.name] = found

    def _find(self, subject: str, schema: Schema, *, deleted: bool = False) -> Version | None:
        return next((each for each in self.state.live(subject, deleted=deleted) if each.schema == schema), None)

    def _obstacles(self, subject: str, schema: Schema, versions: list[Version]) -> list[str]:
        level = self.state.level(subject)
        if not level.endswith("_TRANSITIVE"):
            versions = versions[-1:]
        reasons = []
        for version in reversed(versions):
            old = self.complete(version.schema)
            for direction in LEVELS[level.removesuffix("_TRANSITIVE")]:
                pair = (schema, old) if direction == "backward" else (old, schema)
                reasons += list(obstacles(*pair))
            if reasons:
                text = f"{{oldSchemaVersion: {version.number}}}", f"{{compatibility: '{level}'}}"
                return [*reasons, *text]
        return reasons

    def _number(self, subject: str, body: Mapping[str, Any]) -> int:
        number = body.get("version")
        if self.state.mode(subject) == "IMPORT" and isinstance(number, int) and number > 0:
            return number
        return self.state.next_version(subject)

    def _id(self, subject: str, schema: Schema, body: Mapping[str, Any]) -> int:
        number = body.get("id")
        if isinstance(number, int) and 0 < number <= _LAST_ID:
            if self.state.mode(subject) != "IMPORT":
                raise errors.not_permitted(f"Subject {subject} is not in import mode")
            known = self.state.ids.get(number)
            if known is not None and known != schema:
                raise errors.not_permitted(f"Overwrite new schema with id {number} is not permitted.")
            return number
        known_id = self.state.id_of(schema)
        return self.state.next_id() if known_id is None else known_id

    def _check_writable(self, subject: str) -> None:
        if self.state.mode(subject) in ("READONLY", "READONLY_OVERRIDE"):
            raise errors.not_permitted(f"Subject {subject} is in read-only mode")

    def _check_unreferenced(self, version: Version) -> None:
        if self.state.referenced_by(version.subject, version.number):
            raise errors.referenced(version.subject, version.number)

    @staticmethod
    def _parse_version(number: str) -> int | None:
        if number in _LATEST:
            return None
        if not number.isdecimal() or not 0 < int(number) <= _LAST_ID:
            raise errors.invalid_version(number)
        return int(number)


def level_of(service: Service, subject: str, *, or_global: bool) -> str:
    """The level that a subject has itself, or also the one that holds for all."""
    if subject != GLOBAL and not or_global and subject not in service.state.levels:
        raise errors.no_own_level(subject)
    return service.state.level(subject)


def mode_of(service: Service, subject: str, *, or_global: bool) -> str:
    """The mode that a subject has itself, or also the one that holds for all."""
    if subject != GLOBAL and not or_global and subject not in service.state.modes:
        raise errors.no_own_mode(subject)
    return service.state.mode(subject)
