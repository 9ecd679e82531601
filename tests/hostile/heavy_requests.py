"""The heaviest requests of an API, built from its schema.

Rules:
- Every array of a request is stretched in a case of its own; the arrays around it have one element. A request without
  arrays has long strings instead.
- `distinct` elements name half of what exists and as much that does not. `repeated` elements all name the same thing,
  which exists.
- Every flag is set, and every list that may be null is: an element asks for as much as it can.
- Names and numbers follow the type of a field, then its name. An API that is added is covered by these rules.
"""

from __future__ import annotations

from collections import deque
from itertools import repeat
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from uuid import UUID

from tests.broker.node_requests import batch

from kafkawire._codec.defaults import build_default
from kafkawire.broker._dispatch.registry import served_apis
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from kafkawire._codec.plan import Shape, Slot
    from kafkawire.messages.schema import Field, Struct

TOPICS, PARTITIONS, GROUPS = 400, 5, 200
LONG: Final = 30_000
Path = tuple[str, ...]
ONE_RECORD: Final = batch(b"v")


class Case(NamedTuple):
    """One array of one request, stretched."""

    key: int
    version: int
    path: Path
    repeated: bool

    @property
    def name(self) -> str:
        api = served_apis()[self.key].api.name
        return f"{api}-v{self.version}-{'.'.join(self.path) or 'whole'}-{'repeated' if self.repeated else 'distinct'}"


class Elements:
    """Values for the fields of an API: the same ones again and again, or always others."""

    def __init__(self, case: Case, ids: list[UUID]) -> None:
        self._case = case
        self._ids = ids
        self.number = 0

    def next(self, count: int = 1) -> None:
        if not self._case.repeated:
            self.number += count

    def vary(self, field: Field, api: str) -> bool:
        """Whether the values of a field differ from element to element."""
        if self._case.repeated:
            return False
        if field.struct is not None:
            return any(self.vary(each, api) for each in field.struct.fields)
        found = SPECIAL.get((api, field.name), SPECIAL.get(field.name))
        return callable(found) if found is not None else field.type in ("uuid", "string") or _is_place(field)

    def value(self, field: Field, api: str) -> Any:
        made = self.by_number(field, api)
        if made is not None:
            return made(self.number)
        found = SPECIAL.get((api, field.name), SPECIAL.get(field.name))
        if found is not None:
            return found
        if field.type == "bool":
            return True
        return 0 if field.type in ("int8", "int16", "int32", "int64") else None

    def by_number(self, field: Field, api: str) -> Callable[[int], Any] | None:
        """The values of a field, if they follow from the number of the element."""
        found = SPECIAL.get((api, field.name), SPECIAL.get(field.name))
        if found is not None:
            return found if callable(found) else None
        if field.type == "uuid":
            return self._id
        if field.type == "string":
            return self._text(field)
        if field.type in ("int8", "int16", "int32", "int64") and _is_place(field):
            return lambda number: number % (2 * PARTITIONS)
        return None

    def _text(self, field: Field) -> Callable[[int], str]:
        if not self._case.path:
            return lambda number: "x" * LONG
        if field.declared_type == "topicName" or "opic" in field.name:
            return topic_name
        if field.declared_type == "groupId" or "roup" in field.name:
            return group_name
        letter = field.name[0].lower()
        return lambda number: f"{letter}{number}"

    def _id(self, number: int) -> UUID:
        return self._ids[number % TOPICS] if number % 2 == 0 else UUID(int=number + 1)


def _is_place(field: Field) -> bool:
    return "artition" in field.name or "ndex" in field.name


def topic_name(number: int) -> str:
    return f"topic-{number % TOPICS}" if number % 2 == 0 else f"none-{number}"


def group_name(number: int) -> str:
    return f"group-{number % GROUPS}" if number % 2 == 0 else f"none-{number}"


def resource_name(number: int) -> str:
    """The broker again and again, else one topic after the other."""
    return "1" if number == 0 else topic_name(number)


