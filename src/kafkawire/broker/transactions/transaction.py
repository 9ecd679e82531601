"""A transactional id: its producer, its transaction, and the change that is under way.

Rules:
- A `Transaction` is what a record of the log says; it never changes. An `Entry` holds the current one.
- A change is pending from its decision until its record is durable. An id has one pending change at a time.
- An epoch is exhausted one before the last, so that a producer can always be fenced by a higher one.
- Times in the log are times of day. When the system's clock is set, timeouts and expiry continue as if it was not.
- `last_epoch` recognises the retry of an InitProducerId. It is not in the log, and unknown after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.broker.transactions.states import FOLLOWS, SETTLED, State
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from typing import Any

TopicPartition = tuple[str, int]
NO_EPOCH: Final = -1
NO_PRODUCER: Final = -1
NO_TIME: Final = -1
LAST_EPOCH: Final = 2**15 - 1
EXHAUSTED_EPOCH: Final = LAST_EPOCH - 1
EPOCH_PER_TRANSACTION: Final = 2
"""The level of transaction.version from which the epoch rises with every transaction (KIP-890)."""
NO_TIMEOUT: Final = 2**31 - 1
"""The timeout of a transaction that never times out, because another system decides about it (KIP-939)."""


class TransitionError(KafkaWireError):
    """A transactional id was asked to go where its state does not lead."""


class Transaction(NamedTuple):
    """The state of a transactional id, as its record has it."""

    transactional_id: str
    producer_id: int
    epoch: int
    timeout_ms: int
    state: State = State.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    updated_at: int = NO_TIME
    started_at: int = NO_TIME
    previous_producer_id: int = NO_PRODUCER
    next_producer_id: int = NO_PRODUCER
    client_level: int = 0
    last_epoch: int = NO_EPOCH

    @property
    def is_exhausted(self) -> bool:
        """Whether the producer id has no epoch left for another transaction."""
        return self.epoch >= EXHAUSTED_EPOCH

    @property
    def has_epoch_per_transaction(self) -> bool:
        return self.client_level >= EPOCH_PER_TRANSACTION

    def followed_by(self, state: State, now: int, **changes: Any) -> Transaction:
        """The next state of this id."""
        if self.state not in FOLLOWS[state]:
            raise TransitionError(f"{self.transactional_id!r}: {state.title} cannot follow {self.state.title}")
        changes = {"previous_producer_id": self.producer_id, "next_producer_id": NO_PRODUCER, **changes}
        return self._replace(state=state, updated_at=now, **changes)

    def is_overdue(self, now: int) -> bool:
        """Whether the transaction is open for longer than its timeout, at a time of the clock that it started by."""
        return self.state is State.ONGOING and self.timeout_ms != NO_TIMEOUT and self.started_at + self.timeout_ms < now

    def is_expired(self, now: int, after_ms: int) -> bool:
        """Whether the id was unused for longer than it is kept."""
        return self.state in SETTLED and self.updated_at + after_ms <= now


class Entry:
    """A transactional id and its pending change."""

    __slots__ = ("clock_set_by", "current", "fence_failed", "pending", "unmarked")

    def __init__(self, current: Transaction, pending: State | None = None) -> None:
        self.current = current
        self.pending = pending
        self.unmarked: set[TopicPartition] = set(current.partitions)
        """The partitions of a prepared transaction that have no marker yet."""
        self.fence_failed = False
        """Whether the epoch was raised to fence a producer, and the record could not be written (KAFKA-9666)."""
        self.clock_set_by = 0
        """Milliseconds by which the system's clock was set since the transaction started, or since the last change."""

    def is_overdue(self, now: int) -> bool:
        """Whether the transaction is open for longer than its timeout."""
        return self.current.is_overdue(now - self.clock_set_by)

    def is_expired(self, now: int, after_ms: int) -> bool:
        """Whether the id was unused for longer than it is kept."""
        return self.current.is_expired(now - self.clock_set_by, after_ms)


class Change(NamedTuple):
    """A pending change of an id: the record to write. Without a target it is a tombstone."""

    entry: Entry
    target: Transaction | None
    is_fence: bool = False


class Outcome(NamedTuple):
    """The answer to a request, which is valid once the change, if there is one, is durable."""

    error: ErrorCode = ErrorCode.NONE
    producer_id: int = NO_PRODUCER
    epoch: int = NO_EPOCH
    change: Change | None = None
