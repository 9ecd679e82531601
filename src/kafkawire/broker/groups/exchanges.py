"""What members ask and what they are told, free of versions.

Rules:
- A token stands for a request that waits; whoever asked made it, and gets it back with the answer.
- Every token is answered once. A reply that is `settled` tells of something written down, and may be sent only when
  the disk holds it as firmly as the broker promises.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from kafkawire.messages.errors import ErrorCode

Token: TypeAlias = object
NO_MEMBER = ""
NO_GENERATION = -1


class Protocol(NamedTuple):
    """A way to assign partitions that a member supports, and what it says to the leader about itself."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Join:
    """A member asks to be let in, or in again."""

    group_id: str
    member_id: str
    client_id: str
    client_host: str
    session_timeout: int
    rebalance_timeout: int
    protocol_type: str
    protocols: tuple[Protocol, ...]
    instance_id: str | None = None
    needs_known_id: bool = False
    can_skip_assignment: bool = False


class JoinedMember(NamedTuple):
    """A member as its leader sees it."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinResult:
    """The answer to a join."""

    error: ErrorCode
    member_id: str
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol_name: str | None = None
    leader: str = NO_MEMBER
    skip_assignment: bool = False
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class Sync:
    """A member asks for its part, and the leader brings everyone's."""

    group_id: str
    member_id: str
    generation: int
    instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: dict[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SyncResult:
    """The answer to a sync."""

    error: ErrorCode
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = b""


class Reply(NamedTuple):
    """An answer that is ready."""

    token: Token
    result: JoinResult | SyncResult
    settled: bool = False


class Leaver(NamedTuple):
    """Who leaves; an administrator names the instance only."""

    member_id: str
    instance_id: str | None = None


class MemberKey(NamedTuple):
    """How a member shows who it is."""

    member_id: str
    generation: int
    instance_id: str | None = None
