"""The transactions of a sink in a live cluster, and the calls of the driver.

Rules:
- Transactions are ended at the same time, at most `_AT_ONCE` of them, so that readers see little of half a batch.
- INVALID_TXN_STATE, PRODUCER_FENCED and INVALID_PRODUCER_EPOCH say that a transaction was aborted. An unknown
  transactional id, or another producer id, says nothing: the cluster has forgotten the transaction.
- The driver opens the administration for every batch. It reads the brokers of the cluster but not its topics, because
  the metadata of all topics may be large.
- Errors while it aborts the remaining transactions are only logged, because open transactions end by their timeout.
- A process keeps the log of decisions of a named sink from batch to batch, with its connections, for the last `_KEPT`
  sinks. After an error a log is closed, and read again by the next batch.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final, Self, TypeVar

from kafkawire.client import Cluster, FatalTransactionError, TransactionAdmin
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ProducerOptions
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import ErrorCode, KafkaError
from kafkawire.spark._exactly_once.decision import Decision, Outcome, Part
from kafkawire.spark._exactly_once.decision_log import DecisionLog
from kafkawire.spark._exactly_once.protocol import abort_batch, commit_batch, commit_once, complete
from kafkawire.spark.errors import SinkError
from kafkawire.wire import NegotiationError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence

    from kafkawire.client import PreparedTransaction
    from kafkawire.spark._exactly_once.names import SinkNames
    from kafkawire.spark._exactly_once.options import SinkOptions

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")
_AT_ONCE: Final = 32
_ABORTED: Final = {ErrorCode.INVALID_TXN_STATE, ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH}
_FORGOTTEN: Final = {ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.TRANSACTIONAL_ID_NOT_FOUND}
_ONGOING: Final = "Ongoing"
_KEPT: Final = 4
_log = logging.getLogger("kafkawire.spark")
_logs: dict[tuple[object, ...], DecisionLog] = {}


class SinkAdmin(TransactionAdmin):
    """Ends, describes, lists and fences transactions, with the options of a producer."""

    def __init__(self, client: Mapping[str, str]) -> None:
        self._cluster = Cluster(read_options(ProducerOptions, client, {}))
        self._cluster.allow_creation = False

    async def __aenter__(self) -> Self:
        await self._cluster.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._cluster.close()

    async def _know(self, topics: set[str]) -> None:
        await self._cluster.refresh(topics)


class ClusterSink:
    """The `SinkTransactions` of a cluster."""

    def __init__(self, admin: SinkAdmin, log: DecisionLog, names: SinkNames) -> None:
        self._admin = admin
        self._decisions = log
        self._names = names

    async def take_over(self) -> Decision | None:
        return await self._decisions.take_over()

    async def read(self) -> Decision | None:
        return await self._decisions.read()

    async def store(self, decision: Decision | None) -> None:
        self._decisions.store(decision)

    async def commit(self, transactions: Sequence[PreparedTransaction]) -> list[Outcome]:
        return await _each(transactions, self._commit)

    async def abort(self, transactions: Sequence[PreparedTransaction]) -> None:
        await _each(transactions, self._abort)

    async def find_closed(self, transactions: Sequence[PreparedTransaction]) -> list[PreparedTransaction]:
        are_open = await _each(transactions, self._is_open)
        return [each for each, is_open in zip(transactions, are_open, strict=True) if not is_open]

    async def abort_others(self, kept: Collection[str], *, run: str | None = None) -> None:
        try:
            listed = await self._admin.list_transactions(states=[_ONGOING])
        except KafkaWireError as error:
            _log.warning("open transactions of %s cannot be listed: %s", self._names.of_driver, error)
            return
        owners = {each.transactional_id: self._names.run_of(each.transactional_id) for each in listed}
        strays = [
            name
            for name, owner in owners.items()
            if owner is not None and name not in kept and (run is None or owner == run)
        ]
        await _each(strays, self._fence)

    async def _commit(self, transaction: PreparedTransaction) -> Outcome:
        try:
            await self._admin.end_transaction(transaction, commit=True)
        except FatalTransactionError as error:
            code = error.__cause__.code if isinstance(error.__cause__, KafkaError) else None
            if code in _ABORTED:
                return Outcome.ABORTED
            if code in _FORGOTTEN:
                return Outcome.UNKNOWN
            raise
        return Outcome.COMMITTED

    async def _abort(self, transaction: PreparedTransaction) -> None:
        try:
            await self._admin.end_transaction(transaction, commit=False)
        except KafkaWireError as error:
            _log.info("not aborted: %s", error)

    async def _is_open(self, transaction: PreparedTransaction) -> bool:
        try:
            [found] = await self._admin.describe_transactions([transaction.transactional_id])
        except NegotiationError:  # before Kafka 3.0; the commit will tell
            return True
        except KafkaError as error:
            if error.code in _FORGOTTEN:
                return False
            raise
        owner = (found.producer_id, found.producer_epoch)
        return found.state == _ONGOING and owner == (transaction.producer_id, transaction.producer_epoch)

    async def _fence(self, transactional_id: str) -> None:
        try:
            await self._admin.fence_producers([transactional_id])
        except KafkaWireError as error:
            _log.warning("an open transaction of %r stays until its timeout: %s", transactional_id, error)


def commit_on_cluster(options: SinkOptions, sink: str | None, batch: int, run: str, parts: Sequence[Part]) -> None:
    """Commit a batch of a sink; without a sink, a write that has no name."""

    async def work(transactions: ClusterSink) -> None:
        fresh = Decision(batch, run, tuple(parts), target=options.topic or "")
        if sink is None:
            await commit_once(transactions, fresh)
        else:
            await commit_batch(transactions, fresh)

    _on_cluster(options, options.names(sink or run), work, keep=sink is not None)


def abort_on_cluster(options: SinkOptions, sink: str | None, batch: int, run: str, parts: Sequence[Part]) -> None:
    """Abort a batch of a sink that failed; transactions that cannot be reached end by their timeout."""
    names = options.names(sink or run)
    try:
        _on_cluster(options, names, lambda transactions: abort_batch(transactions, batch, run, parts))
    except KafkaWireError as error:
        _log.warning("batch %d of %s is not aborted: %s", batch, names.of_driver, error)


def complete_on_cluster(options: SinkOptions, sink: str) -> Decision | None:
    """Commit what a driver that died has decided to commit; None if nothing remained."""
    return _on_cluster(options, options.names(sink), complete)


def _on_cluster(
    options: SinkOptions,
    names: SinkNames,
    work: Callable[[ClusterSink], Awaitable[_Result]],
    *,
    keep: bool = False,
) -> _Result:
    key = (options.client, options.decisions, names)
    log = _logs.pop(key, None) or DecisionLog(options, names)

    async def call() -> _Result:
        async with SinkAdmin(dict(options.client)) as admin:
            return await work(ClusterSink(admin, log, names))

    try:
        result = asyncio.run(call())
        if keep:
            _logs[key] = log
        return result
    except SinkError:
        raise
    except KafkaWireError as error:
        raise SinkError(
            f"sink {names.sink!r}: {error}. It is not known whether the batch was committed. Run it again with the same"
            f" checkpoint or sinkId within {options.timeout_ms // 1000} s: it commits the batch, or writes it again"
        ) from error
    finally:
        if key not in _logs:
            log.close()
        while len(_logs) > _KEPT:
            _logs.pop(next(iter(_logs))).close()


async def _each(items: Sequence[_Item], work: Callable[[_Item], Awaitable[_Result]]) -> list[_Result]:
    """The results for all items, some at a time; the first error is raised after all have ended."""
    gate = asyncio.Semaphore(_AT_ONCE)

    async def one(item: _Item) -> _Result:
        async with gate:
            return await work(item)

    results = await asyncio.gather(*map(one, items), return_exceptions=True)
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results  # type: ignore[return-value]  # no result is an exception
