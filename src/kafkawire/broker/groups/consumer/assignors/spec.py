"""The input of an assignor: members with their topics and old targets, and the partitions of each topic."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from collections.abc import Set as AbstractSet
    from uuid import UUID

    Assignment: TypeAlias = Mapping[UUID, AbstractSet[int]]


class MemberSpec(NamedTuple):
    """A member as an assignor sees it. Its topics exist."""

    topics: Sequence[UUID]
    assigned: Assignment
    instance_id: str | None = None
    rack: str | None = None


@dataclass(frozen=True, slots=True)
class GroupSpec:
    """A group as an assignor sees it. The order of the members is part of the input."""

    members: Mapping[str, MemberSpec]
    partitions: Mapping[UUID, int]
    """The number of partitions of each subscribed topic."""
    is_homogeneous: bool
    """Whether all members have the same topics."""
