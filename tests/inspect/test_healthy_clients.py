"""Groups of ordinary clients, recorded while they start, read and stop: no finding above info."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from tests.inspect.recordings import VALUES, record

from kafkawire.client import (
    AcknowledgeType,
    Admin,
    ConfigResource,
    Consumer,
    Producer,
    ResourceType,
    ShareConsumer,
)
from kafkawire.inspect import Thresholds, find_incidents, read_captures

if TYPE_CHECKING:
    from pathlib import Path

    from tests.inspect.recordings import Client

MEMBERS = 3
PATIENCE = 45.0
UNHURRIED = Thresholds(slow_ms=60_000)  # a busy machine is not an incident


def is_missing(found: list[bytes]) -> bool:
    return not set(VALUES) <= set(found)


async def ours(bootstrap: str, **options: Any) -> list[bytes]:
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for value in VALUES:
            await producer.send_and_wait("orders", value)
    members = [
        Consumer("orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest", **options)
        for _ in range(MEMBERS)
    ]
    found: list[bytes] = []

    async def read(member: Consumer) -> None:
        async for each in member:
            found.append(each.value or b"")  # noqa: PERF401  # the others are read at the same time

    for member in members:
        await member.__aenter__()
    readers = [asyncio.create_task(read(member)) for member in members]
    while is_missing(found):
        await asyncio.sleep(0.05)
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    for member in members:
        await member.__aexit__(None, None, None)
    return found


async def ours_by_epochs(bootstrap: str) -> list[bytes]:
    return await ours(bootstrap, group_protocol="consumer")


async def ours_sharing(bootstrap: str) -> list[bytes]:
    """Members of a share group, which accept everything but two records: these are released once."""
    async with Admin(bootstrap_servers=bootstrap) as admin:
        await admin.alter_configs(ConfigResource(ResourceType.GROUP, "g"), {"share.auto.offset.reset": "earliest"})
    async with Producer(bootstrap_servers=bootstrap) as producer:
        for value in VALUES:
            await producer.send_and_wait("orders", value)
    found: list[bytes] = []
    async with ShareConsumer(
        "orders", bootstrap_servers=bootstrap, group_id="g", share_acknowledgement_mode="explicit"
    ) as one:
        deadline = monotonic() + PATIENCE
        while is_missing(found) and monotonic() < deadline:
            for record_got in await one.poll(timeout_ms=200):
                if record_got.value in VALUES[:2] and record_got.delivery_count == 1:
                    one.acknowledge(record_got, AcknowledgeType.RELEASE)
                else:
                    one.acknowledge(record_got)
                    found.append(record_got.value or b"")
            await one.commit_sync()
    return found


async def aiokafka_group(bootstrap: str) -> list[bytes]:
    aiokafka = pytest.importorskip("aiokafka")
    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap)
    await producer.start()
    for value in VALUES:
        await producer.send_and_wait("orders", value)
    await producer.stop()
    members = [
        aiokafka.AIOKafkaConsumer("orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest")
        for _ in range(MEMBERS)
    ]
    for member in members:
        await member.start()
    found: list[bytes] = []
    while is_missing(found):
        for member in members:
            polled = await member.getmany(timeout_ms=50)
            found += [record.value for records in polled.values() for record in records]
    for member in members:
        await member.stop()
    return found


async def confluent_group(bootstrap: str, **more: str) -> list[bytes]:
    confluent = pytest.importorskip("confluent_kafka")

    def work() -> list[bytes]:
        producer = confluent.Producer({"bootstrap.servers": bootstrap})
        for value in VALUES:
            producer.produce("orders", value)
        assert producer.flush(60) == 0
        options = {"bootstrap.servers": bootstrap, "group.id": "g", "auto.offset.reset": "earliest", **more}
        members = [confluent.Consumer(options) for _ in range(MEMBERS)]
        for member in members:
            member.subscribe(["orders"])
        found: list[bytes] = []
        deadline = monotonic() + PATIENCE
        while is_missing(found) and monotonic() < deadline:
            for member in members:
                message: Any = member.poll(0.1)
                if message is not None and not message.error():
                    found.append(message.value())
        for member in members:
            member.close()
        return found

    return await asyncio.to_thread(work)


async def confluent_by_epochs(bootstrap: str) -> list[bytes]:
    return await confluent_group(bootstrap, **{"group.protocol": "consumer"})


async def kafka_python_group(bootstrap: str) -> list[bytes]:
    kafka = pytest.importorskip("kafka")

    def work() -> list[bytes]:
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
        for value in VALUES:
            producer.send("orders", value).get(60)
        producer.close()
        # One member, because a member joins only within its own poll: several in one thread do rebalance endlessly.
        member = kafka.KafkaConsumer("orders", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest")
        found: list[bytes] = []
        deadline = monotonic() + PATIENCE
        while is_missing(found) and monotonic() < deadline:
            # A short poll that ends while the member joins can make kafka-python 3.0.12 forget its assignment.
            found += [each.value for polled in member.poll(10_000).values() for each in polled]
        member.close()
        return found

    return await asyncio.to_thread(work)


async def kcat_group(bootstrap: str) -> list[bytes]:
    if shutil.which("kcat") is None:
        pytest.skip("kcat is not installed")

    def work() -> list[bytes]:
        command = ["kcat", "-b", bootstrap, "-q"]
        subprocess.run([*command, "-P", "-t", "orders"], input=b"\n".join(VALUES), check=True, timeout=60)
        reading = [*command, "-G", "g", "-o", "beginning", "-c", str(len(VALUES)), "orders"]
        return subprocess.run(reading, capture_output=True, check=True, timeout=60).stdout.split()

    return await asyncio.to_thread(work)


@pytest.mark.parametrize(
    "client",
    [
        ours,
        ours_by_epochs,
        ours_sharing,
        aiokafka_group,
        confluent_group,
        confluent_by_epochs,
        kafka_python_group,
        kcat_group,
    ],
)
def test_a_group_of_ordinary_clients_is_not_an_incident(tmp_path: Path, client: Client) -> None:
    path = tmp_path / "x.pcapng"
    assert not is_missing(record(path, client).values)
    tables = read_captures([path]).tables
    found = [(each.rule, each.text) for each in find_incidents(tables, UNHURRIED) if each.level != "info"]
    assert found == []
    assert set(tables["exchanges"]["state"].to_pylist()) <= {"matched", "unanswered"}
