"""One request put to two brokers, and what of their answers must be the same.

Rules:
- The order of topics and partitions says nothing. Settings that both brokers have are compared. min.insync.replicas,
  which Apache Kafka sets for itself (KIP-966), and the setting that `PREVIOUS` is started with are left out.
- Names, numbers of nodes and error codes are the same; what a broker chooses (ids, times, its address, words for an
  error) is not looked at, but for whether it is there.
"""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, Self, cast

from tests.broker.raw_connection import Peer

from kafkawire.messages import ApiVersionsRequest, api
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.broker.raw_connection import Listening

    from kafkawire.messages import Message

PATIENCE = 20.0
CHOSEN = frozenset(
    {
        *(
            "throttleTimeMs",
            "errorMessage",
            "acknowledgeErrorMessage",
            "batchIndexErrorMessage",
            "clusterId",
            "topicId",
            "host",
            "port",
            "logDir",
            "totalBytes",
        ),
        *(
            "usableBytes",
            "partitionSize",
            "size",
            "lastTimestamp",
            "leaderEpoch",
        ),
        *("preferredReadReplica", "documentation", "synonyms", "nodeEndpoints", "partitionLeaderEpoch"),
        *("logEndOffset", "lastFetchTimestamp", "lastCaughtUpTimestamp", "nodes", "transactionStartTimeMs"),
    }
)
PRESENT = frozenset({"memberId", "leader", "sessionId", "producerId", "abortedTransactions", "clientHost"})
ABSENT: tuple[Any, ...] = (None, "", -1, [])
UNNAMED = frozenset({"topicName", "memberEpoch", "partitions", "groupEpoch"})
"""Fields of elements that are sorted by all of their values."""
NO_SESSION = 0
SET_BY_BROKERS = {"min.insync.replicas", "message.timestamp.after.max.ms"}
NOT_SERVED_BELOW = {
    "Produce": 3,  # Apache Kafka lists it from 0 on, for the sake of librdkafka (KAFKA-18659)
    "OffsetCommit": 1,  # offsets of v0 are in ZooKeeper, and brokers without one refuse it; we keep them as all others
    "OffsetFetch": 1,
}


class Asked:
    """A broker that gets questions, over a connection that is opened again when the broker closes it."""

    def __init__(self, broker: Listening) -> None:
        self._broker = broker
        self._peer = Peer(broker, PATIENCE)
        greeting = ApiVersionsRequest(client_software_name="answers", client_software_version="1")
        listed = self._peer.call(greeting, 3).api_keys
        self.versions = {each.api_key: range(each.min_version, each.max_version + 1) for each in listed}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._peer.socket.close()

    def ask(self, request: Message, version: int) -> Message | None:
        """The answer; None if the broker closed the connection instead."""
        try:
            return cast("Message", self._peer.call(request, version))
        except (EOFError, ConnectionError):
            self.reconnect()
            return None

    def reconnect(self) -> None:
        """Go on over another connection."""
        self._peer.socket.close()
        self._peer = Peer(self._broker, PATIENCE)


def common_versions(name: str, *brokers: Asked) -> list[int]:
    """The versions of an API that all brokers serve."""
    key = api(name).key
    found = sorted(set.intersection(*(set(broker.versions.get(key, ())) for broker in brokers)))
    return [version for version in found if version >= NOT_SERVED_BELOW.get(name, 0)]


def comparable(answer: Message | None, version: int) -> Any:
    """An answer without what its broker chose."""
    return None if answer is None else _without_choices(answer.to_json(version=version))


def _without_choices(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _field(name, each) for name, each in value.items() if name not in CHOSEN}
    if isinstance(value, list):
        return sorted((_without_choices(each) for each in value), key=_order)
    return value


def _field(name: str, value: Any) -> Any:
    if name in PRESENT:
        return _is_there(name, value)
    return _records(b64decode(value)) if name == "records" and value else _without_choices(value)


def _records(data: bytes) -> Any:
    """Records that a broker converted, one by one: what is behind the last, and how they are compressed, is its choice.

    Batches that it stores as they came are compared as they are.
    """
    if data[16] >= 2:
        return data
    return [
        (each.offset, each.timestamp, each.key, each.value) for batch in read_batches(data) for each in batch.records()
    ]


def _is_there(name: str, value: Any) -> bool:
    return value not in ABSENT and (name != "sessionId" or value != NO_SESSION)


def _order(value: Any) -> tuple[str, int]:
    if not isinstance(value, dict):
        return "", 0
    named = value.get("name") or value.get("topic") or value.get("transactionalId")
    if named is None and value.keys() & UNNAMED:
        return str(sorted(value.items(), key=str)), 0
    return str(named), int(value.get("partitionIndex", 0))


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """The differences of two answers, with their places."""
    if place.endswith(".configs"):
        shared = {each["name"] for each in ours} & {each["name"] for each in theirs} - SET_BY_BROKERS
        ours, theirs = ([each for each in given if each["name"] in shared] for given in (ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        for name in ours:
            yield from differences(ours[name], theirs[name], f"{place}.{name}".lstrip("."))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(our, their, f"{place}[{number}]")
    elif ours != theirs:
        yield f"{place}: ours {ours}, theirs {theirs}"
