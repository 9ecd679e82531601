"""The transactions of one producer: the order of requests, the identity, and the protocol.

Rules:
- One request to the coordinator is under way at a time; callers take turns.
- The protocol of a transaction is that of the finalized level of `transaction.version` when it begins. With level 2
  (KIP-890) partitions are added by Produce and TxnOffsetCommit, and every EndTxn gives the next epoch. Below it they
  are added by requests of their own, and the epoch stays. A level that is old is read again after a transaction.
- A transaction that the coordinator does not know is not ended there.
- A sequence or an answer that was lost needs a new epoch before the next transaction. So nothing that is still on its
  way can become part of it. With level 2 the end of the transaction gives it. Below it, InitProducerId does: for
  records as in Java's producer (KIP-360), and also for EndTxn, because a late one would end the next transaction.
- Below level 2, EndTxn is refused if the transaction has not begun. If that is not known, InitProducerId
  ends it. That request does not name the epoch, because the abort that it starts raises the epoch (KIP-360).
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from kafkawire.client._cluster.handshake import greeting
from kafkawire.client._transactions.coordinator import Coordinator
from kafkawire.client._transactions.prepared import PreparedTransaction
from kafkawire.client._transactions.state import Phase, Step, TransactionState
from kafkawire.client.errors import TransactionError, is_retriable
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages import ApiVersionsResponse
from kafkawire.wire.negotiation import Features

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from typing import TypeVar

    from kafkawire.client._cluster.discovery import Discovery
    from kafkawire.client._cluster.metadata import TopicPartition
    from kafkawire.client._consume.commits import ConsumerGroupMetadata, OffsetAndMetadata
    from kafkawire.client._produce.batches import Identity
    from kafkawire.client.options import ProducerOptions

    _Result = TypeVar("_Result")

_FEATURE: Final = "transaction.version"
_ADDS_BY_ITSELF: Final = 2


class TransactionManager:
    """Begins and ends transactions, and makes partitions and offsets part of them."""

    def __init__(self, cluster: Discovery[Any], options: ProducerOptions, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.state = TransactionState(transactional_id)
        self.identity: Identity | None = None
        self.is_v2 = False
        self.on_failure: Callable[[TransactionError], None] = _ignore
        self._cluster = cluster
        self._timeout_ms = options.transaction_timeout_ms
        self._coordinator = Coordinator(cluster, transactional_id, options.max_block_ms / 1000)
        self._turns = cluster.turns()
        self._added: set[TopicPartition] = set()
        self._groups: set[str] = set()
        self._has_begun = self._may_have_begun = False
        self._needs_epoch = self._may_be_open = False

    async def initialize(self) -> None:
        """Get a producer id and epoch; earlier producers with the transactional id are fenced."""
        async with self._turns:
            await self._initialize()

    async def begin(self) -> None:
        """Begin a transaction; raises TransactionStateError if one is open."""
        async with self._turns:
            if self.state.phase is Phase.NEW:
                await self._initialize()
            self.state.check_may_begin()
            is_v2 = self._cluster.features.level(_FEATURE) >= _ADDS_BY_ITSELF
            if self._needs_epoch or (is_v2 and not self.is_v2):
                before = None if self._may_be_open else self.identity
                self.identity = await self._do(Step.INITIALIZE, self._coordinator.initialize(self._timeout_ms, before))
                self._needs_epoch = self._may_be_open = False
            self.is_v2 = is_v2
            self.state.enter(Phase.OPEN, "begin")

    def has_begun(self) -> None:
        """Records are sent that add their partitions by themselves."""
        self._has_begun = True

    async def join(self, partitions: Iterable[TopicPartition]) -> None:
        """Make partitions part of the transaction; called before records are sent to them."""
        if self.is_v2:
            self.has_begun()
            return
        if self._added.issuperset(partitions):
            return
        async with self._turns:
            new = set(partitions) - self._added
            if new and self.state.may_produce:
                self._may_have_begun = True
                assert self.identity is not None
                await self._do(Step.ADD_PARTITIONS, self._coordinator.add_partitions(self.identity, sorted(new)))
                self._added |= new
                self._has_begun = True

    async def send_offsets(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata], group: ConsumerGroupMetadata
    ) -> None:
        """Commit offsets of a group as a part of the transaction."""
        self.state.check_open("send_offsets_to_transaction")
        if not offsets:
            return
        step = Step.COMMIT_OFFSETS if self.is_v2 else Step.ADD_OFFSETS
        try:
            async with self._turns:
                self.state.check_open("send_offsets_to_transaction")
                assert self.identity is not None
                if self.is_v2:
                    self._has_begun = True
                elif group.group_id not in self._groups:
                    self._may_have_begun = True
                    await self._do(step, self._coordinator.add_offsets(self.identity, group.group_id))
                    self._groups.add(group.group_id)
                    self._has_begun = True
                step = Step.COMMIT_OFFSETS
                work = self._coordinator.commit_offsets(self.identity, group, offsets, is_v2=self.is_v2)
                await self._do(step, work)
        except TransactionError:
            raise
        except BaseException as error:  # without these offsets the transaction must not be committed
            failed = self.fail(step, error)
            if isinstance(error, KafkaWireError):
                raise failed from error
            raise

    def start_ending(self, *, commit: bool) -> None:
        """Refuse further records; a commit still sends those that were accepted."""
        self.state.enter(Phase.COMMITTING if commit else Phase.ABORTING, "commit" if commit else "abort")

    async def end(self, *, commit: bool) -> None:
        """End the transaction at the coordinator, after all of its records are stored or given up."""
        async with self._turns:
            self.start_ending(commit=commit)
            if self._has_begun or (self._needs_epoch and self.is_v2 and not commit):
                await self._end(commit=commit)
            elif self._may_have_begun:
                self._needs_epoch = self._may_be_open = True
            self._added.clear()
            self._groups.clear()
            self._has_begun = self._may_have_begun = False
            self.state.enter(Phase.READY, "end")
        if self._cluster.features.is_old(self._cluster.now()):
            await self._reread_features()

    def prepare(self) -> PreparedTransaction | None:
        """Leave the transaction open for another process to end it; None if it has no records and no offsets."""
        self.state.check_open("prepare")
        if not self._has_begun:
            self.state.enter(Phase.COMMITTING, "prepare")
            self.state.enter(Phase.READY, "prepare")
            return None
        self.state.enter(Phase.PREPARED, "prepare")
        assert self.identity is not None
        return PreparedTransaction(self.transactional_id, *self.identity, _ADDS_BY_ITSELF if self.is_v2 else 0)

    def fail(self, step: Step, error: BaseException) -> TransactionError:
        """An error of the transaction that is not retried; the error to raise."""
        was_producing = self.state.may_produce
        failed = self.state.fail(step, error)
        self._needs_epoch = True
        if was_producing and not self.state.may_produce:
            self.on_failure(failed)
        return failed

    def lose_sequence(self) -> None:
        """A sequence was used that no broker may ever see."""
        self._needs_epoch = True

    async def _initialize(self) -> None:
        self.state.check_usable()
        self.identity = await self._do(Step.INITIALIZE, self._coordinator.initialize(self._timeout_ms))
        self.is_v2 = self._cluster.features.level(_FEATURE) >= _ADDS_BY_ITSELF
        self.state.enter(Phase.READY, "initialize")

    async def _end(self, *, commit: bool) -> None:
        assert self.identity is not None
        step = Step.COMMIT if commit else Step.ABORT
        self.state.end_was_sent = True
        ending = self._coordinator.end(self.identity, commit=commit, is_v2=self.is_v2, lost=self.lose_sequence)
        self.identity = await self._do(step, ending)
        if self.is_v2:
            self._needs_epoch = False

    async def _reread_features(self) -> None:
        cluster = self._cluster
        with suppress(KafkaWireError):
            connection = await cluster.connection(cluster.any_node())
            answer = await cluster.exchange(connection, greeting(), ApiVersionsResponse)
            cluster.features.note(Features.from_response(answer), cluster.now())

    async def _do(self, step: Step, work: Awaitable[_Result]) -> _Result:
        try:
            return await work
        except KafkaWireError as error:
            if is_retriable(error) or isinstance(error, TransactionError):
                raise
            raise self.fail(step, error) from error


def _ignore(_: TransactionError) -> None: ...
