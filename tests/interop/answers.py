"""One request put to two brokers, and what of their answers must be the same.

Rules:
- The order of topics and partitions says nothing. Of settings those are compared that both brokers have, but for
  min.insync.replicas, which Apache Kafka sets for itself (KIP-966).
- Names, numbers of nodes and error codes are the same; what a broker chooses (ids, times, its address, words for an
  error) is not looked at, but for whether it is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self, cast

from tests.broker.peer import Peer

from kafkawire.messages import ApiVersionsRequest, api

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.broker.peer import Listening

    from kafkawire.messages import Message

PATIENCE = 20.0
CHOSEN = frozenset(
    {
        *(
            "throttleTimeMs",
            "errorMessage",
            "batchIndexErrorMessage",
            "clusterId",
            "topicId",
            "host",
            "port",
            "logDir",
            "totalBytes",
        ),
        *("usableBytes", "partitionSize", "size", "lastTimestamp", "leaderEpoch", "clusterAuthorizedOperations"),
        *("preferredReadReplica", "documentation", "synonyms", "nodeEndpoints", "partitionLeaderEpoch"),
        *("logEndOffset", "lastFetchTimestamp", "lastCaughtUpTimestamp", "nodes"),
    }
)
PRESENT = frozenset({"memberId", "leader", "sessionId", "producerId", "abortedTransactions", "clientHost"})
ABSENT: tuple[Any, ...] = (None, "", -1, [])
NO_SESSION = 0


class Asked:
    """A broker that questions are put to, over a connection that is made anew when the broker closes it."""

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
            self._peer.socket.close()
            self._peer = Peer(self._broker, PATIENCE)
            return None


def common_versions(name: str, *brokers: Asked) -> list[int]:
    """The versions of an API that all brokers serve."""
    key = api(name).key
    found = sorted(set.intersection(*(set(broker.versions.get(key, ())) for broker in brokers)))
    # Apache Kafka lists Produce from 0 on, for the sake of librdkafka, and serves it from 3 on (KAFKA-18659).
    return [version for version in found if name != "Produce" or version >= 3]


def comparable(answer: Message | None, version: int) -> Any:
    """An answer without what its broker chose."""
    return None if answer is None else _without_choices(answer.to_json(version=version))


def _without_choices(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: _is_there(name, each) if name in PRESENT else _without_choices(each)
            for name, each in value.items()
            if name not in CHOSEN
        }
    if isinstance(value, list):
        return sorted((_without_choices(each) for each in value), key=_order)
    return value


def _is_there(name: str, value: Any) -> bool:
    return value not in ABSENT and (name != "sessionId" or value != NO_SESSION)


def _order(value: Any) -> tuple[str, int]:
    if not isinstance(value, dict):
        return "", 0
    return str(value.get("name") or value.get("topic")), int(value.get("partitionIndex", 0))


def differences(ours: Any, theirs: Any, place: str = "") -> Iterator[str]:
    """Where two answers differ, and how."""
    if place.endswith(".configs"):
        shared = {each["name"] for each in ours} & {each["name"] for each in theirs} - {"min.insync.replicas"}
        ours, theirs = ([each for each in given if each["name"] in shared] for given in (ours, theirs))
    if isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        for name in ours:
            yield from differences(ours[name], theirs[name], f"{place}.{name}".lstrip("."))
    elif isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        for number, (our, their) in enumerate(zip(ours, theirs, strict=True)):
            yield from differences(our, their, f"{place}[{number}]")
    elif ours != theirs:
        yield f"{place}: ours {ours}, theirs {theirs}"
