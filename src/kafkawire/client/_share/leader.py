"""The exchanges of a share consumer with one leader: fetches and acknowledgements, one request at a time.

Rules:
- The requests of a session are in order, so each waits for the answer to the one before.
- Acknowledgements of fetched partitions travel with the next fetch. Renewals and those of other partitions have a
  request of their own.
- Another connection means another session: the broker has released the records of the old one. Acknowledgements of an
  old session fail without a request.
- Acknowledgements whose answer is lost fail with the error of the connection. The broker may have taken them in.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.client._share.acknowledgements import Acknowledgements, Delivery
from kafkawire.client._share.acquisition import acquired
from kafkawire.client._share.session import ShareSession
from kafkawire.client.errors import ClientError
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ShareAcknowledgeResponse, ShareFetchResponse
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from uuid import UUID

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._cluster.connection import Connection
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client.options import ShareConsumerOptions

    Place = tuple[UUID, int]
    Finished = Callable[[Acknowledgements, Exception | None], None]

_RENEWS_FROM: Final = 2
_OLD_SESSION: Final = "the connection in which the records were acquired is lost, so the broker has released them"
_LEADER_CHANGED: Final = (
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
_SESSION_ENDED: Final = (
    ErrorCode.SHARE_SESSION_NOT_FOUND,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED,
)


class Fetched(NamedTuple):
    """The deliveries of one fetch, with the errors of records between them, and the errors of partitions."""

    found: list[Delivery | Exception]
    errors: list[KafkaError]


class ShareLeader:
    """One broker, as a share consumer uses it."""

    def __init__(
        self, cluster: Cluster, node_id: int, options: ShareConsumerOptions, member_id: str, finished: Finished
    ) -> None:
        assert options.group_id is not None
        self.node_id = node_id
        self.lock_ms: int | None = None
        self._group = options.group_id
        self._cluster = cluster
        self._options = options
        self._member_id = member_id
        self._finished = finished
        self._session = ShareSession(self._group, member_id, node_id)
        self._connection: Connection | None = None
        self._turn = asyncio.Lock()

    @property
    def is_busy(self) -> bool:
        return self._turn.locked()

    async def fetch(
        self, wanted: Mapping[Place, TopicPartition], acks: Sequence[Acknowledgements], wait_ms: int
    ) -> Fetched:
        """Fetch these partitions, with the acknowledgements of records that came from here."""
        async with self._turn:
            try:
                connection = await self._connect()
            except KafkaWireError as error:
                self._finish(acks, error)
                raise
            session = self._session
            aside = [each for each in acks if each.renews or each.place not in wanted or each.session is not session]
            await self._send(connection, aside)
            along = [each for each in acks if each not in aside]
            request = session.fetch_request(wanted, along, self._options, wait_ms)
            try:
                timeout = (wait_ms + self._options.request_timeout_ms) / 1000
                response = await connection.request(request, ShareFetchResponse, timeout=timeout)
                self._check(response.error_code, response.error_message, "ShareFetch")
            except BaseException as error:
                self._end(along, error)
                raise
            session.answered()
            self.lock_ms = response.acquisition_lock_timeout_ms
            return self._take(session, response, wanted, along)

    async def acknowledge(self, acks: Sequence[Acknowledgements], deadline: float = 0.0) -> None:
        """Send acknowledgements by themselves, and until the deadline again if an error may pass."""
        async with self._turn:
            try:
                connection = await self._connect()
            except KafkaWireError as error:
                self._finish(acks, error)
                return
            await self._send(connection, acks, deadline)

    async def close(self, acks: Sequence[Acknowledgements], seconds: float) -> None:
        """Send the last acknowledgements and end the session, which releases all other records."""
        async with self._turn:
            session, connection = self._session, self._connection
            if connection is None or not connection.is_open or session.is_new or session.is_over:
                self._finish(acks, error_for(ErrorCode.SHARE_SESSION_NOT_FOUND, _OLD_SESSION))
                return
            mine = self._current(acks)
            request = session.acknowledge_request(mine, closing=True)
            try:
                response = await connection.request(request, ShareAcknowledgeResponse, timeout=seconds)
                self._check(response.error_code, response.error_message, "ShareAcknowledge")
            except BaseException as error:
                self._end(mine, error)
                if not isinstance(error, KafkaWireError):
                    raise
            else:
                self._acknowledged(response, mine)
            session.is_over = True

    async def _connect(self) -> Connection:
        connection = await self._cluster.connection(self.node_id, "share")
        if connection is not self._connection or self._session.is_over:
            self._session.is_over = True
            self._session = ShareSession(self._group, self._member_id, self.node_id)
            self._connection = connection
        return connection

    async def _send(self, connection: Connection, acks: Sequence[Acknowledgements], deadline: float = 0.0) -> None:
        left = self._current(acks)
        if any(each.renews for each in left) and connection.version("ShareAcknowledge") < _RENEWS_FROM:
            self._finish(left, ClientError("the broker cannot renew records; it needs Apache Kafka 4.2 or newer"))
            return
        tries = 0
        while left:
            tries += 1
            request = self._session.acknowledge_request(left)
            try:
                response = await connection.request(request, ShareAcknowledgeResponse)
                self._check(response.error_code, response.error_message, "ShareAcknowledge")
            except BaseException as error:
                self._end(left, error)
                if not isinstance(error, KafkaWireError):
                    raise
                return
            self._session.answered()
            if response.acquisition_lock_timeout_ms > 0:
                self.lock_ms = response.acquisition_lock_timeout_ms
            pause = self._cluster.pause_before(tries)
            left = self._acknowledged(response, left, may_retry=self._cluster.now() + pause < deadline)
            if left:
                await asyncio.sleep(pause)

    def _current(self, acks: Sequence[Acknowledgements]) -> list[Acknowledgements]:
        """The acknowledgements of the current session; the others fail."""
        old = [each for each in acks if each.session is not self._session or self._session.is_new]
        self._finish(old, error_for(ErrorCode.SHARE_SESSION_NOT_FOUND, _OLD_SESSION))
        return [each for each in acks if each not in old]

    def _check(self, code: int, message: str | None, what: str) -> None:
        if code:
            raise error_for(code, message or what)

    def _end(self, acks: Iterable[Acknowledgements], error: BaseException) -> None:
        """A request has failed. Its session goes on only if the broker refused the request for another reason."""
        if not isinstance(error, KafkaError) or error.code in _SESSION_ENDED:
            self._session.is_over = True
        self._finish(acks, error if isinstance(error, Exception) else ClientError("the call was cancelled"))

    def _finish(self, acks: Iterable[Acknowledgements], error: Exception | None) -> None:
        for each in acks:
            self._finished(each, error)

    def _acknowledged(
        self, response: ShareAcknowledgeResponse, acks: Iterable[Acknowledgements], *, may_retry: bool = False
    ) -> list[Acknowledgements]:
        """Take in an answer; returns the acknowledgements to send again, because their error may pass."""
        said = {each.place: each for each in acks}
        again = []
        for topic in response.responses:
            for each in topic.partitions:
                mine = said.pop((topic.topic_id, each.partition_index), None)
                if mine is None:
                    continue
                error = _error(mine.partition, each.error_code, each.error_message)
                if may_retry and error is not None and error.retriable and error.code not in _LEADER_CHANGED:
                    again.append(mine)
                else:
                    self._finished(mine, error)
        self._left_out(said.values())
        return again

    def _left_out(self, acks: Iterable[Acknowledgements]) -> None:
        for each in acks:
            self._finished(each, ClientError(f"{each.partition}: the broker's answer leaves it out"))

    def _take(
        self,
        session: ShareSession,
        response: ShareFetchResponse,
        wanted: Mapping[Place, TopicPartition],
        acks: Iterable[Acknowledgements],
    ) -> Fetched:
        said = {each.place: each for each in acks}
        fetched = Fetched([], [])
        for topic in response.responses:
            for each in topic.partitions:
                place = (topic.topic_id, each.partition_index)
                mine = said.pop(place, None)
                if mine is not None:
                    code, message = each.acknowledge_error_code, each.acknowledge_error_message
                    self._finished(mine, _error(mine.partition, code, message))
                partition = wanted.get(place)
                if partition is None:
                    continue
                if each.error_code:
                    hint = each.current_leader
                    self._cluster.metadata.move_leader(*partition, hint.leader_id, hint.leader_epoch)
                    fetched.errors.append(error_for(each.error_code, each.error_message or str(partition)))
                elif each.acquired_records:
                    self._keep(fetched, session, topic.topic_id, partition, each)
        self._left_out(said.values())
        return fetched

    def _keep(
        self,
        fetched: Fetched,
        session: ShareSession,
        topic_id: UUID,
        partition: TopicPartition,
        found: ShareFetchResponse.PartitionData,
    ) -> None:
        for part in acquired(found, partition, self._options):
            fetched.found.append(Delivery(session, topic_id, partition, part.records, part.types))
            if part.error is not None:
                fetched.found.append(part.error)


def _error(partition: TopicPartition, code: int, message: str | None) -> KafkaError | None:
    return error_for(code, f"{partition}: {message}" if message else str(partition)) if code else None
