"""Transactions that one process prepares and another one ends.

Rules:
- A prepared transaction has all of its records stored, and stays open until one process ends it. The coordinator aborts
  it when `transaction_timeout_ms` is over, and when a producer with the same transactional id starts.
- Ending is repeatable: the same decision again succeeds as long as no further transaction of the id has begun.
- The other decision, and a transaction that was aborted meanwhile, is a FatalTransactionError; its cause is the error
  of the broker (INVALID_TXN_STATE or PRODUCER_FENCED).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from kafkawire.client._produce.batches import Identity
from kafkawire.client._transactions.coordinator import Coordinator
from kafkawire.client._transactions.state import Step, TransactionState
from kafkawire.client.errors import is_retriable
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from kafkawire.client._cluster.discovery import Discovery


class PreparedTransaction(NamedTuple):
    """A transaction that is complete and open; plain values, so that any process can end it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int
    transaction_version: int


async def end_prepared(cluster: Discovery[Any], prepared: PreparedTransaction, *, commit: bool) -> None:
    """Commit or abort a prepared transaction."""
    coordinator = Coordinator(cluster, prepared.transactional_id, cluster.options.default_api_timeout_ms / 1000)
    identity = Identity(prepared.producer_id, prepared.producer_epoch)
    try:
        await coordinator.end(identity, commit=commit, is_v2=prepared.transaction_version >= 2)
    except KafkaWireError as error:
        if is_retriable(error):
            raise
        step = Step.COMMIT if commit else Step.ABORT
        raise TransactionState(prepared.transactional_id).fail(step, error) from error
