"""The model of a schema: the result of parsing the notation, and the source of everything else.

Rules:
- A range of versions is closed on both sides; `3+` ends at the last version of the enclosing element.
- Ranges are clipped to the parent's, so a field's range always lies inside its struct's.
- Schemas are immutable.
- A default is a Python value: number, bool, str, UUID, None, or EMPTY for an empty array, bytes or struct.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import Iterator

HIGHEST_VERSION: Final = 32767

PRIMITIVES: Final = (
    *("bool", "int8", "int16", "uint16", "int32", "uint32", "int64", "float64"),
    *("string", "bytes", "records", "uuid"),
)
ALIASES: Final = {
    "topicName": "string",
    "groupId": "string",
    "transactionalId": "string",
    "brokerId": "int32",
    "producerId": "int64",
    "errorCode": "int16",
}


class SchemaError(KafkaWireError):
    """A schema breaks a rule of the notation: `file:line: rule`."""

    def __init__(self, place: str, line: int, rule: str) -> None:
        super().__init__(f"{place}:{line}: {rule}")
        self.place, self.line, self.rule = place, line, rule


class Empty:
    """The default of arrays, bytes and structs: a new empty one each time."""

    def __repr__(self) -> str:
        return "EMPTY"


EMPTY: Final = Empty()
Default = bool | int | float | str | UUID | None | Empty


class Versions:
    """A closed range of versions; empty when first > last.

    >>> str(Versions(3, 9) & Versions(0, 5)), 6 in Versions(3, 9), bool(Versions(4, 3))
    ('3-5', True, False)
    """

    __slots__ = ("first", "last")

    def __init__(self, first: int, last: int) -> None:
        self.first, self.last = first, last

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Versions) and (self.first, self.last) == (other.first, other.last)

    def __hash__(self) -> int:
        return hash((self.first, self.last))

    def __repr__(self) -> str:
        return f"Versions({self.first}, {self.last})"

    def __contains__(self, version: int) -> bool:
        return self.first <= version <= self.last

    def __iter__(self) -> Iterator[int]:
        return iter(range(self.first, self.last + 1))

    def __and__(self, other: Versions) -> Versions:
        return Versions(max(self.first, other.first), min(self.last, other.last))

    def __bool__(self) -> bool:
        return self.first <= self.last

    def __str__(self) -> str:
        if not self:
            return "none"
        if self.last == HIGHEST_VERSION:
            return f"{self.first}+"
        return str(self.first) if self.first == self.last else f"{self.first}-{self.last}"


NO_VERSIONS: Final = Versions(1, 0)


class Struct(NamedTuple):
    """Fields in wire order; `shared` if it was declared by a `struct` line."""

    name: str
    versions: Versions
    fields: tuple[Field, ...]
    shared: bool = False


class Field(NamedTuple):
    """One field: its type, versions, the versions in which it is nullable, its tag, default and description."""

    name: str
    type: str
    declared_type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    default: Default
    ignorable: bool
    is_key: bool
    legacy: bool
    line: int
    struct: Struct | None = None
    description: str = ""

    @property
    def attribute(self) -> str:
        return snake_case(self.name)

    @property
    def json_name(self) -> str:
        return self.name[0].lower() + self.name[1:]

    @property
    def type_text(self) -> str:
        """The type as the notation writes it."""
        nullable = "" if not self.nullable else "?" if self.nullable == self.versions else f"?{self.nullable}"
        return ("[]" if self.is_array else "") + self.declared_type + nullable


class MessageSchema(NamedTuple):
    """One message: a request, a response, a header or a data message."""

    name: str
    kind: str  # request, response or data
    key: int | None  # the API key, or the type of a record
    versions: Versions
    flexible: Versions
    root: Struct
    structs: tuple[Struct, ...]  # every nested struct, shared ones first, then in order of appearance
    place: str
    stored: str = ""  # id: a record in a frame; key, value: a part of a coordinator's record; otherwise empty

    def is_flexible(self, version: int) -> bool:
        return version in self.flexible


class ApiSchema(NamedTuple):
    """Request and response of one API key; they share their ranges."""

    key: int
    name: str
    versions: Versions
    flexible: Versions
    deprecated: Versions
    latest_unstable: bool
    listeners: tuple[str, ...]
    request: MessageSchema
    response: MessageSchema
    place: str
    senders: str = ""
    receivers: str = ""
    forwarded: bool = False  # a broker forwards it to the controller
    cluster_action: bool = False  # only brokers and controllers may send it


@cache
def snake_case(name: str) -> str:
    """The attribute of a field, the stem of a schema's file.

    >>> snake_case("V3AndBelowTopics"), snake_case("KRaftVersion"), snake_case("timeoutMs")
    ('v3_and_below_topics', 'k_raft_version', 'timeout_ms')
    """
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def camel_case(stem: str) -> str:
    """The message name of a schema's file stem.

    >>> camel_case("k_raft_version_record"), camel_case("api_versions")
    ('KRaftVersionRecord', 'ApiVersions')
    """
    return "".join(word[0].upper() + word[1:] for word in stem.split("_"))
