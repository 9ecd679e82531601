"""One form for a definition of Kafka's and for a schema of ours, so that they can be compared field by field.

Rules:
- A description has the fields that exist in a range of versions, by their path, with every fact that both notations
  state. Ranges are clipped to that range and to the parent's.
- A default that equals the zero value of its type is None, because Kafka states some of them and we state none.
- A field's versions are its tagged versions if Kafka states only these.
- `flags` has facts of a field as a whole: ignorable, key, entity type. The last definition of a field has them.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from kafkawire.messages.schema import ALIASES, HIGHEST_VERSION, NO_VERSIONS, PRIMITIVES, Versions

if TYPE_CHECKING:
    from collections.abc import Mapping
    from uuid import UUID

    from kafkawire.messages.schema import Empty, Field, MessageSchema, Struct

_OUR_OWN_ALIAS: Final = "errorCode"
_ZERO: Final = ("", "0", "0.0", "false")


class Described(NamedTuple):
    """One field; `position` counts the fields before it in its struct that have no tag."""

    position: int
    type: str
    versions: str
    nullable: str
    tag: int | None
    default: str | None
    legacy: bool
    flags: tuple[str, ...]


def parse_versions(text: str | None) -> Versions:
    """The range of a definition; none if it is not stated."""
    if text in (None, "none", ""):
        return NO_VERSIONS
    match = re.fullmatch(r"(\d+)(?:-(\d+)|(\+))?", text or "")
    assert match, text
    first = int(match[1])
    return Versions(first, HIGHEST_VERSION if match[3] else int(match[2] or first))


def describe_definition(definition: Mapping[str, Any], versions: Versions) -> dict[str, Described]:
    """The fields of a definition in some of its versions."""
    shared = {struct["name"]: struct for struct in definition.get("commonStructs", ())}
    found: dict[str, Described] = {}

    def visit(fields: list[Mapping[str, Any]], parent: Versions, prefix: str) -> None:
        position = 0
        for field in fields:
            own = parse_versions(field.get("versions") or field["taggedVersions"]) & parent
            if not own:
                continue
            tag, base = field.get("tag"), field["type"].removeprefix("[]")
            assert tag is None or parse_versions(field["taggedVersions"]) & own == own, (
                f"{field['name']}: tagged in part"
            )
            found[prefix + field["name"]] = Described(
                position,
                field["type"],
                str(own),
                str(parse_versions(field.get("nullableVersions")) & own),
                tag,
                _stated_default(field, base),
                field.get("flexibleVersions") == "none",
                _flags(
                    str(field.get("ignorable")).lower() == "true", field.get("mapKey", False), field.get("entityType")
                ),
            )
            position += tag is None
            if base not in PRIMITIVES:
                inside = field.get("fields") or shared[base]["fields"]
                limit = own if field.get("fields") else own & parse_versions(shared[base]["versions"])
                visit(inside, limit, f"{prefix}{field['name']}.")

    visit(definition["fields"], versions, "")
    return found


def describe_schema(schema: MessageSchema, versions: Versions) -> dict[str, Described]:
    """The fields of a schema in some of its versions."""
    found: dict[str, Described] = {}

    def visit(struct: Struct, parent: Versions, prefix: str) -> None:
        position = 0
        for field in struct.fields:
            own = field.versions & parent
            if not own:
                continue
            found[prefix + field.name] = Described(
                position,
                ("[]" if field.is_array else "") + ALIASES.get(field.declared_type, field.declared_type),
                str(own),
                str(field.nullable & own),
                field.tag,
                _own_default(field),
                field.legacy,
                _flags(field.ignorable, field.is_key, _entity(field)),
            )
            position += field.tag is None
            if field.struct is not None:
                visit(field.struct, own, f"{prefix}{field.name}.")

    visit(schema.root, versions, "")
    return found


def layout(description: Mapping[str, Described]) -> dict[str, Described]:
    """A description without the facts that have no effect on the bytes of a version."""
    return {path: field._replace(flags=()) for path, field in description.items()}


def differences(name: str, ours: Mapping[str, Described], theirs: Mapping[str, Described]) -> list[str]:
    """One line per field that differs."""
    paths = [path for path in {**theirs, **ours} if ours.get(path) != theirs.get(path)]
    return [f"{name}.{path}: the schema has {ours.get(path)}, Kafka has {theirs.get(path)}" for path in paths]


def _flags(ignorable: bool, key: bool, entity: str | None) -> tuple[str, ...]:
    return (*(["ignorable"] if ignorable else []), *(["key"] if key else []), *([entity] if entity else []))


def _entity(field: Field) -> str | None:
    alias = field.declared_type
    return alias if alias in ALIASES and alias != _OUR_OWN_ALIAS else None


def _stated_default(field: Mapping[str, Any], base: str) -> str | None:
    stated = field.get("default")
    if stated is None:  # Kafka's generator reads `null` as if it were not there; "null" is the default of that name
        return None
    text = str(stated).lower() if isinstance(stated, bool) else str(stated)
    if text not in ("null", "") and base.lstrip("u").startswith("int"):
        text = str(int(text, 0))
    return None if text in _ZERO else text


def _own_default(field: Field) -> str | None:
    default: bool | int | float | str | UUID | Empty | None = field.default
    if field.type == "records":  # Kafka has no way to state it
        return None
    if default is None:
        return "null"
    if isinstance(default, bool):
        return "true" if default else None
    if isinstance(default, int | float | str):
        return None if str(default) in _ZERO else str(default)
    return None
