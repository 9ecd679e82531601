"""A coordinator with topics, and clients that follow the consumer protocol as Java's consumer does."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.broker.groups.manual_coordinator import GROUP, START, ListLog, ManualCoordinator

from kafkawire.broker._metadata.topics import Topic, Topics
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.consumer.heartbeat import Beat, BeatResult, check_request
from kafkawire.broker.groups.consumer.settings import Timing
from kafkawire.broker.groups.coordinator import GroupCoordinator
from kafkawire.broker.groups.replay import Replay
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.broker.groups.steps import finish
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker.groups.kinds import AnyGroup

SESSION = 45_000
INTERVAL = 5_000
REBALANCE = 60_000
PAUSE = 1_000


class Stage(ManualCoordinator):
    """One coordinator, its log, its clock and its topics."""

    def __init__(
        self,
        settings: GroupSettings | None = None,
        log: ListLog | None = None,
        topics: Topics | None = None,
        timing: Timing | None = None,
    ) -> None:
        super().__init__(settings, log)
        self.topics = Topics() if topics is None else topics
        self.timing = timing or Timing(SESSION, INTERVAL, PAUSE)
        numbers = count(1)
        self.coordinator = GroupCoordinator(
            settings or GroupSettings(),
            self.log,
            topics=self.topics,
            timing=lambda group_id: self.timing,
            suffix=lambda: str(next(numbers)),
        )
        self.ids = 0

    def restarted(self, settings: GroupSettings | None = None) -> Stage:
        stage = Stage(settings or self.coordinator.settings, self.log, self.topics, self.timing)
        stage.now = self.now
        stage.coordinator.load(replayed(self.log), stage.now)
        return stage

    def create(self, name: str, partitions: int) -> Topic:
        self.ids += 1
        topic = Topic(name, UUID(int=self.ids << 64 | self.topics.version + 1), partitions)
        self.topics.add(topic)
        return topic

    @property
    def consumers(self) -> ConsumerGroup:
        group = self.coordinator.find(GROUP)
        assert isinstance(group, ConsumerGroup), group
        return group

    def beat(self, member_id: str, epoch: int, *, version: int = 1, group_id: str = GROUP, **said: Any) -> BeatResult:
        """A heartbeat; its answer, or its refusal as an exception."""
        beat = Beat(group_id, member_id, epoch, "client", "/127.0.0.1", **said)
        check_request(beat, version, ("uniform", "range"))
        try:
            return self.coordinator.consumer_heartbeat(beat, self.now)
        finally:
            for wanted in self.coordinator.take_resolutions():
                finish(self.coordinator.resolving(wanted, self.now))
            self.settle()

    def refused(self, member_id: str, epoch: int, **said: Any) -> ErrorCode:
        """The error of a heartbeat."""
        try:
            self.beat(member_id, epoch, **said)
        except KafkaError as error:
            return ErrorCode(error.code)
        return ErrorCode.NONE

    def client(self, member_id: str, *topics: str, **said: Any) -> Client:
        """A client that has joined."""
        client = Client(self, member_id, topics, **said)
        client.poll()
        return client


class Client:
    """A member that follows the protocol: it takes over every assignment at once."""

    def __init__(self, stage: Stage, member_id: str, topics: tuple[str, ...], **said: Any) -> None:
        self.stage = stage
        self.member_id = member_id
        self.topics: frozenset[str] | None = frozenset(topics)
        self.said: dict[str, Any] = {"rebalance_timeout": REBALANCE, **said}
        self.epoch = 0
        self.owned: dict[UUID, frozenset[int]] = {}
        self.was_fenced = False

    @property
    def partitions(self) -> set[tuple[str, int]]:
        """The partitions that it consumes."""
        names = {topic.id: topic.name for topic in self.stage.topics}
        return {(names.get(topic, str(topic)), each) for topic, numbers in self.owned.items() for each in numbers}

    def poll(self, *, stage: Stage | None = None) -> BeatResult | None:
        """A heartbeat; after being fenced it joins again."""
        self.stage = stage or self.stage
        said: dict[str, Any] = {**self.said, "topics": self.topics, "owned": self.owned}
        try:
            result = self.stage.beat(self.member_id, self.epoch, **said)
        except KafkaError as error:
            if error.code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND):
                self.was_fenced = True
                self.epoch = 0
                self.take({})
            return None
        self.epoch = result.epoch
        if result.assignment is not None:
            self.take({topic: frozenset(numbers) for topic, numbers in result.assignment.items()})
        return result

    def take(self, assignment: dict[UUID, frozenset[int]]) -> None:
        self.owned = assignment

    def leave(self, epoch: int = -1) -> None:
        self.stage.beat(self.member_id, epoch, **{key: self.said[key] for key in ("instance_id",) if key in self.said})
        self.epoch, self.owned = 0, {}


def settle(stage: Stage, *clients: Client, rounds: int = 8) -> None:
    """Let clients send heartbeats until nothing is left to do."""
    for _ in range(rounds):
        for client in clients:
            client.poll(stage=stage)
        stage.pass_time(INTERVAL)


def replayed(log: ListLog) -> list[AnyGroup]:
    replay = Replay()
    replay.entries(log.entries)
    return replay.groups()


__all__ = ["GROUP", "INTERVAL", "PAUSE", "REBALANCE", "SESSION", "START", "Client", "Stage", "replayed", "settle"]
