"""A group: its members, its generation, its offsets. `rebalance` and `membership` decide about changes.

Rules:
- The state changes by the table of `states` only, and remembers when it did.
- The leader is a member whenever there is one, and follows a static member through its restarts.
- A static member's name belongs to one member id; a pending id was given out and has not joined yet.
- The generation grows with every rebalance that ends, and with nothing else.
- `protocol_type` outlives the members: an empty group that once had consumers is not a simple one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from kafkawire.broker._metadata.topics import NO_ID
from kafkawire.broker.groups.classic.members import (
    CONSUMER,
    Member,
    check_member,
    common_protocols,
    elect_protocol,
    subscribed_topics,
)
from kafkawire.broker.groups.classic.states import State, can_follow
from kafkawire.broker.groups.protocol import JoinedMember, JoinResult
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterable
    from uuid import UUID

    from kafkawire.broker.groups.protocol import Protocol

TopicPartition = tuple[str, int]


class TransitionError(KafkaWireError):
    """A group was asked to go where its state does not lead."""


class CommittedOffset(NamedTuple):
    """A committed offset of a partition; `expires` is set by old clients only.

    The topic id differs for an earlier topic of the same name. Records that older versions wrote have
    none.
    """

    offset: int
    leader_epoch: int
    metadata: str
    committed_at: int
    expires: int | None = None
    topic_id: UUID = NO_ID


class Group:
    """One group of the classic protocol."""

    kind = "classic"

    def __init__(self, group_id: str, *, since: int | None = None) -> None:
        self.group_id = group_id
        self.state = State.EMPTY
        self.since = since
        self.generation = 0
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.instances: dict[str, str] = {}
        self.pending: set[str] = set()
        self.unsynced: set[str] = set()
        self.offsets: dict[TopicPartition, CommittedOffset] = {}
        self.initial_delay_left: int | None = None
        self.grew_while_waiting = False

    def __repr__(self) -> str:
        return f"Group({self.group_id!r}, {self.state}, generation {self.generation}, {len(self.members)} members)"

    @property
    def rebalance_timeout(self) -> int:
        """How long the slowest member may take to come back."""
        return max((member.rebalance_timeout for member in self.members.values()), default=0)

    @property
    def everyone_joined(self) -> bool:
        return not self.pending and all(member.joining is not None for member in self.members.values())

    @property
    def is_empty(self) -> bool:
        return self.state is State.EMPTY

    @property
    def is_simple(self) -> bool:
        """Whether there never were members, only commits."""
        return self.protocol_type is None

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER

    @property
    def subscribed_topics(self) -> frozenset[str] | None:
        """The topics its members consume; None where that cannot be known."""
        if not self.uses_consumer_protocol:
            return None
        if self.members and self.protocol_name is None:
            return None
        return subscribed_topics(self.members.values(), self.protocol_name)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether the topic is consumed; of consumers that do not say, it is assumed."""
        topics = self.subscribed_topics
        return self.uses_consumer_protocol if topics is None else topic in topics

    def go(self, state: State, now: int) -> None:
        if not can_follow(state, self.state):
            raise TransitionError(f"group {self.group_id!r}: {state} cannot follow {self.state}")
        self.state = state
        self.since = now

    def check_member(self, member_id: str, instance_id: str | None) -> ErrorCode:
        return check_member(self.members, self.instances, member_id, instance_id)

    def supports(self, protocol_type: str, protocols: Iterable[Protocol]) -> bool:
        """Whether a member with these protocols can work with those that are here."""
        names = {each.name for each in protocols}
        if not self.members:
            return bool(protocol_type and names)
        return protocol_type == self.protocol_type and not names.isdisjoint(common_protocols(self.members.values()))

    def add(self, member: Member, protocol_type: str) -> None:
        if not self.members:
            self.protocol_type = protocol_type
        if member.instance_id is not None:
            self.instances[member.instance_id] = member.member_id
        self.members[member.member_id] = member
        self.pending.discard(member.member_id)
        if self.leader is None:
            self.leader = member.member_id

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id)
        self.unsynced.discard(member_id)
        if member.instance_id is not None:
            del self.instances[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member that came back its new id; its place and its part stay."""
        assert member.instance_id is not None
        old = member.member_id
        self.members = {member_id if each == old else each: known for each, known in self.members.items()}
        self.instances[member.instance_id] = member.member_id = member_id
        if old in self.unsynced:
            self.unsynced.remove(old)
            self.unsynced.add(member_id)
        if self.leader == old:
            self.leader = member_id

    def elect_leader(self) -> bool:
        """Let someone who is waiting lead, the old leader if possible; whether there is one."""
        waiting = [each for each, member in self.members.items() if member.joining is not None]
        if not waiting:
            return False
        if self.leader not in waiting:
            self.leader = waiting[0]
        return True

    def begin_generation(self, now: int) -> None:
        """End the taking in of members."""
        self.generation += 1
        self.unsynced = set(self.members)
        self.protocol_name = elect_protocol(self.members.values()) if self.members else None
        self.go(State.COMPLETING if self.members else State.EMPTY, now)

    def joined(self, member_id: str, *, leader: str | None = None, skip_assignment: bool = False) -> JoinResult:
        """The result of a join for a member of the current generation; the leader also who is in it."""
        leads = self.leader == member_id and leader is None
        return JoinResult(
            ErrorCode.NONE,
            member_id,
            self.generation,
            self.protocol_type,
            self.protocol_name,
            leader or self.leader or "",
            skip_assignment and leads,
            tuple(self._seen_by_leader()) if leads else (),
        )

    def _seen_by_leader(self) -> Iterable[JoinedMember]:
        for member in self.members.values():
            yield JoinedMember(member.member_id, member.instance_id, member.metadata(self.protocol_name))
