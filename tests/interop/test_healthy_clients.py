"""Every client we have starts, reads, is restarted and stops, on our broker and on Apache Kafka: no finding above info.

Rules:
- Traffic is recorded by the proxy. The records that the clients read are checked first, because a failure has findings
  of its own.
- A busy machine is not an incident: the threshold of slow requests is high.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from itertools import count
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.clients.workload import START, Sent
from tests.inspect.recordings import VALUES, record_from
from tests.inspect.test_healthy_clients import (
    UNHURRIED,
    aiokafka_group,
    confluent_by_epochs,
    confluent_group,
    is_missing,
    kafka_python_group,
    kcat_group,
    ours,
    ours_by_epochs,
    ours_sharing,
)
from tests.interop.drivers import JavaClients, KafkaJs
from tests.interop.programs.jvm import Program, compile_programs
from tests.interop.waiting import until

from kafkawire.client import Admin, ConfigResource, NewTopic, ResourceType
from kafkawire.client.blocking import Consumer
from kafkawire.client.blocking import Producer as BlockingProducer
from kafkawire.inspect import find_incidents, read_captures
from kafkawire.messages.errors import KafkaError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.drivers import Driver
    from tests.interop.our_broker import OurBroker

    Work = Callable[[str], list[bytes]]

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOPIC = "orders"


@pytest.fixture(params=["kafkawire", "Apache Kafka"])
def address(request: pytest.FixtureRequest) -> Iterator[str]:
    """A broker on which no topic and no group of another test is left."""
    name = "our_broker" if request.param == "kafkawire" else "apache_kafka"
    broker: OurBroker | ApacheBroker = request.getfixturevalue(name)

    async def clean() -> None:
        async with Admin(bootstrap_servers=broker.bootstrap) as admin:
            await admin.delete_topics(await admin.list_topics())
            for group in await admin.list_groups():
                with suppress(KafkaError):  # a member that did not leave is still in it
                    await admin.delete_groups([group.group_id])

    yield broker.bootstrap
    asyncio.run(clean())


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    made = JavaClients(tmp_path_factory.mktemp("drivers") / "java.log")
    yield made
    made.close()


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaJs]:
    made = KafkaJs(tmp_path_factory.mktemp("drivers") / "kafkajs.log")
    yield made
    made.close()


def create_topics(address: str, *names: str) -> None:
    async def main() -> None:
        async with Admin(bootstrap_servers=address) as admin:
            await admin.create_topics([NewTopic(name, 3) for name in names])
            for name in names:
                while name not in await admin.list_topics():  # another process learns of it
                    await asyncio.sleep(0.05)

    asyncio.run(main())


def findings(path: Path) -> list[tuple[str, str]]:
    tables = read_captures([path]).tables
    assert set(tables["exchanges"]["state"].to_pylist()) <= {"matched", "unanswered"}
    return [(each.rule, each.text) for each in find_incidents(tables, UNHURRIED) if each.level != "info"]


def check(path: Path, work: Work, address: str) -> None:
    async def client(bootstrap: str) -> list[bytes]:
        return await asyncio.to_thread(work, bootstrap)

    assert not is_missing(record_from(path, client, address))
    assert findings(path) == []


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
def test_groups_of_python_and_c(address: str, tmp_path: Path, client: Any) -> None:
    create_topics(address, TOPIC)
    path = tmp_path / "x.pcapng"
    assert not is_missing(record_from(path, client, address))
    assert findings(path) == []


def of_a_driver(driver: Driver, **settings: str) -> Work:
    """Three members, of which one is restarted, and one leaves before the others."""

    def work(bootstrap: str) -> list[bytes]:
        members = [driver.join(bootstrap, "g", [TOPIC], **settings) for _ in range(3)]
        until(lambda: [len(each.partitions()) for each in members] == [1, 1, 1])
        driver.produce(bootstrap, TOPIC, [Sent(None, value, [], START) for value in VALUES])
        until(lambda: not is_missing([value for each in members for value in each.values() if value]))
        for each in members:
            each.commit()  # otherwise reading again from the start is what the inspector must report
        members.pop(0).leave()
        members.append(driver.join(bootstrap, "g", [TOPIC], **settings))
        until(lambda: [len(each.partitions()) for each in members] == [1, 1, 1])
        driver.produce(bootstrap, TOPIC, [Sent(None, b"later", [], START)])
        until(lambda: any(b"later" in each.values() for each in members))
        for each in members:
            each.leave()
        return VALUES

    return work


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"group.protocol": "consumer"},
        {"group.instance.id": "static"},
        {"partition.assignment.strategy": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor"},
    ],
    ids=lambda given: next(iter(given.values()), "range").rpartition(".")[2],
)
def test_groups_of_java(java: JavaClients, address: str, tmp_path: Path, settings: dict[str, str]) -> None:
    create_topics(address, TOPIC)
    if "group.instance.id" not in settings:
        check(tmp_path / "x.pcapng", of_a_driver(java, **settings), address)
        return

    def restarted(bootstrap: str) -> list[bytes]:
        java.produce(bootstrap, TOPIC, [Sent(None, value, [], START) for value in VALUES])
        for _ in range(3):
            member = java.join(bootstrap, "g", [TOPIC], **settings)
            until(lambda member=member: len(member.partitions()) == 3)  # type: ignore[misc]  # bound at once
            member.leave()
        return VALUES

    check(tmp_path / "x.pcapng", restarted, address)


def test_groups_of_kafkajs(node: KafkaJs, address: str, tmp_path: Path) -> None:
    create_topics(address, TOPIC)
    check(tmp_path / "x.pcapng", of_a_driver(node), address)


def test_share_groups_of_java(java: JavaClients, address: str, tmp_path: Path) -> None:
    create_topics(address, TOPIC)

    async def prepare() -> None:
        async with Admin(bootstrap_servers=address) as admin:
            await admin.alter_configs(ConfigResource(ResourceType.GROUP, "s"), {"share.auto.offset.reset": "earliest"})

    def work(bootstrap: str) -> list[bytes]:
        java.produce(bootstrap, TOPIC, [Sent(None, value, [], START) for value in VALUES])
        members = [java.share(bootstrap, "s", [TOPIC], releases=releases) for releases in (2, 0)]
        until(lambda: not is_missing([value for each in members for value in each.values() if value]))
        for each in members:
            each.leave()
        return VALUES

    asyncio.run(prepare())
    check(tmp_path / "x.pcapng", work, address)


@pytest.mark.parametrize("library", ["confluent", "aiokafka", "kafkawire"])
def test_transactions(address: str, tmp_path: Path, library: str) -> None:
    create_topics(address, TOPIC)

    def confluent(bootstrap: str) -> None:
        import confluent_kafka

        for _ in range(2):  # the second is the same program after a restart
            producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "transactional.id": "t"})
            producer.init_transactions(60)
            for number in count():
                producer.begin_transaction()
                producer.produce(TOPIC, VALUES[number])
                if number % 4 == 3:
                    producer.flush(60)
                    producer.abort_transaction(60)
                else:
                    producer.commit_transaction(60)
                if number + 1 == len(VALUES):
                    break

    async def aio(bootstrap: str) -> None:
        import aiokafka

        for _ in range(2):
            producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id="t")
            await producer.start()
            for value in VALUES:
                async with producer.transaction():
                    await producer.send_and_wait(TOPIC, value)
            await producer.stop()

    def ours(bootstrap: str) -> None:
        for _ in range(2):
            with BlockingProducer(bootstrap_servers=bootstrap, transactional_id="t") as producer:
                for value in VALUES:
                    with producer.transaction():
                        producer.send(TOPIC, value)

    def work(bootstrap: str) -> list[bytes]:
        if library == "aiokafka":
            asyncio.run(aio(bootstrap))
        else:
            {"confluent": confluent, "kafkawire": ours}[library](bootstrap)
        found = []
        options: Any = {"auto_offset_reset": "earliest", "isolation_level": "read_committed"}
        wanted = VALUES[:3] if library == "confluent" else VALUES
        with Consumer(TOPIC, bootstrap_servers=bootstrap, group_id="g", **options) as consumer:
            for each in consumer:
                found.append(each.value or b"")
                if set(wanted) <= set(found):
                    break
        return VALUES

    check(tmp_path / "x.pcapng", work, address)


@pytest.mark.parametrize("protocol", ["classic", "streams"])
@pytest.mark.parametrize("guarantee", ["at_least_once", "exactly_once_v2"])
def test_kafka_streams(address: str, tmp_path: Path, protocol: str, guarantee: str) -> None:
    compile_programs()
    create_topics(address, "lines", "counts")

    def work(bootstrap: str) -> list[bytes]:
        settings = {
            "application.id": f"count-{protocol}-{guarantee}".replace("_", "-"),
            "bootstrap.servers": bootstrap,
            "group.protocol": protocol,
            "processing.guarantee": guarantee,
            "state.dir": str(tmp_path / "state"),
            "input": "lines",
            "output": "counts",
            "auto.offset.reset": "earliest",
            "commit.interval.ms": "200",
        }
        counts: list[bytes] = []
        arguments = [f"{key}={value}" for key, value in settings.items()]
        with Consumer("counts", bootstrap_servers=bootstrap, group_id="g", auto_offset_reset="earliest") as consumer:
            for run in (1, 2):  # the program is restarted in between
                with Program("WordCount", arguments, tmp_path / f"{run}.out") as program:
                    with BlockingProducer(bootstrap_servers=bootstrap) as producer:
                        for value in VALUES:
                            producer.send("lines", value)
                    for each in consumer:
                        counts.append(each.value or b"")
                        if len(counts) == run * len(VALUES):
                            break
                    program.stop()
        return VALUES if len(counts) == 2 * len(VALUES) else []

    check(tmp_path / "x.pcapng", work, address)
