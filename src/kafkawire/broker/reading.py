"""Reading partitions for a fetch: limits, checks, what stays in files.

Rules:
- Partitions are read in the order given; each gets the smaller of its own limit and what is left of the whole.
- From v3 on the first partition with records gives at least one whole batch whatever the limits; a later first batch
  that does not fit is left out. Before, the limits are hard, and a batch may be cut.
- Readers see up to the high watermark, of committed records up to the last stable offset, replicas to the end. Between
  that and the end there is nothing to read, and no error.
- An error carries no numbers: high watermark, last stable offset and log start are -1.
- A fetch that waits keeps the pieces it has. It reads again the partitions that changed, and those whose records it
  holds, because their files may be gone meanwhile.
- Limits are those of stored bytes. Converting them for old readers comes afterwards, and any thread may do it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kafkawire import platforms
from kafkawire.broker.sessions import Told
from kafkawire.log.segment import FileRange
from kafkawire.messages import FetchResponse
from kafkawire.messages.errors import (
    ErrorCode,
    KafkaError,
    OffsetOutOfRangeError,
    UnsupportedCompressionTypeError,
    UnsupportedVersionError,
)
from kafkawire.records import Codec, RecordsError, convert, read_batches

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from kafkawire.broker.node import Node
    from kafkawire.broker.serving import RequestContext
    from kafkawire.broker.sessions import Wanted
    from kafkawire.log.partition import Partition

READ_COMMITTED: Final = 1
_LEADER_TOLD: Final = (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
_HOLE_SIZE: Final = 64 * 1024 * 1024
# Never touched, so never in memory: its slices stand for bytes that are sent from files.
_HOLE: Final = memoryview(platforms.untouched_memory(_HOLE_SIZE))


@dataclass(frozen=True, slots=True)
class Reader:
    """Who reads, and under which rules."""

    version: int
    isolation: int
    replica: int
    max_bytes: int
    listener: str

    @property
    def magic(self) -> int:
        """The newest record format that the reader knows."""
        return 0 if self.version < 2 else 1 if self.version < 4 else 2


@dataclass(slots=True)
class Piece:
    """What one partition gives."""

    wanted: Wanted
    data: FetchResponse.PartitionData
    content: FileRange | memoryview | None = None

    @property
    def size(self) -> int:
        return 0 if self.content is None else len(self.content)

    @property
    def is_settled(self) -> bool:
        """Whether waiting longer would not change the answer."""
        return self.data.error_code != ErrorCode.NONE or self.data.diverging_epoch.epoch != -1

    def hold(self, content: FileRange | memoryview) -> None:
        """Take records in, with room for them in the answer."""
        size = len(content)
        self.content = content if size else None
        self.data.records = _HOLE[:size] if size <= _HOLE_SIZE else bytes(size)

    def told(self) -> Told:
        """What sessions must know of it."""
        failed = self.data.error_code != ErrorCode.NONE
        has_records = self.content is not None
        is_news = failed or has_records or self.data.diverging_epoch.epoch != -1
        return Told(self.data.high_watermark, self.data.log_start_offset, is_news, has_records, failed)


class Reading:
    """The pieces of one fetch, in the order of its partitions."""

    def __init__(self, node: Node, wanted: Sequence[Wanted], reader: Reader) -> None:
        self.pieces: list[Piece] = []
        self.is_settled = False
        """Whether waiting longer would not change the answer."""
        self._node = node
        self._wanted = wanted
        self._reader = reader
        self._size = 0
        self._holding: set[int] = set()

    @property
    def holds_records(self) -> bool:
        return bool(self._holding)

    def is_enough(self, min_bytes: int) -> bool:
        return self.is_settled or self._size >= min_bytes

    async def read(self, context: RequestContext) -> None:
        """Read what is there of every partition, within the limits."""
        for position, wanted in enumerate(self._wanted):
            self.pieces.append(self._read(wanted, position))
            await context.yield_if_due()

    async def read_again(self, positions: Iterable[int], context: RequestContext) -> None:
        """Read the partitions at these positions again, and those whose records are held."""
        for position in sorted(self._holding.union(positions)):
            self._size -= self.pieces[position].size
            self._holding.discard(position)
            self.pieces[position] = self._read(self._wanted[position], position)
            await context.yield_if_due()

    def _read(self, wanted: Wanted, position: int) -> Piece:
        size, reader = self._size, self._reader
        piece = read_one(self._node, wanted, reader, max(0, reader.max_bytes - size), is_first=not size)
        if piece.content is not None:
            self._size = size + len(piece.content)
            self._holding.add(position)
        elif piece.is_settled:
            self.is_settled = True
        return piece


def read_one(node: Node, wanted: Wanted, reader: Reader, left: int, *, is_first: bool) -> Piece:
    """Read one partition; a refusal is part of the answer."""
    try:
        return _read(node, wanted, reader, left, is_first=is_first)
    except KafkaError as error:
        code = error.code
        if code == ErrorCode.KAFKA_STORAGE_ERROR and reader.version <= 5:
            code = ErrorCode.NOT_LEADER_OR_FOLLOWER
        data = _refused(wanted, code)
        if code in _LEADER_TOLD and reader.version >= 16:
            data.current_leader = FetchResponse.LeaderIdAndEpoch(leader_id=node.id, leader_epoch=node.leader_epoch)
        return Piece(wanted, data)


def convert_all(pieces: list[Piece], magic: int) -> None:
    """Put what was read into an older format, for clients that know no newer one."""
    for piece in pieces:
        if not isinstance(piece.content, FileRange):
            continue
        try:
            piece.hold(_converted(piece.content.read(), magic))
        except (KafkaError, RecordsError) as error:
            code = error.code if isinstance(error, KafkaError) else ErrorCode.CORRUPT_MESSAGE
            piece.data, piece.content = _refused(piece.wanted, code), None


def _refused(wanted: Wanted, code: int) -> FetchResponse.PartitionData:
    return FetchResponse.PartitionData(
        partition_index=wanted.index, error_code=code, high_watermark=-1, records=b"", aborted_transactions=None
    )


def _read(node: Node, wanted: Wanted, reader: Reader, left: int, *, is_first: bool) -> Piece:
    name = wanted.topic
    topic = node.topics.find(name) if isinstance(name, str) else node.topics.find_id(name)
    if topic is None:
        by_name = isinstance(name, str)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if by_name else ErrorCode.UNKNOWN_TOPIC_ID
        return Piece(wanted, _refused(wanted, code))
    log = node.log(topic.name, wanted.index)
    node.check_leader_epoch(wanted.leader_epoch)
    watermark, stable = log.high_watermark, log.last_stable_offset
    data = FetchResponse.PartitionData(
        partition_index=wanted.index,
        high_watermark=watermark,
        last_stable_offset=stable,
        log_start_offset=log.log_start_offset,
        aborted_transactions=None,
        records=b"",
    )
    piece = Piece(wanted, data)
    if _diverges(log, wanted, data):
        return piece
    up_to = log.end_offset if reader.replica >= 0 else stable if reader.isolation == READ_COMMITTED else watermark
    most = min(wanted.max_bytes, left)
    found = log.read(wanted.offset, max(0, most), up_to=up_to, min_one_batch=reader.version >= 3 and is_first)
    if reader.isolation == READ_COMMITTED:
        data.aborted_transactions = [
            FetchResponse.AbortedTransaction(producer_id=entry.producer_id, first_offset=entry.first_offset)
            for entry in log.aborted_transactions(wanted.offset, up_to)
        ]
    if not found.length or (reader.version >= 3 and not is_first and found.length >= most and _is_cut(found)):
        return piece
    if reader.magic < 2 and not topic.converts_down:
        raise UnsupportedVersionError(f"topic {topic.name!r} does not convert records for old clients")
    if reader.version < 10 and log.config.compression_type == "zstd":
        raise UnsupportedCompressionTypeError(f"zstd for Fetch v{reader.version}, expected v10 or later")
    piece.hold(found)
    return piece


def _diverges(log: Partition, wanted: Wanted, data: FetchResponse.PartitionData) -> bool:
    """Whether what the client read last is not what this log has there."""
    if wanted.last_fetched_epoch == -1:
        return False
    if wanted.offset < log.log_start_offset:
        raise OffsetOutOfRangeError(f"offset {wanted.offset}, the log starts at {log.log_start_offset}")
    epoch, end = log.epochs.end_offset(wanted.last_fetched_epoch, log.end_offset)
    if epoch == -1 or end == -1:
        raise OffsetOutOfRangeError(f"leader epoch {wanted.last_fetched_epoch} is not known here")
    if epoch < wanted.last_fetched_epoch or end < wanted.offset:
        data.diverging_epoch = FetchResponse.EpochEndOffset(epoch=epoch, end_offset=end)
        return True
    return False


def _is_cut(found: FileRange) -> bool:
    """Whether a range ends inside its first batch."""
    head = found.file.read(found.position + 8, 4)
    return found.length < 12 + int.from_bytes(head, "big")


def _converted(data: memoryview, magic: int) -> memoryview:
    parts: list[bytes | memoryview] = []
    batches = read_batches(data, verify=False)
    for batch in batches:
        if batch.magic > magic and batch.codec is Codec.ZSTD:
            raise UnsupportedCompressionTypeError(f"zstd cannot be converted to magic {magic}")
        parts.append(batch.data if batch.magic <= magic else convert(batch.data, magic, verify=False))
    if batches.partial_tail == len(data):
        return data  # a first batch that is cut tells the reader to ask for more bytes
    return memoryview(b"".join(parts))
