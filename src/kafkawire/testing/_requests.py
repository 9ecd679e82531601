"""The requests of clients, as a test sees and selects them.

Rules:
- A request names a topic by its name or its id, and a group in its own field or in a list.
- A Fetch of a session names only what changed, so a topic selects its first request, not those that only continue.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID

from kafkawire.messages import api
from kafkawire.messages.schema import snake_case

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.messages import Message
    from kafkawire.messages.schema import Struct

    NameOf = Callable[[UUID], str | None]

_PARTITION: Final = ("partition", "partition_index", "index")
_PARTITIONS: Final = ("partitions", "partition_indexes")
_GROUPS: Final = ("groups", "groups_names", "group_ids", "coordinator_keys")


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request of a client."""

    api: str
    version: int
    client_id: str | None
    message: Message
    size: int
    """The size of the whole request in bytes."""
    broker: int = 1
    """The broker that received it; always 1 unless the test has several."""


@dataclass(frozen=True, slots=True)
class RequestFilter:
    """Selects requests by their client and by what they name; None selects every one."""

    client_id: str | None = None
    group: str | None = None
    topic: str | None = None
    partition: int | None = None
    broker: int | None = None

    def fits(self, request: RecordedRequest, name_of: NameOf) -> bool:
        """Whether a request is selected."""
        if not self.fits_sender(request):
            return False
        return (self.topic is None and self.partition is None) or any(
            self.topic in (None, topic) and (self.partition is None or self.partition in partitions)
            for topic, partitions in _topics(request.message, name_of)
        )

    def fits_sender(self, request: RecordedRequest) -> bool:
        """Whether the client and the group of a request are selected."""
        return (
            self.client_id in (None, request.client_id)
            and self.broker in (None, request.broker)
            and (self.group is None or self.group in groups_of(request.message))
        )


def _fields(struct: object) -> Iterator[tuple[str, Any]]:
    for name in getattr(type(struct), "__slots__", ()):
        if not name.startswith("_"):
            yield name, getattr(struct, name, None)


def groups_of(message: Message) -> Iterator[str]:
    """The groups that a request names."""
    for name, value in _fields(message):
        if name in ("group_id", "key") and isinstance(value, str):
            yield value
        elif name in _GROUPS and isinstance(value, list):
            for each in value:
                found = each if isinstance(each, str) else getattr(each, "group_id", None)
                if isinstance(found, str):
                    yield found


def transactional_ids_of(message: Message) -> Iterator[str]:
    """The transactional ids that a request names."""
    for name, value in _fields(message):
        if name == "transactional_id" and isinstance(value, str):
            yield value
        elif name == "transactional_ids" and isinstance(value, list):
            yield from value


def _topics(struct: object, name_of: NameOf, within: str = "") -> Iterator[tuple[str, set[int]]]:
    """The topics that a request names, each with its partitions."""
    values = dict(_fields(struct))
    name = values.get("topic") or values.get("topic_name") or (values.get("name") if "topic" in within else None)
    if not name and isinstance(values.get("topic_id"), UUID):
        name = name_of(values["topic_id"])
    if isinstance(name, str) and name:
        yield name, _partitions(values)
        return
    for field, value in values.items():
        if isinstance(value, list):
            for each in value:
                if isinstance(each, str) and "topic" in field:
                    yield each, set()
                elif hasattr(type(each), "__slots__"):
                    yield from _topics(each, name_of, field)


def _partitions(values: dict[str, Any]) -> set[int]:
    found = {value for name in _PARTITION if isinstance(value := values.get(name), int)}
    for name, value in values.items():
        if isinstance(value, list):
            found |= {each for each in value if isinstance(each, int) and name in _PARTITIONS}
            found |= {number for each in value for number in _numbers(each)}
    return found


def _numbers(struct: object) -> Iterator[int]:
    return (value for name in _PARTITION if isinstance(value := getattr(struct, name, None), int))


@cache
def names_in_schema(name: str) -> frozenset[str]:
    """The filters that the requests of an API can fit: `topic`, `partition` and `group`."""
    root = api(name).schema.request.root
    found = set(_named_below(root, ""))
    for each in root.fields:
        field = snake_case(each.name)
        if field in ("group_id", "key") and each.type == "string" and not each.is_array:
            found.add("group")
        if field in _GROUPS and each.is_array:
            found.add("group")
    return frozenset(found)


def _named_below(struct: Struct, within: str) -> Iterator[str]:
    fields = {snake_case(each.name): each for each in struct.fields}
    if {"topic", "topic_name", "topic_id"} & fields.keys() or ("name" in fields and "topic" in within):
        yield "topic"
        inner = {name for each in fields.values() if each.struct for name in map(snake_case, _names(each.struct))}
        if {*_PARTITION, *_PARTITIONS} & (fields.keys() | inner):
            yield "partition"
        return
    for field, each in fields.items():
        if each.is_array and each.struct is not None:
            yield from _named_below(each.struct, field)
        elif each.is_array and each.type == "string" and "topic" in field:
            yield "topic"


def _names(struct: Struct) -> list[str]:
    return [each.name for each in struct.fields]
