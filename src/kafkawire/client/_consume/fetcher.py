"""The fetches of a consumer: ahead of the application, one at a time for each broker.

Rules:
- A partition is fetched while it has room for a chunk: one that the application works on and one that waits.
- While one partition of a broker is full, its others are not fetched either. A long poll for them would delay the full
  one once it has room. This does not apply while the application waits for records.
- A partition that waits after an error is fetched when its wait ends. A refresh of metadata does not trigger this
  fetch, because a refresh that began before the error may end before the wait.
- The answer for a partition that moved meanwhile (a seek, another assignment) is dropped.
- A fetch carries the epoch of the last batch. If the leader's log has this epoch only up to an earlier offset, it was
  truncated there (KIP-320). The consumer goes back to that offset, or raises an error.
- An offset out of range is reset by `auto_offset_reset`. Without a reset, and for errors that are not retriable, the
  error is raised when records of the partition are requested.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from kafkawire.client._cluster.discovery import calls_for_refresh
from kafkawire.client._cluster.metadata import NO_ID, TopicPartition
from kafkawire.client._consume.records import fetch_version, fetched_chunk
from kafkawire.client.errors import ClientError, LogTruncatedError, NoOffsetError, is_retriable
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.messages.errors import ErrorCode, error_for
from kafkawire.wire.fetch_sessions import SESSION_ERRORS, ClientSession, FetchPosition

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from kafkawire.client._cluster.cluster import Cluster
    from kafkawire.client._consume.positions import Assignment, Position, Stretch
    from kafkawire.client.options import ConsumerOptions

_log = logging.getLogger("kafkawire.client")
TELLS_DIVERGENCE: Final = 12


class Fetcher:
    """Keeps the buffers of an assignment full; call `kick` after any change that makes a partition fetchable."""

    def __init__(
        self, cluster: Cluster, options: ConsumerOptions, assignment: Assignment, arrived: Callable[[], None]
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._assignment = assignment
        self._arrived = arrived
        self._sessions: dict[int, ClientSession] = {}
        self._running: dict[int, asyncio.Task[None]] = {}
        self._refreshing: asyncio.Task[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._closed = False

    async def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        tasks = list(self._running.values())
        if self._refreshing is not None:
            tasks.append(self._refreshing)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def kick(self) -> None:
        """Start a fetch at every broker that leads a fetchable partition and has no fetch in flight."""
        if self._closed:
            return
        wanted: dict[int, list[Position]] = {}
        full: set[int] = set()
        now = asyncio.get_running_loop().time()
        for partition, state in self._assignment.partitions.items():
            node = self._cluster.metadata.leader(*partition)
            node_id = -1 if node is None else node.id
            if state.not_before > now:
                self._kick_at(state.not_before)
            elif state.may_fetch(now):
                wanted.setdefault(node_id, []).append(state)
            elif state.is_full and not self._assignment.waiting:
                full.add(node_id)
        if wanted.pop(-1, None):
            self._refresh()
        for node_id, states in wanted.items():
            if node_id not in self._running and node_id not in full:
                self._running[node_id] = asyncio.create_task(self._fetch(node_id, states))

    def _kick_at(self, when: float) -> None:
        if self._timer is None or when < self._timer.when():
            if self._timer is not None:
                self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_at(when, self._kick_now)

    def _kick_now(self) -> None:
        self._timer = None
        self.kick()

    async def _fetch(self, node_id: int, states: list[Position]) -> None:
        options = self._options
        session = self._sessions.setdefault(node_id, ClientSession())
        try:
            connection = await self._cluster.connection(node_id, "fetch")
            version = fetch_version(connection, [self._topic_id(state.partition.topic) for state in states])
            wanted = {state.partition: self._wanted(state, version) for state in states}
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
            if response.error_code in SESSION_ERRORS:
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

    def _wanted(self, state: Position, version: int) -> FetchPosition:
        known = self._cluster.metadata.partition(*state.partition)
        return FetchPosition(
            state.fetch_offset,
            self._options.max_partition_fetch_bytes,
            -1 if known is None else known.leader_epoch,
            state.fetch_epoch if version >= TELLS_DIVERGENCE else -1,
            self._topic_id(state.partition.topic),
        )

    def _topic_id(self, topic: str) -> UUID:
        info = self._cluster.metadata.topics.get(topic)
        return NO_ID if info is None else info.id

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
                self._keep(state, each)

    def _keep(self, state: Position, found: FetchResponse.PartitionData) -> None:
        limit = f"max_partition_fetch_bytes ({self._options.max_partition_fetch_bytes})"
        try:
            chunk = fetched_chunk(found, state.partition, state.fetch_offset, limit)
        except ClientError as error:
            state.error = error
        else:
            if chunk is None:
                return
            state.add(chunk)
        self._arrived()

    def _cut_off(self, state: Position, found: FetchResponse.EpochEndOffset) -> None:
        at = found.end_offset if state.position is None else min(found.end_offset, state.position)
        error = LogTruncatedError(
            f"{state.partition}: the log was truncated at offset {found.end_offset} (leader epoch {found.epoch}), "
            f"and the position was {state.fetch_offset} (epoch {state.fetch_epoch})",
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
        if calls_for_refresh(error):
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
