"""Schemas as a registry stores them: a text, its type, and the schemas that it refers to.

Rules:
- A schema is plain data: it can be compared, pickled and sent to other processes.
- `imports` are the schemas that it refers to, by the name of the reference, each after those that it needs itself.
- A text larger than MAX_TEXT, or nested deeper than MAX_DEPTH, is refused before any library sees it, because their
  parsers recurse in C.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

from kafkawire.values.errors import SchemaError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_TEXT: Final = 4 * 1024 * 1024
MAX_DEPTH: Final = 200


class SchemaType(StrEnum):
    """The types of schemas, by their names in a registry."""

    AVRO = "AVRO"
    PROTOBUF = "PROTOBUF"
    JSON = "JSON"


@dataclass(frozen=True)
class Reference:
    """A name that a schema uses, and the version of a subject that defines it."""

    name: str
    subject: str
    version: int

    def as_dict(self) -> dict[str, Any]:
        """The reference as registries write it."""
        return {"name": self.name, "subject": self.subject, "version": self.version}


@dataclass(frozen=True)
class Schema:
    """A schema.

    >>> Schema('"string"').type
    <SchemaType.AVRO: 'AVRO'>
    """

    text: str
    type: SchemaType = SchemaType.AVRO
    references: tuple[Reference, ...] = ()
    imports: Mapping[str, Schema] = field(default_factory=dict, compare=False, repr=False)

    def __post_init__(self) -> None:
        if len(self.text) > MAX_TEXT:
            raise SchemaError(f"the schema has {len(self.text)} characters, expected {MAX_TEXT} at most")
        _check_encodable(self.text, "the schema")

    def as_dict(self) -> dict[str, Any]:
        """The body of a request to register this schema."""
        body: dict[str, Any] = {"schema": self.text}
        if self.type is not SchemaType.AVRO:
            body["schemaType"] = self.type.value
        if self.references:
            body["references"] = [each.as_dict() for each in self.references]
        return body


def parse_json(text: str, what: str) -> Any:
    """A JSON document of limited depth."""
    try:
        found = json.loads(text, parse_constant=refuse_constant)
    except RecursionError:
        raise SchemaError(f"{what} is nested deeper than {MAX_DEPTH} levels") from None
    except ValueError as error:
        raise SchemaError(f"{what} is not JSON: {error}") from None
    check_depth(found, what)
    if "\\ud" in text.lower():
        _check_encodable(json.dumps(found, ensure_ascii=False), what)
    return found


def refuse_constant(name: str) -> NoReturn:
    """Refuse NaN and Infinity, which Python's parser accepts."""
    raise ValueError(f"{name} is not a number of JSON")


def _check_encodable(text: str, what: str) -> None:
    """Raise if a text has half of a surrogate pair, which neither a registry nor a topic can store."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        half = f"{text[error.start]!a}"
        raise SchemaError(f"{what} has {half}, half of a surrogate pair, at character {error.start}") from None


def check_depth(document: object, what: str) -> None:
    """Raise if a JSON document is nested too deep."""
    level = [document]
    for _ in range(MAX_DEPTH):
        level = [
            part
            for each in level
            if isinstance(each, (dict, list))
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise SchemaError(f"{what} is nested deeper than {MAX_DEPTH} levels")
