"""The state of one member of a consumer group (KIP-848): what its next heartbeat says, and what answers change.

Pure: no I/O and no clock of its own. The drivers send the requests and move the partitions.

Rules:
- A heartbeat names only what changed since the last one. After a join, an error or a lost answer it names everything.
- The coordinator sends a target. The member gives up what is not in it, reports that, and then takes what is new.
- Epoch 0 joins. A member that the coordinator does not know in its epoch has lost its partitions: it drops them and
  joins again, with the same member id.
- A static member that may have joined before releases its instance id (epoch -2) before it joins. Otherwise the
  coordinator would refuse it, because the id is in use by the member itself.
- The era changes when the membership is lost. A step of an earlier era has no effect.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import TYPE_CHECKING, Final, NamedTuple
from uuid import UUID

from kafkawire.messages import ConsumerGroupHeartbeatRequest
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from kafkawire.messages import ConsumerGroupHeartbeatResponse, ShareGroupHeartbeatResponse
    from kafkawire.messages.errors import KafkaError

    HeartbeatResponse = ConsumerGroupHeartbeatResponse | ShareGroupHeartbeatResponse

Place = tuple[UUID, int]
Places = frozenset[Place]
JOIN: Final = 0
LEAVE: Final = -1
RELEASE: Final = -2
NOTHING: Final[Places] = frozenset()
_LEAST_INTERVAL: Final = 0.02


class Phase(Enum):
    """The phases of a membership."""

    JOINING = "joining"
    MEMBER = "member"
    LOST = "lost"
    AWAY = "away"
    RELEASING = "releasing"
    FAILED = "failed"


class Reaction(Enum):
    """The reactions to the error of a heartbeat."""

    RETRY = "send it again later"
    MOVED = "find the coordinator, then send it again"
    REJOIN = "drop all partitions and join again"
    JOIN = "join now"
    REPORT = "tell the application, and continue"
    FAIL = "tell the application, and stop"


TRANSITIONS: Final = {
    Phase.JOINING: {Phase.MEMBER, Phase.RELEASING, Phase.LOST, Phase.AWAY, Phase.FAILED},
    Phase.MEMBER: {Phase.LOST, Phase.AWAY, Phase.FAILED},
    Phase.LOST: {Phase.JOINING, Phase.RELEASING, Phase.FAILED},
    Phase.AWAY: {Phase.JOINING, Phase.RELEASING, Phase.LOST, Phase.FAILED},
    Phase.RELEASING: {Phase.JOINING, Phase.AWAY, Phase.FAILED},
    Phase.FAILED: {Phase.JOINING, Phase.RELEASING, Phase.LOST},
}
_REACTIONS: Final = {
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Reaction.RETRY,
    ErrorCode.NOT_COORDINATOR: Reaction.MOVED,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Reaction.MOVED,
    ErrorCode.FENCED_MEMBER_EPOCH: Reaction.REJOIN,
    ErrorCode.UNKNOWN_MEMBER_ID: Reaction.REJOIN,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: Reaction.REPORT,
}
_RELEASED: Final = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.GROUP_ID_NOT_FOUND,
    ErrorCode.FENCED_MEMBER_EPOCH,
)


class Step(NamedTuple):
    """A step of a member towards its target: partitions to give up and to take, and topics without a known name."""

    give_up: Places
    take: Places
    nameless: frozenset[UUID]
    era: int


class Said(NamedTuple):
    """The contents of the last heartbeat; the next one names the differences."""

    topics: frozenset[str]
    regex: str | None
    owned: Places


class MemberState:
    """One member of one group."""

    def __init__(
        self,
        group_id: str,
        member_id: str,
        *,
        rebalance_ms: int,
        instance_id: str | None = None,
        assignor: str | None = None,
    ) -> None:
        self.group_id = group_id
        self.member_id = member_id
        self.instance_id = instance_id
        self.phase = Phase.JOINING
        self.epoch = JOIN
        self.era = 0
        self.topics: frozenset[str] = frozenset()
        self.regex: str | None = None
        self.owned = self.target = NOTHING
        self.rebalance_ms = rebalance_ms
        self._assignor = assignor
        self._said: Said | None = None
        self._had_regex = False
        self._interval = 0.0
        self._sent_at = self._not_before = -math.inf

    @property
    def may_be_known(self) -> bool:
        """Whether the coordinator may know this member."""
        return self._sent_at > -math.inf and self.phase in (Phase.JOINING, Phase.MEMBER, Phase.LOST)

    def subscribe(self, topics: Iterable[str], regex: str | None = None) -> None:
        """Change the subscription; a member that failed joins again."""
        self.topics, self.regex = frozenset(topics), regex
        if self.phase is Phase.FAILED:
            self._join()

    def due_at(self) -> float:
        """The time of the next heartbeat; infinite while none may be sent."""
        if self.phase in (Phase.LOST, Phase.AWAY, Phase.FAILED):
            return math.inf
        if self.phase is not Phase.MEMBER or self._said != self._news():
            return self._not_before
        return max(self._not_before, self._sent_at + self._interval)

    def request(self, now: float) -> ConsumerGroupHeartbeatRequest:
        """The next heartbeat."""
        self._sent_at = now
        request = self._blank(RELEASE if self.phase is Phase.RELEASING else self.epoch)
        if self.phase is Phase.RELEASING:
            return request
        before, news = self._said, self._news()
        if before is None:
            request.rebalance_timeout_ms = self.rebalance_ms
            request.server_assignor = self._assignor
        if before is None or before.topics != news.topics:
            request.subscribed_topic_names = sorted(news.topics)
        if (before is None and (news.regex or self._had_regex)) or (before is not None and before.regex != news.regex):
            request.subscribed_topic_regex = news.regex or ""  # a lost answer may be about an earlier expression
            self._had_regex = True
        if before is None or before.owned != news.owned:
            request.topic_partitions = [
                ConsumerGroupHeartbeatRequest.TopicPartitions(topic_id=topic, partitions=numbers)
                for topic, numbers in by_topic(news.owned).items()
            ]
        self._said = news
        return request

    def leave_request(self) -> ConsumerGroupHeartbeatRequest:
        """The heartbeat that leaves; a static member only leaves for a while."""
        return self._blank(LEAVE if self.instance_id is None else RELEASE)

    def answered(self, response: HeartbeatResponse) -> None:
        """Take in the answer to the last heartbeat."""
        if self.phase is Phase.RELEASING:
            self._go(Phase.JOINING)
        elif self.phase in (Phase.JOINING, Phase.MEMBER):
            self.member_id = response.member_id or self.member_id
            self.epoch = response.member_epoch
            self._interval = max(_LEAST_INTERVAL, response.heartbeat_interval_ms / 1000)
            self._not_before = -math.inf
            if self.phase is Phase.JOINING:
                self._go(Phase.MEMBER)
            if response.assignment is not None:
                self.target = frozenset(
                    (topic.topic_id, number)
                    for topic in response.assignment.topic_partitions
                    for number in topic.partitions
                )

    def unanswered(self, until: float) -> None:
        """The last heartbeat has no answer: the next one, at this time at the earliest, says everything."""
        self._said, self._not_before = None, until
        if self.phase is Phase.JOINING and self.instance_id is not None:
            self._go(Phase.RELEASING)

    def refused(self, error: KafkaError, until: float) -> Reaction:
        """Take in the error of the last heartbeat; the caller does the rest of what the reaction says."""
        reaction = self._reaction(error)
        if reaction is Reaction.JOIN:
            self._go(Phase.JOINING)
        elif reaction is Reaction.REJOIN:
            self.lose()
            self._not_before = until
        elif reaction is Reaction.FAIL:
            self.fail()
        else:
            self.unanswered(until)
        return reaction

    def lose(self) -> None:
        """The membership is lost: all partitions must be dropped before the next join."""
        if self.phase in (Phase.JOINING, Phase.MEMBER):
            self._end(Phase.LOST)

    def fail(self) -> None:
        """The membership ends with an error."""
        if self.phase is not Phase.FAILED:
            self._end(Phase.FAILED)

    def step_out(self) -> None:
        """The application does not poll: the member leaves until it does."""
        self._end(Phase.AWAY)

    def come_back(self) -> None:
        """The application polls again."""
        if self.phase is Phase.AWAY:
            self._join()

    @property
    def must_drop(self) -> bool:
        """Whether all partitions must be dropped, because others may own them."""
        return self.phase is Phase.LOST or (self.phase in (Phase.AWAY, Phase.FAILED) and bool(self.owned))

    def dropped(self) -> None:
        """The partitions of a lost membership are dropped."""
        self.owned = self.target = NOTHING
        if self.phase is Phase.LOST:
            self._join()

    def step(self, names: Mapping[UUID, str]) -> Step | None:
        """The next step to the target; None if it is reached, or if the member must drop everything first."""
        if self.phase is not Phase.MEMBER or self.owned == self.target:
            return None
        missing = self.target - self.owned
        take = frozenset(each for each in missing if each[0] in names)
        return Step(self.owned - self.target, take, frozenset(each[0] for each in missing - take), self.era)

    def gave_up(self, places: Places, era: int) -> None:
        """Partitions were given up, with their offsets committed and the listener called."""
        if era == self.era:
            self.owned -= places

    def took(self, places: Places, era: int) -> bool:
        """Partitions are taken; False if the target has lost them, or the membership was lost meanwhile."""
        if era != self.era or not places <= self.target:
            return False
        self.owned |= places
        return True

    def _reaction(self, error: KafkaError) -> Reaction:
        code = ErrorCode(error.code)
        if self.phase is Phase.RELEASING and code in _RELEASED:
            return Reaction.JOIN
        if self.phase is Phase.MEMBER and code is ErrorCode.GROUP_ID_NOT_FOUND:
            return Reaction.REJOIN  # a join creates the group again, or names the reason why it cannot
        return _REACTIONS.get(code, Reaction.RETRY if error.retriable else Reaction.FAIL)

    def _blank(self, epoch: int) -> ConsumerGroupHeartbeatRequest:
        return ConsumerGroupHeartbeatRequest(
            group_id=self.group_id, member_id=self.member_id, member_epoch=epoch, instance_id=self.instance_id
        )

    def _news(self) -> Said:
        return Said(self.topics, self.regex, self.owned)

    def _join(self) -> None:
        if self.owned:
            self._go(Phase.LOST)  # the partitions are dropped first
        else:
            self._go(Phase.JOINING if self.instance_id is None else Phase.RELEASING)

    def _end(self, phase: Phase) -> None:
        self._go(phase)
        self.era += 1
        self.epoch, self._said = JOIN, None

    def _go(self, phase: Phase) -> None:
        assert phase in TRANSITIONS[self.phase], f"{self.phase} to {phase}"
        self.phase = phase


def by_topic(places: Iterable[Place]) -> dict[UUID, list[int]]:
    """The partitions of each topic, in order.

    >>> by_topic({(UUID(int=1), 2), (UUID(int=1), 0)})
    {UUID('00000000-0000-0000-0000-000000000001'): [0, 2]}
    """
    found: dict[UUID, list[int]] = {}
    for topic, number in sorted(places):
        found.setdefault(topic, []).append(number)
    return found