SPECIAL: Final[dict[Any, Any]] = {
    "TimeoutMs": 1_000,
    "MaxWaitMs": 0,
    "MinBytes": 0,
    "MaxBytes": 1 << 20,
    "PartitionMaxBytes": 1 << 20,
    "ReplicaId": -1,
    "SessionEpoch": 0,
    "CurrentLeaderEpoch": -1,
    "LastFetchedEpoch": -1,
    "GenerationIdOrMemberEpoch": -1,
    "MemberId": "",
    "GroupInstanceId": None,
    "CoordinatorKeys": group_name,
    "GroupsNames": group_name,
    "ResponsePartitionLimit": 1 << 30,
    "MaxNumOffsets": 1 << 30,
    "TransactionTimeoutMs": 60_000,
    "TransactionalId": None,
    "SessionTimeoutMs": 10_000,
    "RebalanceTimeoutMs": 10_000,
    "RetentionTimeMs": -1,
    "CommittedLeaderEpoch": -1,
    "CommittedMetadata": "noted",
    "ResourceName": resource_name,
    "ResourceType": lambda number: 4 if number == 0 else 2,
    "Records": ONE_RECORD,
    "Acks": 1,
    "EndpointType": 1,
    "NumPartitions": 1,
    "ReplicationFactor": 1,
    "ValidateOnly": True,
    ("ListConfigResources", "ResourceTypes"): lambda number: (2, 4)[number % 2],
    ("DescribeConfigs", "ConfigurationKeys"): lambda number: ("retention.ms", f"none.{number}")[number % 2],
    ("CreateTopics", "Name"): lambda number: f"new-{number}",
    ("CreatePartitions", "Count"): PARTITIONS + 1,
    ("InitProducerId", "ProducerId"): -1,
    ("InitProducerId", "ProducerEpoch"): -1,
    ("ListOffsets", "Timestamp"): 0,
    ("Metadata", "AllowAutoTopicCreation"): False,
    ("Metadata", "TopicId"): UUID(int=0),
    ("DeleteTopics", "TopicId"): UUID(int=0),
    ("DeleteTopics", "Name"): lambda number: f"none-{number}",
    ("DeleteTopics", "TopicNames"): lambda number: f"none-{number}",
    ("DeleteGroups", "GroupsNames"): lambda number: f"doomed-{number}",
    ("DescribeTopicPartitions", "Cursor"): None,
    ("DescribeQuorum", "TopicName"): "__cluster_metadata",
    ("ApiVersions", "ClientSoftwareName"): "hostile",
    ("ApiVersions", "ClientSoftwareVersion"): "1",
    ("JoinGroup", "GroupId"): "joined",
    ("ConsumerGroupHeartbeat", "GroupId"): "consumers",
    ("ConsumerGroupHeartbeat", "MemberId"): "consumer",
    ("ConsumerGroupHeartbeat", "InstanceId"): None,
    ("ConsumerGroupHeartbeat", "RackId"): None,
    ("ConsumerGroupHeartbeat", "SubscribedTopicRegex"): None,
    ("ConsumerGroupHeartbeat", "ServerAssignor"): None,
    ("IncrementalAlterConfigs", "Value"): "1",
    ("AlterConfigs", "Value"): "1",
}


EMPTY: Final = frozenset({("ConsumerGroupHeartbeat", "TopicPartitions")})
"""Arrays that are empty instead of null if they are not the ones that are stretched."""


def cases() -> Iterator[Case]:
    """Every array of every served API, in its newest version; also in its oldest, if that has other arrays."""
    for key, served in served_apis().items():
        newest, oldest = served.versions.last, served.versions.first
        paths = list(_paths(served.api.request.__schema__.root, newest)) or [()]
        older = [path for path in _paths(served.api.request.__schema__.root, oldest) if path not in paths]
        for version, stretched in ((newest, paths), (oldest, older)):
            for path in stretched:
                yield Case(key, version, path, repeated=True)
                if path:
                    yield Case(key, version, path, repeated=False)


