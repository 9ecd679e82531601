"""Several brokers that know of each other, for tests of redirects.

Rules:
- They are listeners of one process over the same data: nothing is replicated, and a moved leader has every record.
- Partition p is led by broker p % count + 1 until it moves. Each move raises the leader epoch of the partition.
- A broker that does not lead a partition answers NOT_LEADER_OR_FOLLOWER, and names the leader where the version can.
- Groups and transactional ids have one coordinator each. The other brokers answer NOT_COORDINATOR.
- Every broker is listed as an in-sync replica of every partition. The first broker is the controller.
- Internal topics are written by their coordinators, on whichever broker these are.
- A stopped broker refuses connections and is not listed. Its partitions, groups and transactional ids move to the next.
"""

from __future__ import annotations

from copy import deepcopy
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, Final
from zlib import crc32

from kafkawire.broker import DEFAULT_HOST, HeldResponse
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, NotCoordinatorError, NotLeaderOrFollowerError
from kafkawire.testing._requests import groups_of, transactional_ids_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
    from uuid import UUID

    from kafkawire.broker import Endpoint, Node, RequestContext, Response, Serve
    from kafkawire.messages import Message

GROUP: Final = 0
TRANSACTION: Final = 1
_LED: Final = frozenset(
    {
        "DeleteRecords",
        "DescribeProducers",
        "Fetch",
        "ListOffsets",
        "OffsetForLeaderEpoch",
        "Produce",
        "ShareAcknowledge",
        "ShareFetch",
    }
)
_OF_GROUPS: Final = frozenset(
    {
        "ConsumerGroupDescribe",
        "ConsumerGroupHeartbeat",
        "DeleteGroups",
        "DescribeGroups",
        "Heartbeat",
        "JoinGroup",
        "LeaveGroup",
        "OffsetCommit",
        "OffsetDelete",
        "OffsetFetch",
        "ShareGroupDescribe",
        "ShareGroupHeartbeat",
        "StreamsGroupDescribe",
        "StreamsGroupHeartbeat",
        "SyncGroup",
        "TxnOffsetCommit",
    }
)
_OF_TRANSACTIONS: Final = frozenset(
    {"AddOffsetsToTxn", "AddPartitionsToTxn", "DescribeTransactions", "EndTxn", "InitProducerId"}
)
ADAPTED: Final = frozenset(
    {"AlterConfigs", "ApiVersions", "CreateTopics", "DescribeConfigs", "IncrementalAlterConfigs"}
)
"""The requests that `adapt` changes."""
_LEADER_ERRORS: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})
_INTERNAL: Final = "__"
_BROKER_RESOURCE: Final = 4
_NO_NODE: Final = -1


class UnknownBrokerError(KafkaWireError, ValueError):
    """A test named a broker that does not exist, or asks for one too few."""


def several(count: int) -> SeveralBrokers | None:
    """The brokers of a test; None if it has one."""
    if not _is_count(count):
        raise UnknownBrokerError(f"brokers={count!r}: expected a whole number from 1 on")
    return SeveralBrokers(count) if count > 1 else None


def _is_count(given: object) -> bool:
    return isinstance(given, int) and not isinstance(given, bool) and given >= 1


