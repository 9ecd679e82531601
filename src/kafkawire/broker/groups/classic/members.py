"""A member of a group: its identity, its protocols, and the request that waits.

Rules:
- While a member waits for a join or sync answer it is not expected to send heartbeats; a new member that waits for its
  first join can be given up only by the time limit of that join.
- A member votes for the first of its protocols that everyone supports.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from struct import Struct
from typing import TYPE_CHECKING, Final

from kafkawire.messages import ConsumerProtocolSubscription, DecodeError
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from kafkawire.broker.groups.protocol import Protocol, Token

CONSUMER: Final = "consumer"
_VERSION: Final = Struct(">h")
_NEWEST_SUBSCRIPTION: Final = 3


@dataclass(slots=True, eq=False)
class Member:
    """One member."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    session_timeout: int
    rebalance_timeout: int
    protocols: tuple[Protocol, ...]
    assignment: bytes = b""
    is_new: bool = False
    joining: Token | None = None
    syncing: Token | None = None

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_waiting(self) -> bool:
        """Whether the member may be silent without losing its session."""
        return not self.is_new and (self.joining is not None or self.syncing is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """The metadata of the member for a protocol."""
        return next((each.metadata for each in self.protocols if each.name == protocol), b"")

    def vote(self, candidates: Collection[str]) -> str:
        return next(each.name for each in self.protocols if each.name in candidates)


def elect_protocol(members: Collection[Member]) -> str:
    """The protocol with the most votes among those that all members support; of equals, the one voted for first."""
    candidates = common_protocols(members)
    return Counter(member.vote(candidates) for member in members).most_common(1)[0][0]


def common_protocols(members: Iterable[Member]) -> set[str]:
    """The protocols that all members support."""
    names = [{each.name for each in member.protocols} for member in members]
    return set.intersection(*names) if names else set()


def subscribed_topics(members: Iterable[Member], protocol: str | None) -> frozenset[str] | None:
    """The topics that consumers are subscribed to; None where one of them says it in a way that is not Kafka's."""
    topics: set[str] = set()
    for member in members:
        found = _topics(member.metadata(protocol))
        if found is None:
            return None
        topics |= found
    return frozenset(topics)


@lru_cache(maxsize=1024)
def _topics(metadata: bytes) -> frozenset[str] | None:
    if len(metadata) < _VERSION.size:
        return None
    version = _VERSION.unpack_from(metadata)[0]
    if version < 0:
        return None
    try:
        subscription, _ = ConsumerProtocolSubscription.decode_prefix(
            metadata, min(version, _NEWEST_SUBSCRIPTION), _VERSION.size
        )
    except DecodeError:
        return None
    return frozenset(subscription.topics)


def check_member(
    members: dict[str, Member], instances: dict[str, str], member_id: str, instance: str | None
) -> ErrorCode:
    """Whether a request comes from a member, and for a static one from the process that holds its name now."""
    if instance is not None:
        current = instances.get(instance)
        if current is None:
            return ErrorCode.UNKNOWN_MEMBER_ID
        if current != member_id:
            return ErrorCode.FENCED_INSTANCE_ID
    return ErrorCode.NONE if member_id in members else ErrorCode.UNKNOWN_MEMBER_ID
