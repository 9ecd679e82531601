"""The offsets that a consumer commits for its group, on request and automatically, and those that it reads.

Rules:
- A commit names the member and its generation or epoch, so that the coordinator can refuse a late one.
- An epoch of the consumer protocol may change while a request is on its way. A commit of partitions that the member
  still has is sent again with the new epoch; otherwise the application gets the error.
- Automatic commits do not raise errors; they are logged.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, TypeVar

from kafkawire.client._cluster.discovery import GROUP
from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata, commit_offsets, fetch_committed
from kafkawire.client._consume.consumer_member import ConsumerMembership
from kafkawire.client._consume.group_member import check_group
from kafkawire.client.errors import GroupError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Iterable, Mapping

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._consume.group_member import Membership
    from kafkawire.client._consume.positions import Assignment
    from kafkawire.client.options import ConsumerOptions

_log = logging.getLogger("kafkawire.client")
_Result = TypeVar("_Result")
_OLD_EPOCH: Final = (ErrorCode.STALE_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID)


class EpochChangedError(GroupError):
    """The epoch of the member has changed while a request was on its way."""

    retriable = True


class Committer:
    """Commits and reads the offsets of one consumer; `membership` is its member of the group, if it has one."""

    def __init__(self, cluster: Cluster, options: ConsumerOptions, assignment: Assignment) -> None:
        self.membership: Membership | ConsumerMembership | None = None
        self._cluster = cluster
        self._options = options
        self._assignment = assignment
        self._polled_as = (-1, "")
        """Generation and member id at the last poll: those under which the application got its records."""

    def polled(self, membership: Membership | ConsumerMembership) -> None:
        """The application polls as a member."""
        membership.polled()
        if membership.generation >= 0:
            self._polled_as = membership.generation, membership.member_id

    async def commit(self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None) -> None:
        """Commit these offsets, or the positions of everything, with retries."""
        group = check_group(self._options.group_id)
        what = self.positions() if offsets is None else dict(offsets)
        era = self._era()

        async def attempt() -> None:
            try:
                await self._commit_once(group, what)
            except KafkaError as error:
                has_all = era == self._era() and what.keys() <= self._assignment.partitions.keys()
                if error.code == ErrorCode.STALE_MEMBER_EPOCH and has_all:
                    raise EpochChangedError(str(error)) from error
                raise

        if what:
            await self._cluster.retry(f"commit of group {group!r}", attempt)

    async def committed(self, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, OffsetAndMetadata]:
        """The committed offsets of the group."""
        group, wanted = check_group(self._options.group_id), list(partitions)

        async def ask() -> dict[TopicPartition, OffsetAndMetadata]:
            member_id, epoch = "", -1
            if isinstance(self.membership, ConsumerMembership) and self.membership.generation > 0:
                member_id, epoch = self.membership.member_id, self.membership.generation
            try:
                return await self._forgetting(
                    group,
                    fetch_committed(self._cluster, group, wanted, stable=True, member_id=member_id, epoch=epoch),
                )
            except KafkaError as error:
                if epoch > 0 and error.code in _OLD_EPOCH:
                    raise EpochChangedError(str(error)) from error
                raise

        return await self._cluster.retry(f"committed offsets of group {group!r}", ask)

    def group_metadata(self) -> ConsumerGroupMetadata:
        """The group and this member of it, as of the last poll.

        Membership continues in the background. A member that was dropped and has joined again must not commit the
        offsets of records that it got before (KIP-447).
        """
        group, instance = check_group(self._options.group_id), self._options.group_instance_id
        if self.membership is None:
            return ConsumerGroupMetadata(group, group_instance_id=instance)
        return ConsumerGroupMetadata(group, *self._polled_as, instance)

    def positions(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """The positions of the application, for a commit."""
        return {
            partition: OffsetAndMetadata(at[0], leader_epoch=at[1])
            for partition, state in self._assignment.partitions.items()
            if (at := state.stretch.at) is not None
        }

    async def commit_quietly(self) -> None:
        """Commit all positions once, if the consumer commits by itself."""
        if self._options.group_id is not None and self._options.enable_auto_commit and self.positions():
            try:
                await self._commit_once(self._options.group_id, self.positions())
            except KafkaWireError as error:
                _log.warning("group %s: offsets not committed: %s", self._options.group_id, error)

    async def commit_before_revocation(self) -> None:
        """As `commit_quietly`; with the consumer protocol until it succeeds or its time is over."""
        group, member = self._options.group_id, self.membership
        if not isinstance(member, ConsumerMembership) or group is None:
            return await self.commit_quietly()
        if not self._options.enable_auto_commit or not self.positions():
            return None

        async def attempt() -> None:
            try:
                await self._commit_once(group, self.positions())
            except KafkaError as error:
                if error.code == ErrorCode.STALE_MEMBER_EPOCH:
                    raise EpochChangedError(str(error)) from error
                if error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                    raise GroupError(f"a topic was deleted: {error}") from error  # no later attempt would succeed
                raise

        try:
            await self._cluster.retry(f"commit of group {group!r}", attempt, member.commits_within)
        except KafkaWireError as error:
            _log.warning("group %s: offsets not committed: %s", group, error)

    async def commit_by_itself(self) -> None:
        """Commit all positions, again and again."""
        while True:
            await asyncio.sleep(self._options.auto_commit_interval_ms / 1000)
            if self.membership is None or self.membership.generation >= 0:
                await self.commit_quietly()

    def _era(self) -> int:
        return self.membership.era if isinstance(self.membership, ConsumerMembership) else 0

    async def _commit_once(self, group: str, what: dict[TopicPartition, OffsetAndMetadata]) -> None:
        member = self.membership
        member_id, generation = ("", -1) if member is None else member.committer()
        await self._forgetting(
            group,
            commit_offsets(
                self._cluster,
                group,
                what,
                member_id=member_id,
                generation=generation,
                instance_id=None if member is None else self._options.group_instance_id,
            ),
        )

    async def _forgetting(self, group: str, asking: Awaitable[_Result]) -> _Result:
        try:
            return await asking
        except KafkaWireError as error:
            if not isinstance(error, KafkaError):
                self._cluster.forget_coordinator(GROUP, group)
            raise
