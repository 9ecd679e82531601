"""The end of a `with` around a transaction: it is committed, or aborted if anything fails.

Rules:
- The error of the body is raised after the abort. If the abort fails too, the error gets a note of it.
- A commit that fails is aborted if that is possible, and its error is raised. After a commit whose result is not known,
  nothing is aborted.
"""

from __future__ import annotations

from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

    from kafkawire.client._transactions.state import TransactionState


@asynccontextmanager
async def transaction_scope(
    state: TransactionState, commit: Callable[[], Awaitable[None]], abort: Callable[[], Awaitable[None]]
) -> AsyncIterator[None]:
    """Commit at the end, or abort."""
    try:
        yield
        await commit()
    except BaseException as error:
        if state.may_abort:
            try:
                await abort()
            except KafkaWireError as failed:
                _add_note(error, failed)
        raise


@contextmanager
def blocking_transaction_scope(
    state: TransactionState, commit: Callable[[], None], abort: Callable[[], None]
) -> Iterator[None]:
    """As `transaction_scope`, for plain calls."""
    try:
        yield
        commit()
    except BaseException as error:
        if state.may_abort:
            try:
                abort()
            except KafkaWireError as failed:
                _add_note(error, failed)
        raise


def _add_note(error: BaseException, failed: KafkaWireError) -> None:
    error.add_note(f"and the transaction could not be aborted: {failed}")
