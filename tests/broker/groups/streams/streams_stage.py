"""A coordinator with topics, and clients that follow the streams protocol as Kafka Streams does."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import UUID

from tests.broker.groups.consumer.consumer_stage import replayed
from tests.broker.groups.manual_coordinator import GROUP, ListLog, ManualCoordinator

from kafkawire.broker._metadata.topics import Topic, Topics
from kafkawire.broker.groups.coordinator import GroupCoordinator
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.broker.groups.streams.group import StreamsGroup
from kafkawire.broker.groups.streams.heartbeat import StreamsBeat, StreamsResult
from kafkawire.broker.groups.streams.settings import StreamsTiming
from kafkawire.broker.groups.streams.tasks import TaskSet
from kafkawire.broker.groups.streams.topology import Subtopology, TopicInfo, Topology
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from kafkawire.broker.groups.streams.tasks import OwnedTasks

SESSION = 45_000
INTERVAL = 5_000
REBALANCE = 60_000
AT_ONCE = StreamsTiming(SESSION, INTERVAL, 0, 0, 0)
WORDS = Topology(
    0,
    {
        "0": Subtopology("0", ("lines",), repartition_sink_topics=("by-word",)),
        "1": Subtopology(
            "1", changelog_topics=(TopicInfo("counts"),), repartition_source_topics=(TopicInfo("by-word"),)
        ),
    },
)
"""Word count: lines are split in one subtopology, and words are counted in another."""


class StreamsStage(ManualCoordinator):
    """One coordinator, its log, its clock and its topics."""

    def __init__(
        self,
        timing: StreamsTiming = AT_ONCE,
        log: ListLog | None = None,
        topics: Topics | None = None,
        settings: GroupSettings | None = None,
    ) -> None:
        super().__init__(settings, log)
        self.topics = Topics() if topics is None else topics
        self.timing = timing
        self.ids = count(1)
        numbers = count(1)
        self.coordinator = GroupCoordinator(
            settings or GroupSettings(),
            self.log,
            topics=self.topics,
            streams_timing=lambda group_id: self.timing,
            suffix=lambda: str(next(numbers)),
        )

    def restarted(self, settings: GroupSettings | None = None) -> StreamsStage:
        stage = StreamsStage(self.timing, self.log, self.topics, settings or self.coordinator.settings)
        stage.now, stage.ids = self.now, self.ids
        stage.coordinator.load(replayed(self.log), stage.now)
        return stage

    def create(self, *names: str, partitions: int = 4) -> None:
        for name in names:
            self.topics.add(Topic(name, UUID(int=next(self.ids)), partitions))

    @property
    def streams(self) -> StreamsGroup:
        group = self.coordinator.find(GROUP)
        assert isinstance(group, StreamsGroup), group
        return group

    def beat(self, member_id: str, epoch: int, **said: Any) -> StreamsResult:
        """A heartbeat; its answer, or its refusal as an exception."""
        beat = StreamsBeat(GROUP, member_id, epoch, "client", "/127.0.0.1", **said)
        try:
            return self.coordinator.streams_heartbeat(beat, self.now)
        finally:
            self.settle()

    def refused(self, member_id: str, epoch: int, **said: Any) -> ErrorCode:
        """The error of a heartbeat."""
        try:
            self.beat(member_id, epoch, **said)
        except KafkaError as error:
            return ErrorCode(error.code)
        return ErrorCode.NONE

    def client(self, member_id: str, process: str | None = None, **said: Any) -> StreamsClient:
        """A client that has joined."""
        client = StreamsClient(self, member_id, process or member_id, **said)
        client.poll()
        return client


class StreamsClient:
    """A member that follows the protocol: it takes over every assignment at once."""

    def __init__(self, stage: StreamsStage, member_id: str, process: str, **said: Any) -> None:
        self.stage = stage
        self.member_id = member_id
        self.process = process
        self.said: dict[str, Any] = {"topology": WORDS, **said}
        self.epoch = 0
        self.tasks = TaskSet()
        self.statuses: list[int] = []

    def poll(self, *, stage: StreamsStage | None = None) -> StreamsResult | None:
        """A heartbeat; after being fenced it joins again."""
        self.stage = stage or self.stage
        said: dict[str, Any] = {"rebalance_timeout": REBALANCE, "process_id": self.process, **self.said}
        if self.epoch:
            del said["topology"]
        try:
            result = self.stage.beat(self.member_id, self.epoch, owned=self.tasks, **said)
        except KafkaError as error:
            if error.code in (ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.GROUP_ID_NOT_FOUND):
                self.epoch = 0
                self.take(TaskSet())
            return None
        self.epoch = result.epoch
        self.statuses = [each.code for each in result.statuses]
        if result.tasks is not None:
            self.take(as_reported(result.tasks))
        return result

    def take(self, tasks: TaskSet) -> None:
        self.tasks = tasks

    def leave(self) -> None:
        self.stage.beat(self.member_id, -1)
        self.epoch, self.tasks = 0, TaskSet()


def as_reported(tasks: OwnedTasks) -> TaskSet:
    active = {name: frozenset(partitions) for name, partitions in tasks.active.items()}
    return TaskSet(active, tasks.standby, tasks.warmup)


def settle(stage: StreamsStage, *clients: StreamsClient, rounds: int = 8) -> None:
    """Let clients send heartbeats until nothing is left to do."""
    for _ in range(rounds):
        for client in clients:
            client.poll(stage=stage)
        stage.pass_time(INTERVAL)


__all__ = ["AT_ONCE", "GROUP", "INTERVAL", "REBALANCE", "SESSION", "WORDS", "StreamsClient", "StreamsStage", "settle"]
