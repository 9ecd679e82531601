"""Names that Kafka changed, with the reason. The schemas have the new ones; the bytes stayed as they were.

Rules:
- A change of a field names its message by the name that the message has today.
- `since` is the release whose definitions have the new name first.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from kafkawire.messages import message_class


class Renamed(NamedTuple):
    """A field, or a message if `old` is the name of one."""

    message: str
    old: str
    new: str
    since: str
    reason: str


_PRE_VOTE: Final = "KIP-996: a replica asks for a pre-vote before it is a candidate"
_CONFIG_RESOURCES: Final = "KIP-1142: the API lists all kinds of resources, not only client metrics"

RENAMED: Final = (
    Renamed("VoteRequest", "CandidateId", "ReplicaId", "4.0", _PRE_VOTE),
    Renamed("VoteRequest", "CandidateEpoch", "ReplicaEpoch", "4.0", _PRE_VOTE),
    Renamed("VoteRequest", "CandidateDirectoryId", "ReplicaDirectoryId", "4.0", _PRE_VOTE),
    Renamed("", "ListClientMetricsResourcesRequest", "ListConfigResourcesRequest", "4.1", _CONFIG_RESOURCES),
    Renamed("", "ListClientMetricsResourcesResponse", "ListConfigResourcesResponse", "4.1", _CONFIG_RESOURCES),
    Renamed("ListConfigResourcesResponse", "ClientMetricsResources", "ConfigResources", "4.1", _CONFIG_RESOURCES),
    Renamed("ListConfigResourcesResponse", "Name", "ResourceName", "4.1", _CONFIG_RESOURCES),
    Renamed(
        *("TxnOffsetCommitRequest", "GenerationId", "GenerationIdOrMemberEpoch", "4.4"),
        "KIP-1319: members of the newer group protocols commit with their epoch",
    ),
    Renamed(
        *("StreamsGroupHeartbeatResponse", "AcceptableRecoveryLag", "AcceptableRecoveryLagLegacy", "4.4"),
        "version 1 has an int64 with the old name; version 0 keeps its int32",
    ),
)

LEGACY_KEY_TYPES: Final = {("OffsetCommitKey", 0): "LegacyOffsetCommitKey"}
"""Before Kafka 4.1 the type of a coordinator's key was its version. A message of two types became two messages."""


def current_name(message: str) -> str:
    """The name of a message today.

    >>> current_name("ListClientMetricsResourcesRequest"), current_name("FetchRequest")
    ('ListConfigResourcesRequest', 'FetchRequest')
    """
    return next((each.new for each in RENAMED if not each.message and each.old == message), message)


def current_json(message: str, obj: Any) -> Any:
    """The JSON form of a message with the names that its fields have today."""
    names = {_lower(each.old): _lower(each.new) for each in RENAMED if each.message == message}
    return _renamed(obj, names) if names else obj


def stored_as(message: str, version: int) -> tuple[str, int]:
    """The message and the version that a version of an older release is today.

    >>> stored_as("OffsetCommitKey", 0), stored_as("GroupMetadataKey", 2), stored_as("FetchRequest", 4)
    (('LegacyOffsetCommitKey', 0), ('GroupMetadataKey', 0), ('FetchRequest', 4))
    """
    name = LEGACY_KEY_TYPES.get((message, version), current_name(message))
    schema = message_class(name).__schema__
    if schema.stored != "key":
        return name, version
    assert version == schema.key, f"{message} v{version}: the type of {name} is {schema.key}"
    return name, 0


def _lower(name: str) -> str:
    return name[0].lower() + name[1:]


def _renamed(obj: Any, names: dict[str, str]) -> Any:
    if isinstance(obj, dict):
        return {names.get(name, name): _renamed(value, names) for name, value in obj.items()}
    return [_renamed(each, names) for each in obj] if isinstance(obj, list) else obj
