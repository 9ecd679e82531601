"""Transactions while the broker is killed: each is whole in every partition and in the offsets, or in none."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from torture.victim import Victim

from kafkawire.client import (
    AbortableTransactionError,
    Admin,
    BulkReader,
    BulkWriter,
    FatalTransactionError,
    NewTopic,
    PreparedTransaction,
    Producer,
    TopicPartition,
    TransactionError,
)
from kafkawire.client._transactions import manager

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from pathlib import Path

PARTITIONS, TRANSACTIONS, KILLS = 3, 60, 4
QUICK: Any = {"retry_backoff_ms": 5, "retry_backoff_max_ms": 50, "reconnect_backoff_ms": 5, "transactional_id": "id"}


class Ledger:
    """The transactions that were committed, and those whose result is not known."""

    def __init__(self) -> None:
        self.committed: list[int] = []
        self.unknown: set[int] = set()

    def check(self, bootstrap: str) -> None:
        """Every partition has the committed transactions in order, and the same ones of unknown result."""
        found = []
        with BulkReader(bootstrap, fetch_max_wait_ms=20) as reader:
            for number in range(PARTITIONS):
                batches = reader.read("t", number, 0, isolation="read_committed", columns=["value"])
                found.append([int(value or b"") for batch in batches for value in batch.column(0).to_pylist()])
        assert found[0] == found[1] == found[2]
        assert [each for each in found[0] if each not in self.unknown] == self.committed
        assert found[0] == sorted(set(found[0]))


async def transact(producer: Producer, number: int) -> None:
    for partition in range(PARTITIONS):
        await producer.send("t", b"%d" % number, partition=partition)
    await producer.send_offsets_to_transaction({TopicPartition("t", 0): number}, "g")


async def kill_meanwhile(victim: Victim, dice: random.Random, work: Callable[[], Awaitable[None]]) -> None:
    task = asyncio.ensure_future(work())
    for _ in range(KILLS):
        await asyncio.wait([task], timeout=dice.uniform(0.05, 0.3))
        victim.kill()
        await asyncio.to_thread(victim.start)
    await asyncio.wait_for(task, 120)


@pytest.mark.parametrize("protocol", ["v2", "v1"])
def test_transactions_of_a_producer_are_atomic_when_the_broker_is_killed(
    tmp_path: Path, protocol: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if protocol == "v1":
        monkeypatch.setattr(manager, "_ADDS_BY_ITSELF", 99)
    dice, ledger = random.Random(protocol), Ledger()

    async def work(bootstrap: str) -> None:
        number = 0
        while number < TRANSACTIONS:
            async with Producer(bootstrap_servers=bootstrap, **QUICK) as producer:
                try:
                    while number < TRANSACTIONS:
                        number += 1
                        await one(producer, number)
                except FatalTransactionError:
                    continue  # another producer takes over; the coordinator does not store every epoch that it gave

    async def one(producer: Producer, number: int) -> None:
        await producer.begin()
        is_ending = False
        try:
            await transact(producer, number)
            is_ending = number % 4 != 0
            await (producer.commit() if is_ending else producer.abort())
            if is_ending:
                ledger.committed.append(number)
        except AbortableTransactionError:
            await producer.abort()
        except TransactionError:
            if is_ending:
                ledger.unknown.add(number)
            raise
        await asyncio.sleep(dice.uniform(0, 0.02))

    async def main() -> None:
        with Victim(tmp_path) as victim:
            victim.start()
            async with Admin(bootstrap_servers=victim.bootstrap) as admin:
                await admin.create_topics([NewTopic(name="t", num_partitions=PARTITIONS)])
            await kill_meanwhile(victim, dice, lambda: work(victim.bootstrap))
            ledger.check(victim.bootstrap)
            assert len(ledger.committed) > TRANSACTIONS // 2
            async with Admin(bootstrap_servers=victim.bootstrap) as admin:
                committed = (await admin.list_group_offsets("g"))[TopicPartition("t", 0)].offset
            last = ledger.committed[-1]
            assert committed == last or committed in ledger.unknown
            assert not victim.faults

    asyncio.run(main())


def test_a_prepared_transaction_survives_the_broker_and_its_producer(tmp_path: Path) -> None:
    def prepare(bootstrap: str, number: int) -> PreparedTransaction:
        with BulkWriter(bootstrap, transactional_id=f"id-{number}") as writer:
            writer.begin()
            values = pa.array([b"%d" % number] * PARTITIONS, pa.binary())
            places = pa.array(range(PARTITIONS), pa.int32())
            writer.write("t", pa.record_batch({"value": values, "partition": places}))
            prepared = writer.prepare()
            assert prepared is not None
            return prepared

    async def main() -> None:
        with Victim(tmp_path) as victim:
            victim.start()
            async with Admin(bootstrap_servers=victim.bootstrap) as admin:
                await admin.create_topics([NewTopic(name="t", num_partitions=PARTITIONS)])
                prepared = [await asyncio.to_thread(prepare, victim.bootstrap, number) for number in range(4)]
                for number, each in enumerate(prepared):
                    victim.kill()
                    await asyncio.to_thread(victim.start)
                    ending = asyncio.ensure_future(admin.end_transaction(each, commit=number % 2 == 0))
                    await asyncio.wait([ending], timeout=0.01)
                    victim.kill()
                    await asyncio.to_thread(victim.start)
                    await ending
                    await admin.end_transaction(each, commit=number % 2 == 0)
            ledger = Ledger()
            ledger.committed = [0, 2]
            ledger.check(victim.bootstrap)
            assert not victim.faults

    asyncio.run(main())
