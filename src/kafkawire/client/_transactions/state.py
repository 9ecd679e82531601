"""The state of a transactional producer, and the reaction to every error of every step; no I/O.

Rules:
- `NEXT` lists the phases that may follow each phase. A call that fits no transition raises TransactionStateError and
  changes nothing.
- An abortable error can only be followed by an abort. A fatal error is final: every later call raises it again.
- COMMITTING and ABORTING last until the coordinator has answered. Because an answer may be lost, only the same call may
  follow; while EndTxn was not sent yet, a commit may still become an abort.
- A prepared transaction is complete and stays open: this producer or another process ends it.
- Errors are divided as in Apache Kafka's producer (KIP-1050). INVALID_PRODUCER_EPOCH is fatal from a coordinator, which
  knows the epoch of the transactional id. From a partition it is abortable, because the coordinator may have ended the
  transaction there after its timeout.
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

from kafkawire.client.errors import (
    AbortableTransactionError,
    FatalTransactionError,
    FencedError,
    TransactionError,
    TransactionStateError,
    is_retriable,
)
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, KafkaError


class Phase(Enum):
    """The phase of a transactional producer."""

    NEW = "not initialized"
    READY = "without a transaction"
    OPEN = "in a transaction"
    PREPARED = "in a prepared transaction"
    COMMITTING = "committing"
    ABORTING = "aborting"
    FAILED = "in a transaction that must be aborted"
    DEAD = "unusable"


class Step(Enum):
    """A request of a transaction."""

    INITIALIZE = "InitProducerId"
    ADD_PARTITIONS = "AddPartitionsToTxn"
    ADD_OFFSETS = "AddOffsetsToTxn"
    COMMIT_OFFSETS = "TxnOffsetCommit"
    COMMIT = "EndTxn (commit)"
    ABORT = "EndTxn (abort)"
    PRODUCE = "Produce"


class Reaction(Enum):
    """The consequence of an error of a broker."""

    RETRY = auto()
    FIND_COORDINATOR = auto()
    FAIL_TRANSACTION = auto()
    FAIL_PRODUCER = auto()
    FENCED = auto()


NEXT: Final = {
    Phase.NEW: {Phase.READY, Phase.DEAD},
    Phase.READY: {Phase.OPEN, Phase.DEAD},
    Phase.OPEN: {Phase.PREPARED, Phase.COMMITTING, Phase.ABORTING, Phase.FAILED, Phase.DEAD},
    Phase.PREPARED: {Phase.COMMITTING, Phase.ABORTING, Phase.DEAD},
    Phase.COMMITTING: {Phase.COMMITTING, Phase.ABORTING, Phase.READY, Phase.FAILED, Phase.DEAD},
    Phase.ABORTING: {Phase.ABORTING, Phase.READY, Phase.DEAD},
    Phase.FAILED: {Phase.ABORTING, Phase.DEAD},
    Phase.DEAD: set[Phase](),
}

OPEN: Final = Phase.OPEN
"""For code that runs once for each record: before Python 3.12, `Phase.OPEN` is a call of Python code."""
_PRODUCING: Final = (Phase.OPEN, Phase.COMMITTING)
_UNDER_WAY: Final = 0.02
_FENCED: Final = {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.PRODUCER_FENCED}
_MOVED: Final = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR}
# The errors after which only the transaction is lost; every other error that is not retriable is fatal.
_ABORTABLE: Final[dict[Step, set[ErrorCode]]] = {
    Step.INITIALIZE: {ErrorCode.TRANSACTION_ABORTABLE},
    Step.ADD_OFFSETS: {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.UNKNOWN_PRODUCER_ID,
    },
    Step.COMMIT_OFFSETS: {
        ErrorCode.TRANSACTION_ABORTABLE,
        ErrorCode.GROUP_AUTHORIZATION_FAILED,
        ErrorCode.FENCED_INSTANCE_ID,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
    },
    Step.COMMIT: {ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.UNKNOWN_PRODUCER_ID},
    Step.ABORT: set(),
}
# For these steps it is the other way round: the errors that are fatal.
_FATAL: Final[dict[Step, set[ErrorCode]]] = {
    Step.ADD_PARTITIONS: {
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    },
    Step.PRODUCE: {
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    },
}


def reaction(step: Step, code: int) -> Reaction:
    """The reaction of a producer to an error code.

    >>> reaction(Step.COMMIT, 51), reaction(Step.COMMIT, 48), reaction(Step.PRODUCE, 48)
    (<Reaction.RETRY: 1>, <Reaction.FAIL_PRODUCER: 4>, <Reaction.FAIL_TRANSACTION: 3>)
    """
    error = ErrorCode(code)
    if error in _MOVED and step is not Step.PRODUCE:
        return Reaction.FIND_COORDINATOR
    if error.retriable:
        return Reaction.RETRY
    if error is ErrorCode.PRODUCER_FENCED or (error in _FENCED and step is not Step.PRODUCE):
        return Reaction.FENCED
    if step in _FATAL:
        return Reaction.FAIL_PRODUCER if error in _FATAL[step] else Reaction.FAIL_TRANSACTION
    return Reaction.FAIL_TRANSACTION if error in _ABORTABLE[step] else Reaction.FAIL_PRODUCER


def pause_after(error: BaseException, seconds: float) -> float:
    """Seconds before the next attempt: fewer than usual while the markers of the last transaction are written.

    >>> from kafkawire.messages.errors import error_for
    >>> pause_after(error_for(51), 0.1), pause_after(error_for(14), 0.1)
    (0.02, 0.1)
    """
    is_under_way = isinstance(error, KafkaError) and error.code == ErrorCode.CONCURRENT_TRANSACTIONS
    return min(seconds, _UNDER_WAY) if is_under_way else seconds


class TransactionState:
    """The phase, and the error that led to it."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.phase = Phase.NEW
        self.error: TransactionError | None = None
        self.end_was_sent = False

    @property
    def may_produce(self) -> bool:
        """Whether batches may be sent: the transaction is open, or a commit waits for them."""
        return self.phase in _PRODUCING

    @property
    def may_abort(self) -> bool:
        """Whether there is a transaction that is neither prepared nor perhaps committed."""
        is_unsent = self.phase is Phase.COMMITTING and not self.end_was_sent
        return self.phase in (Phase.OPEN, Phase.FAILED, Phase.ABORTING) or is_unsent

    def enter(self, phase: Phase, what: str) -> None:
        """Go on to a phase; `what` names the call for the error message."""
        self.check_usable()
        allowed = phase in NEXT[self.phase]
        if self.phase is Phase.COMMITTING and phase is Phase.ABORTING:
            allowed = not self.end_was_sent
        if not allowed:
            raise self._misplaced(what)
        self.phase = phase
        if phase is Phase.READY:
            self.error, self.end_was_sent = None, False

    def check_may_begin(self) -> None:
        """Refuse to begin a transaction while there is one."""
        if self.phase is not Phase.READY:
            self.check_usable()
            raise self._misplaced("begin")

    def check_open(self, what: str) -> None:
        """Refuse a call that needs an open transaction without an error."""
        if self.phase is not Phase.OPEN:
            self.check_usable()
            raise self._misplaced(what)

    def check_usable(self) -> None:
        """Raise the error of a producer that cannot be used any more."""
        if self.phase is Phase.DEAD and self.error is not None:
            raise _again(self.error)

    def fail(self, step: Step, error: BaseException) -> TransactionError:
        """The state after an error that is not retried, and the error to raise."""
        made = self._classified(step, error)
        if self.phase is Phase.DEAD and self.error is not None:
            return self.error
        if isinstance(made, FatalTransactionError):
            self.phase, self.error = Phase.DEAD, made
        elif self.may_produce:
            self.phase, self.error = Phase.FAILED, made
        elif self.phase is Phase.FAILED and self.error is not None:
            return self.error
        return made

    def _classified(self, step: Step, error: BaseException) -> TransactionError:
        if isinstance(error, TransactionError):
            return error
        found = Reaction.FAIL_TRANSACTION
        if isinstance(error, KafkaError):
            found = reaction(step, error.code)
        elif isinstance(error, KafkaWireError) and not is_retriable(error) and step is not Step.PRODUCE:
            found = Reaction.FAIL_PRODUCER
        text = f"transactional id {self.transactional_id!r}, {step.value}: {error}"
        made: TransactionError
        if found is Reaction.FENCED:
            made = FencedError(f"{text}; another producer with this id may have taken over")
        elif found is Reaction.FAIL_PRODUCER:
            made = FatalTransactionError(f"{text}; close the producer and make another")
        else:
            made = AbortableTransactionError(f"{text}; abort the transaction")
        made.__cause__ = error
        return made

    def _misplaced(self, what: str) -> TransactionError:
        place = f"transactional id {self.transactional_id!r}"
        if self.phase is Phase.FAILED and self.error is not None:
            return _again(self.error)
        hint = ""
        if self.phase is Phase.COMMITTING:
            hint = "; the result of the commit is not known, so only another commit may follow"
        return TransactionStateError(f"{place}: {what} while the producer is {self.phase.value}{hint}")


def _again(error: TransactionError) -> TransactionError:
    """The same error once more; an exception that is raised twice would collect tracebacks."""
    copy = type(error)(*error.args)
    copy.__cause__ = error.__cause__
    return copy
