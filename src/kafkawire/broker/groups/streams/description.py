"""The description of an application's topology (KIP-1331): its nodes, for tools.

Rules:
- A description belongs to one epoch of the group's topology. A group without one of its epoch asks its members for it.
- Descriptions are not stored. After a restart the members send them again.
- A description of more than MOST_BYTES is refused, because the broker keeps it in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.messages.errors import (
    GroupIdNotFoundError,
    InvalidRequestError,
    StreamsTopologyDescriptionUpdateFailedError,
    UnknownMemberIdError,
)

if TYPE_CHECKING:
    from kafkawire.broker.groups.kinds import AnyGroup
    from kafkawire.broker.groups.streams.group import StreamsGroup
    from kafkawire.messages import StreamsGroupTopologyDescriptionUpdateRequest

    Stated = StreamsGroupTopologyDescriptionUpdateRequest.TopologyDescription

MOST_BYTES: Final = 1 << 20


class Description(NamedTuple):
    """A description, and the epoch of the topology that it is about."""

    epoch: int
    stated: Stated


def current_description(group: StreamsGroup) -> Description | None:
    """The description of the topology that a group has now."""
    known = group.description
    return known if known is not None and group.topology is not None and known.epoch == group.topology.epoch else None


def describe(group: AnyGroup | None, member_id: str, description: Description, size: int) -> None:
    """Take in the description that a member sends; a refusal is raised."""
    if group is None:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of a group that does not exist.")
    if group.kind != "streams":
        raise GroupIdNotFoundError(f"Group {group.group_id} is not a streams group.")
    streams: StreamsGroup = group  # type: ignore[assignment]  # its kind says so
    if member_id not in streams.members:
        raise UnknownMemberIdError(f"Member {member_id} is not a member of group {streams.group_id}.")
    if streams.topology is None or description.epoch != streams.topology.epoch:
        known = "none" if streams.topology is None else streams.topology.epoch
        raise InvalidRequestError(f"The topology epoch is {description.epoch}, the one of the group is {known}.")
    if size > MOST_BYTES:
        raise StreamsTopologyDescriptionUpdateFailedError(f"{size} bytes; a description has at most {MOST_BYTES}.")
    streams.description = description
