"""Schemas in files, for use without a registry.

Rules:
- The suffix is the type: .avsc is Avro, .proto Protobuf, .json JSON Schema.
- A schema refers to files beside its own: Avro by the name of a type (shop.Line in shop.Line.avsc or Line.avsc),
  Protobuf by its imports, JSON Schema by $ref.
- A directory of files named by ids or GUIDs, such as 12.avsc, stands for a registry.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.values.errors import SchemaError, UnknownSchemaError
from kafkawire.values.schemas import Schema, SchemaType, parse_json

if TYPE_CHECKING:
    from collections.abc import Iterator
    from uuid import UUID

SUFFIXES: Final = {".avsc": SchemaType.AVRO, ".proto": SchemaType.PROTOBUF, ".json": SchemaType.JSON}
_IMPORT: Final = re.compile(r"""\bimport\s+(?:public\s+|weak\s+)?["']([^"'\n]+)["']\s*;""")
_MOST_FILES: Final = 500


def read_schema_file(path: str | Path) -> Schema:
    """The schema in a file, with those that it refers to."""
    place = Path(path)
    schema = _read(place)
    imports: dict[str, Schema] = {}
    _collect(schema, place.parent, imports, (place,))
    return replace(schema, imports=imports)


class SchemaFiles:
    """A directory of schemas named by their ids."""

    def __init__(self, directory: str | Path) -> None:
        self._directory = Path(directory)
        if not self._directory.is_dir():
            raise SchemaError(f"{self._directory} is not a directory")
        self._schemas: dict[int | UUID, Schema] = {}

    def schema(self, schema: int | UUID) -> Schema:
        """The schema of an id or a GUID."""
        found = self._schemas.get(schema)
        if found is None:
            places = (self._directory / f"{schema}{suffix}" for suffix in SUFFIXES)
            place = next((place for place in places if place.is_file()), None)
            if place is None:
                names = ", ".join(f"{schema}{suffix}" for suffix in SUFFIXES)
                raise UnknownSchemaError(f"{self._directory} has no schema {schema}: expected {names}")
            found = self._schemas[schema] = read_schema_file(place)
        return found


def _read(place: Path) -> Schema:
    kind = SUFFIXES.get(place.suffix)
    if kind is None:
        raise SchemaError(f"{place}: expected a schema file with the suffix {', '.join(SUFFIXES)}")
    try:
        return Schema(place.read_text(encoding="utf-8"), kind)
    except (OSError, UnicodeDecodeError) as error:
        raise SchemaError(f"{place}: {getattr(error, 'strerror', None) or error}") from error


def _collect(schema: Schema, directory: Path, imports: dict[str, Schema], above: tuple[Path, ...]) -> None:
    for name, place in _referred(schema, directory):
        if name in imports or place in above:
            continue
        if len(imports) >= _MOST_FILES:
            raise SchemaError(f"{directory}: a schema refers to more than {_MOST_FILES} files")
        found = _read(place)
        _collect(found, directory, imports, (*above, place))
        imports[name] = found


def _referred(schema: Schema, directory: Path) -> Iterator[tuple[str, Path]]:
    """The names that a schema uses and that files beside it define."""
    if schema.type is SchemaType.PROTOBUF:
        names = _IMPORT.findall(schema.text)
        yield from ((name, directory / name) for name in names if (directory / name).is_file())
        return
    document = parse_json(schema.text, "the schema")
    if schema.type is SchemaType.JSON:
        names = [reference.partition("#")[0] for reference in _values(document, "$ref")]
        yield from ((name, directory / name) for name in names if name and (directory / name).is_file())
        return
    for name in _names(document):
        for file in (f"{name}.avsc", f"{name.rpartition('.')[2]}.avsc"):
            if re.fullmatch(r"[\w.]+", name) and (directory / file).is_file():
                yield name, directory / file
                break


def _values(document: Any, key: str) -> Iterator[str]:
    if isinstance(document, dict):
        for name, value in document.items():
            if name == key and isinstance(value, str):
                yield value
            yield from _values(value, key)
    elif isinstance(document, list):
        for each in document:
            yield from _values(each, key)


def _names(document: Any) -> Iterator[str]:
    """Names that may be types of an Avro schema."""
    if isinstance(document, str):
        yield document
    elif isinstance(document, list):
        for each in document:
            yield from _names(each)
    elif isinstance(document, dict):
        for key in ("type", "items", "values"):
            if key in document:
                yield from _names(document[key])
        for field in document.get("fields") or ():
            yield from _names(field)
