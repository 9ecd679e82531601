"""Membership of a share group: heartbeats of KIP-932, by the state and the driver of the consumer protocol.

Rules:
- A member reports only its topics; the coordinator does not wait for partitions to be given up.
- There are no static members, no regular expressions and no assignors to choose.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from kafkawire.client._consume.consumer_member import LEAVES_WITHIN, ConsumerMembership, Owner, new_member_id
from kafkawire.client._consume.member_state import LEAVE, NOTHING, MemberState, Said
from kafkawire.messages import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse

if TYPE_CHECKING:
    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client.options import ShareConsumerOptions

_NO_PROTOCOL: Final = (
    "the broker does not serve share groups; use a broker of Kafka 4.2 or newer, with the feature share.version 1"
)


class ShareMemberState(MemberState):
    """One member of one share group."""

    def share_request(self, now: float) -> ShareGroupHeartbeatRequest:
        """The next heartbeat."""
        said = self.request(now)
        return ShareGroupHeartbeatRequest(
            group_id=self.group_id,
            member_id=self.member_id,
            member_epoch=said.member_epoch,
            subscribed_topic_names=said.subscribed_topic_names,
        )

    def share_leave_request(self) -> ShareGroupHeartbeatRequest:
        """The heartbeat that leaves."""
        return ShareGroupHeartbeatRequest(group_id=self.group_id, member_id=self.member_id, member_epoch=LEAVE)

    def _news(self) -> Said:
        return Said(self.topics, None, NOTHING)


class ShareMembership(ConsumerMembership):
    """Membership that sends the heartbeats of share groups."""

    no_protocol = _NO_PROTOCOL
    _state: ShareMemberState

    async def _heartbeat(self, now: float) -> ShareGroupHeartbeatResponse:
        request = self._state.share_request(now)
        connection = await self._to_coordinator()
        return await connection.request(request, ShareGroupHeartbeatResponse)

    async def _goodbye(self) -> ShareGroupHeartbeatResponse:
        connection = await self._to_coordinator()
        request = self._state.share_leave_request()
        return await connection.request(request, ShareGroupHeartbeatResponse, timeout=LEAVES_WITHIN)


def join_share_group(cluster: Cluster, options: ShareConsumerOptions, owner: Owner) -> ShareMembership:
    """A member of the group of a share consumer; `start` joins."""
    assert options.group_id is not None
    state = ShareMemberState(options.group_id, new_member_id(), rebalance_ms=options.max_poll_interval_ms)
    return ShareMembership(cluster, state, owner, options.max_poll_interval_ms)
