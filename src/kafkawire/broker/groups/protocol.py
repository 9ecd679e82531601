"""Requests of members and their results, independent of versions.

Rules:
- A token stands for a request that waits. Its sender creates it, and gets it back with the result.
- Every token is answered once. A reply with `needs_sync` is about written records. It may be sent only when they are
  durable (`OffsetsLog.durable`).
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
    """An assignment protocol that a member supports, and its metadata for the leader."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class Join:
    """A request to join, or to join again."""

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
    """A request for the assignment; the leader's contains all assignments."""

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
    """A result that is ready to be sent."""

    token: Token
    result: JoinResult | SyncResult
    needs_sync: bool = False


class Leaver(NamedTuple):
    """A member that leaves; an administrator names only the instance."""

    member_id: str
    instance_id: str | None = None


class MemberKey(NamedTuple):
    """The identity that a member sends."""

    member_id: str
    generation: int
    instance_id: str | None = None
