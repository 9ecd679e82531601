"""One share fetch: waits for records, and acquires them.

Rules:
- The partitions of the session come in turn first, by the epoch of the session, so that none of them starves.
- The response is sent when min_bytes can be read, when a partition cannot be read, or after max_wait_ms. New records,
  and records that are available again, wake a fetch that waits.
- The bytes of a response are divided evenly among the partitions that have records. The first one returns at least one
  batch of the log.
- Only batches with acquired records are sent. They may contain others: AcquiredRecords names those that the member has.
- A log that begins after the next record moves the share partition (retention).
- A fetch whose session has gone on without it acquires nothing, because its client does not wait for its response: the
  records would be locked without a reader. Nor does it acquire from a share partition that was loaded again meanwhile.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, cast

from kafkawire.broker._fetch.watch import Watch
from kafkawire.broker.share.acquisition import Span, Wanted, acquire
from kafkawire.broker.share.reading import aborted_spans, covering, read_batches
from kafkawire.broker.share.service import watch_name
from kafkawire.broker.share.stored import ShareKey
from kafkawire.messages import ShareFetchResponse
from kafkawire.messages.errors import InvalidShareSessionEpochError, KafkaError, OffsetOutOfRangeError
from kafkawire.wire.acls import Operation, ResourceType

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self
    from uuid import UUID

    from kafkawire.broker._dispatch.registry import RequestContext
    from kafkawire.broker._node import HostedPartition, Node
    from kafkawire.broker.share.service import LoadedPartition
    from kafkawire.broker.share.sessions import ShareSession
    from kafkawire.log import FileRange

    Place = tuple[UUID, int]
    PartitionData = ShareFetchResponse.PartitionData


class Limits(NamedTuple):
    """The limits of a request."""

    max_wait_ms: int
    min_bytes: int
    max_bytes: int
    max_records: int
    batch_size: int
    has_record_limit: bool


class _Target(NamedTuple):
    key: ShareKey
    hosted: HostedPartition


class _Found(NamedTuple):
    """A partition that can be read, and the offsets to read."""

    target: _Target
    loaded: LoadedPartition
    offset: int
    up_to: int


class ShareFetch:
    """The fetch of one request; `answers` has the result of each partition."""

    def __init__(self, node: Node, session: ShareSession, limits: Limits, context: RequestContext) -> None:
        self.answers: dict[Place, PartitionData] = {}
        self._node = node
        self._shares = node.shares
        self._session = session
        self._epoch = session.epoch
        self._group_id, self._member_id = session.key
        self._limits = limits
        self._context = context
        self._targets: dict[Place, _Target] = {}
        self._is_committed = self._shares.reads_committed(self._group_id)

    async def run(self, places: Sequence[Place], epoch: int) -> None:
        """Fetch partitions, beginning with the one whose turn it is."""
        limits = self._limits
        turn = epoch % len(places) if places and epoch > 0 else 0
        for topic_id, index in (*places[turn:], *places[:turn]):
            try:
                hosted = self._node.partition(topic_id, index)
                self._context.require(Operation.READ, ResourceType.TOPIC, hosted.topic.name)
            except KafkaError as error:
                self.answers[topic_id, index] = failed(index, error)
            else:
                key = ShareKey(self._group_id, topic_id, index)
                self._targets[topic_id, index] = _Target(key, hosted)
            await self._context.yield_if_due()
        if not self._targets or limits.max_records <= 0 or limits.max_bytes <= 0:
            return
        seen = self._changes
        found = await self._find(applies=False)
        if found is None:
            self.apply_acknowledgements()
            found = await self._wait(seen)
        await self._acquire(found)

    def apply_acknowledgements(self) -> None:
        """Let the acknowledgements of the request take effect."""
        self._shares.apply_acknowledgements(target.key for target in self._targets.values())

    @property
    def _is_awaited(self) -> bool:
        """Whether the session goes on with this fetch's response."""
        session = self._session
        return session.epoch == self._epoch and self._shares.sessions.find(session.key) is session

    @property
    def _changes(self) -> tuple[int, int]:
        """Counts that differ when records may have become available."""
        return self._node.changed_partitions, self._shares.releases

    async def _wait(self, seen: tuple[int, int]) -> list[_Found]:
        """The partitions that can be read when there is enough, or when the time is over."""
        clock = self._node.clock
        deadline = clock.elapsed() + self._limits.max_wait_ms
        logs = [(target.hosted.topic.name, target.hosted.number) for target in self._targets.values()]
        names = [watch_name(target.key) for target in self._targets.values()]
        with Watch(self._node.watches, logs) as watch, _Also(self._shares.watches, names, watch):
            found = None if self._changes == seen else await self._find()
            while found is None:
                in_time = await watch.wait(clock, deadline - clock.elapsed())
                self._context.begin_turn()
                watch.take()
                found = await self._find(at_once=not in_time)
        return found

    async def _find(self, *, at_once: bool = False, applies: bool = True) -> list[_Found] | None:
        """The partitions that can be read; None if there is not enough, and there is time to wait."""
        found: list[_Found] = []
        size, is_final = 0, at_once or self._limits.max_wait_ms <= 0
        most_locks = self._shares.most_locks(self._group_id)
        for place, target in list(self._targets.items()):
            try:
                hosted = self._node.partition(*place)
                loaded = await self._shares.load(target.key, hosted, applies=applies)
                log = hosted.log
                loaded.partition.log_starts_at(log.log_start_offset)
                if loaded.partition.can_acquire(most_locks):
                    offset = loaded.partition.next_offset()
                    up_to = log.last_stable_offset if self._is_committed else log.high_watermark
                    if offset < up_to:
                        size += log.read(offset, self._limits.max_bytes, up_to=up_to).length if not size else 1
                    found.append(_Found(target, loaded, offset, up_to))
            except KafkaError as error:
                self._fail(place, error)
                is_final = True
            await self._context.yield_if_due()
        return found if is_final or size >= self._limits.min_bytes or not self._targets else None

    def _fail(self, place: Place, error: KafkaError) -> None:
        self.answers[place] = failed(place[1], error)
        self._shares.fail(self._targets.pop(place).key)

    async def _acquire(self, found: Sequence[_Found]) -> None:
        """Acquire records of the partitions that can be read."""
        limits = self._limits
        left = limits.max_records
        has_records = False
        with_records = sum(each.offset < each.up_to for each in found)
        share = limits.max_bytes // max(1, with_records)
        for each in found:
            key, hosted = each.target
            place = key.topic_id, key.partition
            data = ShareFetchResponse.PartitionData(partition_index=key.partition, records=b"")
            self.answers[place] = data
            if not self._is_awaited:
                raise InvalidShareSessionEpochError("another request of the share session came meanwhile")
            if left > 0 and self._shares.find(key) is each.loaded:
                try:
                    count = self._acquire_from(each, hosted, data, left, share, is_first=not has_records)
                except OffsetOutOfRangeError:
                    each.loaded.partition.log_starts_at(hosted.log.log_start_offset)
                    count = 0
                except KafkaError as error:
                    self._fail(place, error)
                    continue
                if count:
                    left -= count
                    has_records = True
                    self._shares.locked(key)
            await self._context.yield_if_due()

    def _acquire_from(
        self, found: _Found, hosted: HostedPartition, data: PartitionData, left: int, share: int, *, is_first: bool
    ) -> int:
        """Acquire records of one partition; returns how many."""
        group_id, shares, partition = self._group_id, self._shares, found.loaded.partition
        most_locks = shares.most_locks(group_id)
        if not partition.can_acquire(most_locks):
            return 0
        offset, log = partition.next_offset(), hosted.log
        if offset >= found.up_to:
            return 0
        records = log.read(offset, share, up_to=found.up_to, min_one_batch=is_first)
        batches = read_batches(records, offset, max(offset, partition.end) + left)
        aborted: Sequence[Span] = ()
        if self._is_committed and batches:
            aborted = aborted_spans(batches, log.aborted_transactions(batches[0].first, found.up_to))
        wanted = Wanted(
            self._member_id,
            left,
            max(1, self._limits.batch_size),
            self._limits.has_record_limit,
            self._node.clock.elapsed() + shares.lock_duration(group_id),
            shares.delivery_limit(group_id),
            most_locks,
        )
        acquired = acquire(partition, wanted, offset, [Span(batch.first, batch.last) for batch in batches], aborted)
        if not acquired:
            return 0
        data.acquired_records = [
            ShareFetchResponse.AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in acquired
        ]
        sent: FileRange = covering(records, batches, acquired[0].first, acquired[-1].last)
        data.records = cast("memoryview", sent)  # the encoder takes it as it is (`_codec.parts`)
        return sum(each.size for each in acquired)


class _Also:
    """Registers a watch for further names, within a `with` block."""

    def __init__(
        self, watches: dict[tuple[str, int], set[Watch]], names: Sequence[tuple[str, int]], watch: Watch
    ) -> None:
        self._watches = watches
        self._names = names
        self._watch = watch

    def __enter__(self) -> Self:
        for name in self._names:
            self._watches.setdefault(name, set()).add(self._watch)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in self._names:
            watches = self._watches.get(name)
            if watches is not None:
                watches.discard(self._watch)
                if not watches:
                    del self._watches[name]


def failed(index: int, error: KafkaError) -> PartitionData:
    """The answer for a partition that cannot be fetched."""
    return ShareFetchResponse.PartitionData(
        partition_index=index, error_code=error.code, error_message=error.message, records=b""
    )