class SeveralBrokers:
    """The leaders of partitions, and the coordinators of groups and transactional ids."""

    def __init__(self, count: int) -> None:
        self.ids = range(1, count + 1)
        self.moves: dict[tuple[str, int], int] = {}
        """How often the leader of a partition moved; it counts into the leader epoch."""
        self.stopped: set[int] = set()
        self.endpoints: dict[int, Endpoint] = {}
        self.names: dict[str, int] = {}
        """The broker of each listener, by its name."""
        self.own_id = 1
        """The id that the process calls itself."""
        self.name_of: Callable[[UUID], str | None] = lambda _: None
        self.epoch_of: Callable[[str, int], int] = lambda _topic, _partition: -1
        """The leader epoch of a partition."""
        self._leaders: dict[tuple[str, int], int] = {}
        self._coordinators: dict[tuple[int, str], int] = {}

    def settings(self, given: Mapping[str, str], ports: Sequence[int]) -> dict[str, str]:
        """The settings of a process with a listener for each broker, from those of one with a single listener."""
        protocol = given.get("listeners", "PLAINTEXT:").partition(":")[0]
        names = [f"BROKER{each}" for each in self.ids]
        self.names = dict(zip(names, self.ids, strict=True))
        made = {
            "node.id": str(self.own_id),
            "listeners": ",".join(f"{name}://{DEFAULT_HOST}:{port}" for name, port in zip(names, ports, strict=True)),
            "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name in names),
        }
        prefix = f"listener.name.{protocol.lower()}."
        for setting, value in given.items():
            if setting.startswith(prefix):
                made |= {f"listener.name.{name.lower()}.{setting.removeprefix(prefix)}": value for name in names}
        return {**given, **made}

    def attach(self, node: Node) -> str:
        """Begin to stand before a process that was started; returns the addresses of all brokers."""
        self.own_id = node.id
        self.endpoints = {self.names[name]: place for name, place in node.endpoints.items()}
        node.moves = self.moves
        self.epoch_of = node.epoch_of
        self.stopped.clear()

        def name_of(topic_id: UUID) -> str | None:
            found = node.topics.find_id(topic_id)
            return None if found is None else found.name

        self.name_of = name_of
        return ",".join(str(self.endpoints[each]) for each in self.ids)

    def stop(self, broker: int, topics: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Stop a broker; returns the partitions that got another leader."""
        self.check(broker)
        if len(self.running) == 1:
            raise UnknownBrokerError(f"broker {broker} is the last one that runs; stop() stops all")
        return self._switch(topics, lambda: self.stopped.add(broker))

    def start(self, broker: int, topics: Iterable[tuple[str, int]]) -> list[tuple[str, int]]:
        """Start a stopped broker; returns the partitions that got another leader."""
        if broker not in self.stopped:
            raise UnknownBrokerError(f"broker {broker!r} is not stopped")
        return self._switch(topics, lambda: self.stopped.discard(broker))

    def _switch(self, topics: Iterable[tuple[str, int]], change: Callable[[], None]) -> list[tuple[str, int]]:
        places = [(name, partition) for name, count in topics for partition in range(count)]
        before = [self.leader(*place) for place in places]
        change()
        moved = [place for place, leader in zip(places, before, strict=True) if self.leader(*place) != leader]
        for place in moved:
            self.moves[place] = self.moves.get(place, 0) + 1
        return moved

    def check(self, broker: int) -> int:
        """A broker that runs; raises if there is none."""
        if broker not in self.ids or broker in self.stopped:
            running = ", ".join(map(str, self.running))
            raise UnknownBrokerError(f"broker {broker!r}: expected one of the running brokers {running}")
        return broker

    @property
    def running(self) -> list[int]:
        """The brokers that run."""
        return [each for each in self.ids if each not in self.stopped]

    def leader(self, topic: str, partition: int) -> int:
        """The broker that leads a partition."""
        return self._standing_in(self._leaders.get((topic, partition), partition % len(self.ids) + 1))

    def coordinator(self, kind: int, key: str) -> int:
        """The broker that coordinates a group or a transactional id."""
        return self._standing_in(self._coordinators.get((kind, key), crc32(key.encode()) % len(self.ids) + 1))

    def lead(self, topic: str, partition: int, broker: int | None) -> int:
        """Move the leader of a partition to a broker, or to the next one; returns it."""
        chosen = self._next(self.leader(topic, partition)) if broker is None else self.check(broker)
        if chosen != self.leader(topic, partition):
            self.moves[topic, partition] = self.moves.get((topic, partition), 0) + 1
        self._leaders[topic, partition] = chosen
        return chosen

    def coordinate(self, kind: int, key: str, broker: int | None) -> int:
        """Move a coordinator to a broker, or to the next one; returns it."""
        chosen = self._next(self.coordinator(kind, key)) if broker is None else self.check(broker)
        self._coordinators[kind, key] = chosen
        return chosen

    def place(self, topic: str, leaders: dict[int, int]) -> None:
        """Set the leaders of a new topic, as its assignment has them."""
        self._leaders |= {(topic, partition): broker for partition, broker in leaders.items()}

    def _standing_in(self, broker: int) -> int:
        return self._next(broker) if broker in self.stopped else broker

    def _next(self, broker: int) -> int:
        running = self.running
        return next((each for each in running if each > broker), running[0])

    def guard(self, api: str, broker: int, topic: str, partition: int) -> None:
        """Refuse a partition that another broker leads."""
        if partition < 0 or api not in _LED or topic.startswith(_INTERNAL):
            return
        leader = self.leader(topic, partition)
        if leader != broker:
            raise NotLeaderOrFollowerError(f"broker {leader} leads {topic}-{partition}, this is broker {broker}")

    def _check_coordinator(self, api: str, broker: int, request: Any) -> None:
        """Refuse a request about a group or a transactional id that another broker coordinates."""
        if api in _OF_GROUPS:
            kind, keys = GROUP, groups_of(request)
        elif api in _OF_TRANSACTIONS:
            kind, keys = TRANSACTION, transactional_ids_of(request)
        else:
            return
        for key in filter(None, keys):  # empty: a field of another version
            if (coordinator := self.coordinator(kind, key)) != broker:
                raise NotCoordinatorError(f"broker {coordinator} coordinates {key!r}, this is broker {broker}")

    def adapt(self, context: RequestContext, request: Any) -> None:
        """Change a request to one for the process, which knows one broker."""
        broker = self.names[context.listener]
        match context.api.name:
            case "ApiVersions" if request.node_id == broker:
                request.node_id = self.own_id
            case "CreateTopics":
                for topic in request.topics:
                    if 1 < topic.replication_factor <= len(self.ids):
                        topic.replication_factor = 1
                    if all(set(each.broker_ids) <= set(self.ids) for each in topic.assignments):
                        first = {
                            each.partition_index: each.broker_ids[0] for each in topic.assignments if each.broker_ids
                        }
                        self.place(topic.name, first)
                        for each in topic.assignments:
                            each.broker_ids = [self.own_id]
            case "DescribeConfigs" | "AlterConfigs" | "IncrementalAlterConfigs":
                for resource in request.resources:
                    if resource.resource_type == _BROKER_RESOURCE and resource.resource_name == str(broker):
                        resource.resource_name = str(self.own_id)

    def serve(self, context: RequestContext, request: Any, serve: Serve) -> Response | Awaitable[Response]:
        """Serve a request as the broker that received it."""
        self._check_coordinator(context.api.name, self.names[context.listener], request)
        served = serve()
        return self._wait(context, request, served) if isawaitable(served) else self._finish(context, request, served)

    async def _wait(self, context: RequestContext, request: Any, served: Awaitable[Response]) -> Response:
        return self._finish(context, request, await served)

    def _finish(self, context: RequestContext, request: Any, served: Response) -> Response:
        if isinstance(served, HeldResponse):
            return served._replace(finish=partial(self._finish_held, context, request, served))
        if served is not None and getattr(served, "error_code", ErrorCode.NONE) == ErrorCode.NONE:
            self._complete(context, request, served)
        return served

    def _finish_held(self, context: RequestContext, request: Any, held: HeldResponse) -> Message | None:
        message = held.finish()
        if message is not None:
            self._complete(context, request, message)
        return message

    def _complete(self, context: RequestContext, request: Any, response: Any) -> None:
        """Change a response of the process to one of the broker that was asked."""
        broker, name = self.names[context.listener], context.api.name
        match name:
            case "Metadata":
                listed = response.brokers[0]
                response.brokers = [self._as(listed, each, "node_id") for each in self.running]
                response.controller_id = self.running[0]
                self._describe(response.topics)
            case "DescribeTopicPartitions":
                self._describe(response.topics)
            case "DescribeCluster":
                listed = response.brokers[0]
                response.brokers = [self._as(listed, each, "broker_id") for each in self.running]
                response.controller_id = self.running[0]
            case "FindCoordinator":
                kind = request.key_type
                if context.version < 4:
                    self._find(response, kind, request.key)
                for each in response.coordinators:
                    self._find(each, kind, each.key)
            case "CreateTopics":
                for topic in response.topics:
                    if topic.replication_factor == 1:
                        topic.replication_factor = self._asked_replicas(request, topic.name)
            case "ListGroups":
                response.groups = [each for each in response.groups if self.coordinator(GROUP, each.group_id) == broker]
            case "ListTransactions":
                response.transaction_states = [
                    each
                    for each in response.transaction_states
                    if self.coordinator(TRANSACTION, each.transactional_id) == broker
                ]
            case "DescribeConfigs" | "AlterConfigs" | "IncrementalAlterConfigs":
                for each in response.results if name == "DescribeConfigs" else response.responses:
                    if each.resource_type == _BROKER_RESOURCE and each.resource_name == str(self.own_id):
                        each.resource_name = str(broker)
            case "Fetch" | "Produce" | "ShareFetch" | "ShareAcknowledge":
                self._name_leaders(name, context.version, response)

    def _as(self, listed: Any, broker: int, field: str) -> Any:
        made = deepcopy(listed)
        setattr(made, field, broker)
        made.host, made.port = self.endpoints[broker]
        return made

    def _describe(self, topics: list[Any]) -> None:
        for topic in topics:
            name = str(topic.name or self.name_of(topic.topic_id))
            for each in topic.partitions:
                each.leader_id = self.leader(name, each.partition_index)
                each.replica_nodes, each.isr_nodes = list(self.ids), self.running

    def _find(self, found: Any, kind: int, key: str) -> None:
        if not found.error_code:
            found.node_id = self.coordinator(kind, key)
            found.host, found.port = self.endpoints[found.node_id]

    def _asked_replicas(self, request: Any, name: str) -> int:
        return next((each.replication_factor for each in request.topics if each.name == name), 1)

    def _name_leaders(self, api: str, version: int, response: Any) -> None:
        """Name the leaders of refused partitions, in the versions that can (KIP-951)."""
        if (api == "Fetch" and version < 16) or (api == "Produce" and version < 10):
            return
        leaders: set[int] = set()
        for topic, each in _partitions(response):
            if each.error_code in _LEADER_ERRORS:
                name = getattr(topic, "topic", None) or getattr(topic, "name", None) or self.name_of(topic.topic_id)
                index = each.index if api == "Produce" else each.partition_index
                each.current_leader.leader_id = self.leader(name, index) if name else _NO_NODE
                each.current_leader.leader_epoch = self.epoch_of(name, index) if name else -1
                leaders.add(each.current_leader.leader_id)
        if leaders:
            kind = type(response).NodeEndpoint
            response.node_endpoints = [
                kind(node_id=each, host=self.endpoints[each].host, port=self.endpoints[each].port)
                for each in sorted(leaders - {_NO_NODE})
            ]


def _partitions(response: Any) -> Iterator[tuple[Any, Any]]:
    for topic in response.responses:
        produced = hasattr(topic, "partition_responses")
        for each in topic.partition_responses if produced else topic.partitions:
            yield topic, each
