"""Clients that may use no newer versions than brokers of earlier releases have."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest

from kafkawire.client import (
    EARLIEST,
    Admin,
    ConfigResource,
    Consumer,
    NewTopic,
    Producer,
    ResourceType,
    TopicPartition,
    TransactionError,
)
from kafkawire.client._bulk.reader import BulkReader
from kafkawire.messages import api
from kafkawire.wire import Negotiated
from kafkawire.wire.negotiation import Features

if TYPE_CHECKING:
    from tests.client.topics import Topics

APIS = (
    *("Produce", "Fetch", "ListOffsets", "Metadata", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup"),
    *("Heartbeat", "LeaveGroup", "SyncGroup", "DescribeGroups", "ListGroups", "CreateTopics", "DeleteTopics"),
    *("DeleteRecords", "InitProducerId", "DescribeConfigs", "CreatePartitions", "DescribeLogDirs"),
    *("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
)
RELEASES = {
    "0.11": (3, 5, 2, 4, 3, 3, 1, 2, 1, 1, 1, 1, 1, 2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    "1.1": (5, 7, 2, 5, 3, 3, 1, 2, 1, 1, 1, 1, 1, 2, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0),
    "2.3": (7, 11, 5, 8, 7, 5, 2, 5, 3, 2, 3, 4, 2, 3, 3, 1, 1, 2, 1, 1, 1, 1, 1, 2),
    "2.8": (9, 12, 6, 11, 8, 7, 3, 7, 4, 4, 5, 5, 4, 7, 6, 2, 4, 4, 3, 2, 3, 3, 3, 3),
    "3.6": (9, 15, 8, 12, 8, 8, 4, 9, 4, 5, 5, 5, 4, 7, 6, 2, 4, 4, 3, 4, 4, 3, 3, 3),
}


@pytest.fixture(params=RELEASES)
def release(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The release whose versions are the latest that may be used."""
    most = dict(zip(APIS, RELEASES[request.param], strict=True))
    negotiate = Negotiated.version

    def capped(self: Negotiated, which: int | str) -> int:
        return min(negotiate(self, which), most.get(api(which).name, 99))

    monkeypatch.setattr(Negotiated, "version", capped)
    monkeypatch.setattr(Features, "level", lambda self, name: 0)  # there are no features in these releases
    return str(request.param)


def test_everything_works_with_what_the_release_has(broker: Topics, release: str) -> None:
    name = f"of-{release}"
    settings: dict[str, Any] = {"bootstrap_servers": broker.bootstrap}

    async def main() -> None:
        async with Admin(**settings) as admin:
            await admin.create_topics([NewTopic(name=name, num_partitions=2, replication_factor=1)])
            await admin.create_partitions({name: 3})
            async with Producer(**settings) as producer:
                places = [await producer.send_and_wait(name, b"%d" % n, partition=0) for n in range(5)]
                assert [place.offset for place in places] == list(range(5))
            reading: dict[str, Any] = {"group_id": name, "auto_offset_reset": "earliest", "fetch_max_wait_ms": 50}
            async with Consumer(name, **settings, **reading) as consumer:
                assert [(await asyncio.wait_for(consumer.getone(), 60)).offset for _ in range(5)] == list(range(5))
                await consumer.commit()
                (group,) = await admin.describe_groups([name])
                assert group.state == "Stable"
            place = TopicPartition(name, 0)
            assert (await admin.list_group_offsets(name))[place].offset == 5
            assert name in {each.group_id for each in await admin.list_groups()}
            resource = ConfigResource(ResourceType.TOPIC, name)
            assert (await admin.describe_configs([resource]))[resource]["retention.ms"].is_default
            assert await admin.delete_records({place: 2}) == {place: 2}
            found = (await admin.list_offsets({place: EARLIEST}))[place]
            assert found is not None
            assert found.offset == 2
            assert await admin.describe_log_dirs()
            loop = asyncio.get_running_loop()
            assert await loop.run_in_executor(None, bulk) == [2, 3, 4]
            await admin.delete_topics([name])

    def bulk() -> list[int]:
        with BulkReader(broker.bootstrap) as reader:
            return [
                int(value or 0) for each in reader.read(name, 0, 2, 5) for value in each.column("value").to_pylist()
            ]

    asyncio.run(main())


def test_transactions_work_with_what_the_release_has(broker: Topics, release: str) -> None:
    name = f"transactions-of-{release}"
    broker.create_topic(name)
    place = TopicPartition(name, 0)
    settings: dict[str, Any] = {"bootstrap_servers": broker.bootstrap}

    async def main() -> None:
        async with Producer(transactional_id=name, **settings) as producer, Admin(**settings) as admin:
            for number in range(4):
                await producer.begin()
                await producer.send_and_wait(name, b"%d" % number)
                await producer.send_offsets_to_transaction({place: number}, name)
                await (producer.abort() if number % 2 else producer.commit())
            async with Producer(transactional_id=name, **settings):
                await producer.begin()
                await producer.send(name, b"zombie")
                with pytest.raises(TransactionError):
                    await producer.commit()
            reading: dict[str, Any] = {"isolation_level": "read_committed", "auto_offset_reset": "earliest"}
            async with Consumer(**settings, **reading) as consumer:
                consumer.assign([place])
                assert [(await consumer.getone()).value for _ in range(2)] == [b"0", b"2"]
            assert (await admin.list_group_offsets(name))[place].offset == 2

    asyncio.run(main())