def frame(case: Case, size: int, ids: list[UUID]) -> bytes:
    """A request of about that many bytes."""
    if not case.path:
        return _frame(case, 1, ids)
    count = 16
    while True:
        built = _frame(case, count, ids)
        per_element = max(1, (len(built) - len(_frame(case, 1, ids))) // (count - 1))
        wanted = min(MOST, size // per_element)
        if wanted <= count or count >= 1_000:
            return _frame(case, wanted, ids)
        count = 1_000  # names grow with their numbers


MOST: Final = 249_000
"""Requests with more elements than 250 000 are refused before they are served."""


def _frame(case: Case, count: int, ids: list[UUID]) -> bytes:
    which = served_apis()[case.key].api
    root, shape = which.request.__schema__.root, which.request.__shape__
    request = _struct(root, shape, case, case.path, count, Elements(case, ids), which.name)
    return encode_request(request, version=case.version, correlation_id=1, client_id="hostile")


def _paths(struct: Struct, version: int) -> Iterator[Path]:
    for field in struct.fields:
        if version not in field.versions or field.tag is not None:
            continue
        if field.is_array:
            yield (field.name,)
        if field.struct is not None:
            yield from ((field.name, *rest) for rest in _paths(field.struct, version))


def _struct(struct: Struct, shape: Shape, case: Case, path: Path, count: int, elements: Elements, api: str) -> Any:
    values = {}
    for field, slot in zip(struct.fields, shape.slots, strict=True):
        if case.version in field.versions and field.tag is None:
            on_path = bool(path) and field.name == path[0]
            rest = path[1:] if on_path else ()
            times = count if on_path and not rest else 1
            values[slot.attribute] = _value(field, slot, case, rest, times, count, elements, api)
    return shape.cls(**values)


def _value(
    field: Field, slot: Slot, case: Case, rest: Path, times: int, count: int, elements: Elements, api: str
) -> Any:
    if (api, field.name) in SPECIAL and SPECIAL[api, field.name] is None:
        return None
    if field.is_array and times == 1 and not rest and case.version in field.nullable:
        return [] if (api, field.name) in EMPTY else None
    if not field.is_array:
        return _element(field, slot, case, rest, count, elements, api)
    if times == 1:
        return [_element(field, slot, case, rest, count, elements, api)]
    return _stretched(field, slot, case, times, elements, api)


def _stretched(field: Field, slot: Slot, case: Case, times: int, elements: Elements, api: str) -> list[Any]:
    """The elements of the stretched array. They are built by column, because there are many of them."""
    first = _element(field, slot, case, (), times, elements, api)
    begin = elements.number + 1
    elements.next(times)
    if not elements.vary(field, api):
        return [first] * times
    return [first, *_column(field, slot, case, range(begin, begin + times - 1), elements, api)]


def _column(field: Field, slot: Slot, case: Case, numbers: range, elements: Elements, api: str) -> Iterable[Any]:
    """The values of a field by the numbers of the elements, as `_element` gives them."""
    if field.struct is not None:
        assert slot.shape is not None
        return _structs(field.struct, slot.shape, case, numbers, elements, api)
    made = elements.by_number(field, api)
    assert made is not None
    return map(made, numbers)


def _structs(struct: Struct, shape: Shape, case: Case, numbers: range, elements: Elements, api: str) -> list[Any]:
    """The structs of an array by the numbers of the elements, as `_struct` makes them."""
    fixed, varying = {}, []
    for field, slot in zip(struct.fields, shape.slots, strict=True):
        if case.version not in field.versions or field.tag is not None:
            continue
        is_empty = field.is_array and case.version in field.nullable
        is_null = (api, field.name) in SPECIAL and SPECIAL[api, field.name] is None
        if is_empty or is_null or not elements.vary(field, api):
            fixed[slot.attribute] = _value(field, slot, case, (), 1, 1, elements, api)
        else:
            varying.append((slot.attribute, field.is_array, _column(field, slot, case, numbers, elements, api)))
    built = [shape.cls(**fixed) for _ in numbers]
    for name, is_array, column in varying:
        values = ([value] for value in column) if is_array else column
        deque(map(setattr, built, repeat(name), values), maxlen=0)
    return built


def _element(field: Field, slot: Slot, case: Case, rest: Path, count: int, elements: Elements, api: str) -> Any:
    if field.struct is not None:
        assert slot.shape is not None
        return _struct(field.struct, slot.shape, case, rest, count, elements, api)
    value = elements.value(field, api)
    return build_default(slot) if value is None and not field.is_array and case.version not in field.nullable else value
