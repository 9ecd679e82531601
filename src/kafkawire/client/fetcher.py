"""The consumer's fetches: ahead of the application, one at a time for each broker.

Rules:
- A partition is fetched while it has room: a chunk that the application works on and one that waits.
- While one partition of a broker is full, its others are not fetched either: a long poll for them would stand in the
  way when the full one has room again. Unless the application waits for records.
- A fetch that comes home after its partition moved on (a seek, another assignment) is dropped.
- A fetch says which epoch our last batch has. Where the leader's log has that epoch only up to an earlier offset, it
  was cut off there and continued differently (KIP-320): we go back to that offset, or tell the application.
- An offset out of range goes where `auto_offset_reset` says; without one, and with any error that trying again cannot
  mend, the application is told when it asks for records of that partition.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from kafkawire.client.decoding import Chunk, located
from kafkawire.client.errors import ClientError, LogTruncatedError, NoOffsetError, is_retriable
from kafkawire.client.metadata import NO_ID, TopicPartition
from kafkawire.client.sessions import NAMED_BY_TOPIC, TELLS_DIVERGENCE, FetchSession, Wanted
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.messages.errors import ErrorCode, KafkaError, error_for
from kafkawire.records import scan_batches

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafkawire.client.cluster import Cluster
    from kafkawire.client.options import ConsumerOptions
    from kafkawire.client.positions import Assignment, Position, Stretch

_log = logging.getLogger("kafkawire.client")
_SESSION_ERRORS: Final = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)


class Fetcher:
    """Keeps the buffers of an assignment full; `kick` after anything that makes a partition fetchable."""

    def __init__(
        self, cluster: Cluster, options: ConsumerOptions, assignment: Assignment, arrived: Callable[[], None]
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._assignment = assignment
        self._arrived = arrived
        self._sessions: dict[int, FetchSession] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        tasks = list(self._running.values())
        if self._refreshing is not None:
            tasks.append(self._refreshing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def kick(self) -> None:
        """Start a fetch at every broker that has something for us and none on its way."""
        if self._closed:
            return
        wanted: dict[int, list[Position]] = {}
        full: set[int] = set()
        now = asyncio.get_running_loop().time()
        for partition, state in self._assignment.partitions.items():
            node = self._cluster.metadata.leader(*partition)
            node_id = -1 if node is None else node.id
            if state.may_fetch(now):
                wanted.setdefault(node_id, []).append(state)
            elif state.is_full and not self._assignment.waiting:
                full.add(node_id)
        if wanted.pop(-1, None):
            self._refresh()
        for node_id, states in wanted.items():
            if node_id not in self._running and node_id not in full:
                self._running[node_id] = asyncio.create_task(self._fetch(node_id, states))

    async def _fetch(self, node_id: int, states: list[Position]) -> None:
        options = self._options
        session = self._sessions.setdefault(node_id, FetchSession())
        try:
            connection = await self._cluster.connection(node_id, "fetch")
            version = connection.negotiated.version("Fetch")
            wanted = {state.partition: self._wanted(state, version) for state in states}
            if any(each.topic_id == NO_ID for each in wanted.values()):
                version = min(version, NAMED_BY_TOPIC)
            request = FetchRequest(
                max_wait_ms=options.fetch_max_wait_ms,
                min_bytes=options.fetch_min_bytes,
                max_bytes=options.fetch_max_bytes,
                isolation_level=options.isolation,
            )
            session.fill(request, wanted, version)
            stretches = {state.partition: state.stretch for state in states}
            timeout = (options.fetch_max_wait_ms + options.request_timeout_ms) / 1000
            response = await connection.request(request, FetchResponse, version=version, timeout=timeout)
            if response.error_code in _SESSION_ERRORS:
                session.reset()
                return
            if response.error_code:
                raise error_for(response.error_code, "Fetch")
            session.answered(response)
            self._take(response, stretches)
        except Exception as error:
            session.reset()
            await self._recover(error, states)
        finally:
            del self._running[node_id]
            if not self._closed:
                asyncio.get_running_loop().call_soon(self.kick)

    def _wanted(self, state: Position, version: int) -> Wanted:
        topic, partition = state.partition
        info = self._cluster.metadata.topics.get(topic)
        known = None if info is None else info.partitions.get(partition)
        return Wanted(
            NO_ID if info is None else info.id,
            state.fetch_offset,
            -1 if known is None else known.leader_epoch,
            self._options.max_partition_fetch_bytes,
            state.fetch_epoch if version >= TELLS_DIVERGENCE else -1,
        )

    def _take(self, response: FetchResponse, stretches: dict[TopicPartition, Stretch]) -> None:
        for topic in response.responses:
            name = topic.topic or self._cluster.metadata.names.get(topic.topic_id, "")
            for each in topic.partitions:
                partition = TopicPartition(name, each.partition_index)
                state = self._assignment.partitions.get(partition)
                if state is None or state.stretch is not stretches.get(partition):
                    continue
                if each.error_code:
                    hint = each.current_leader
                    self._cluster.metadata.move_leader(*partition, hint.leader_id, hint.leader_epoch)
                    self._failed(state, each.error_code)
                    continue
                if each.diverging_epoch.end_offset >= 0:
                    self._cut_off(state, each.diverging_epoch)
                    continue
                state.high_watermark, state.last_stable_offset = each.high_watermark, each.last_stable_offset
                if each.records is not None and len(each.records):
                    self._keep(state, each)

    def _keep(self, state: Position, found: FetchResponse.PartitionData) -> None:
        assert found.records is not None
        scan = scan_batches(found.records, verify=False)
        end, at = scan.next_offset, state.fetch_offset
        if end is None or end <= at:
            if scan.error is not None:
                state.error = located(scan.error, state.partition, memoryview(found.records))
            elif end is None:
                state.error = ClientError(
                    f"{state.partition}: the batch at offset {at} does not fit max_partition_fetch_bytes "
                    f"({self._options.max_partition_fetch_bytes}), and the broker does not send it whole"
                )
            else:
                state.error = ClientError(f"{state.partition}: the broker keeps sending what lies before offset {at}")
        else:
            aborted = [(each.producer_id, each.first_offset) for each in found.aborted_transactions or ()]
            epoch = scan.leader_epoch[scan.count - 1]
            state.add(Chunk(at, end, memoryview(found.records)[: scan.end], aborted, epoch))
        self._arrived()

    def _cut_off(self, state: Position, found: FetchResponse.EpochEndOffset) -> None:
        at = found.end_offset if state.position is None else min(found.end_offset, state.position)
        error = LogTruncatedError(
            f"{state.partition}: the log was cut off at offset {found.end_offset} (leader epoch {found.epoch}), "
            f"and we were at {state.fetch_offset} (epoch {state.fetch_epoch})",
            state.partition,
            at,
        )
        if self._assignment.reset_goal is None:
            state.error = error
        else:
            _log.warning("%s; going back", error)
            state.move(at)
        self._arrived()

    def _failed(self, state: Position, code: int) -> None:
        error = error_for(code, f"{state.partition} at offset {state.fetch_offset}")
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            goal = self._assignment.reset_goal
            if goal is None:
                state.error = NoOffsetError(f"{error}; auto_offset_reset is none")
            else:
                _log.info("%s; going to %s", error, self._options.auto_offset_reset)
                state.look_up(goal)
            self._arrived()
        elif error.retriable:
            state.not_before = asyncio.get_running_loop().time() + self._options.retry_backoff_ms / 1000
            if error.refresh_metadata:
                self._refresh()
            else:
                asyncio.get_running_loop().call_later(self._options.retry_backoff_ms / 1000, self.kick)
        else:
            state.error = error
            self._arrived()

    async def _recover(self, error: Exception, states: list[Position]) -> None:
        if not is_retriable(error):
            for state in states:
                state.error = error
            self._arrived()
            return
        _log.debug("fetch: %s", error)
        await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        if not isinstance(error, KafkaError) or error.refresh_metadata:
            self._refresh()

    def _refresh(self) -> None:
        if self._refreshing is None or self._refreshing.done():
            self._refreshing = asyncio.create_task(self._refresh_then_kick())

    async def _refresh_then_kick(self) -> None:
        try:
            await self._cluster.refresh()
        except KafkaWireError as error:
            _log.debug("metadata: %s", error)
        await asyncio.sleep(self._options.retry_backoff_ms / 1000)
        self.kick()
