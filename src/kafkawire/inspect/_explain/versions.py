"""The fields of one version of a message on the wire, and the differences between two versions.

Rules:
- Fields are in wire order, tagged fields in the order of the schema, children after their parent.
- A difference is listed once: a flexible version is one change, not one per string and array.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from uuid import UUID

from kafkawire.messages import UnsupportedVersionError, uuid_text
from kafkawire.messages.schema import EMPTY

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.messages.schema import Field, MessageSchema, Struct, Versions

_HAVE_LENGTHS = ("string", "bytes", "records")


@dataclass(frozen=True, slots=True)
class WireField:
    """One field of a version: `type` on the wire, and `default` as text, None if it is the zero of the type."""

    path: str
    name: str
    depth: int
    type: str
    nullable: bool
    tag: int | None
    default: str | None
    versions: Versions
    ignorable: bool
    key: bool
    description: str


@dataclass(frozen=True, slots=True)
class Change:
    """A change: `added`, `removed`, `changed`, or `flexible` for the whole message."""

    kind: str
    path: str
    before: str
    after: str


def fields_of(schema: MessageSchema, version: int) -> list[WireField]:
    """The fields of a version.

    >>> from kafkawire.messages import HeartbeatResponse
    >>> [(field.name, field.type) for field in fields_of(HeartbeatResponse.__schema__, 4)]
    [('throttle_time_ms', 'int32'), ('error_code', 'int16')]
    """
    if version not in schema.versions:
        error = UnsupportedVersionError(f"a version of {schema.versions}", str(version))
        error.title = schema.name
        raise error
    return list(_fields(schema.root, schema, version, "", 0))


def changes_between(schema: MessageSchema, before: int, after: int) -> list[Change]:
    """The changes from one version to another, in wire order.

    >>> from kafkawire.messages import ProduceRequest
    >>> [(each.kind, each.path) for each in changes_between(ProduceRequest.__schema__, 12, 13)]
    [('removed', 'topic_data.name'), ('added', 'topic_data.topic_id')]
    """
    old = {field.path: field for field in fields_of(schema, before)}
    new = {field.path: field for field in fields_of(schema, after)}
    order = {field.path: index for index, field in enumerate(_all_fields(schema))}
    changes = []
    if schema.is_flexible(before) != schema.is_flexible(after):
        changes.append(Change("flexible", "", *(_form(schema, version) for version in (before, after))))
    for path in sorted(old.keys() | new.keys(), key=order.__getitem__):
        if path not in new:
            changes.append(Change("removed", path, old[path].type, ""))
        elif path not in old:
            changes.append(Change("added", path, "", described(new[path])))
        elif _bare(old[path].type) != _bare(new[path].type):
            changes.append(Change("changed", path, old[path].type, new[path].type))
    return changes


def described(field: WireField) -> str:
    """A field's type with its tag and default.

    >>> from kafkawire.messages import FetchRequest
    >>> described(fields_of(FetchRequest.__schema__, 12)[0])
    'compact string?, tag 0, default null'
    """
    parts = [field.type]
    if field.tag is not None:
        parts.append(f"tag {field.tag}")
    if field.default is not None:
        parts.append(f"default {field.default}")
    return ", ".join(parts)


def _all_fields(schema: MessageSchema) -> Iterator[WireField]:
    return _fields(schema.root, schema, None, "", 0)


def _fields(struct: Struct, schema: MessageSchema, version: int | None, prefix: str, depth: int) -> Iterator[WireField]:
    for field in struct.fields:
        if version is not None and version not in field.versions:
            continue
        path = f"{prefix}.{field.attribute}" if prefix else field.attribute
        nullable = version is not None and version in field.nullable
        yield WireField(
            path=path,
            name=field.attribute,
            depth=depth,
            type=_wire_type(field, version is not None and schema.is_flexible(version), nullable),
            nullable=nullable,
            tag=field.tag,
            default=_default(field.default),
            versions=field.versions,
            ignorable=field.ignorable,
            key=field.is_key,
            description=field.description,
        )
        if field.struct is not None:
            yield from _fields(field.struct, schema, version, path, depth + 1)


def _wire_type(field: Field, flexible: bool, nullable: bool) -> str:
    compact = flexible and not field.legacy and (field.is_array or field.type in _HAVE_LENGTHS)
    base = field.struct.name if field.struct is not None else field.type
    return f"{'compact ' if compact else ''}{'[]' if field.is_array else ''}{base}{'?' if nullable else ''}"


def _bare(kind: str) -> str:
    return kind.removeprefix("compact ")


def _default(value: Any) -> str | None:
    if value is None:
        return "null"
    if value is EMPTY or value in ("", False) or (isinstance(value, UUID) and not value.int):
        return None
    if isinstance(value, UUID):
        return uuid_text(value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _form(schema: MessageSchema, version: int) -> str:
    if schema.is_flexible(version):
        return "flexible: lengths and counts are varints, every struct ends with tags"
    return "not flexible: lengths are int16, counts int32, no tags"
