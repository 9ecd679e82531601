"""Apache Kafka's share consumer and its tools in share groups of our broker (KIP-932)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer
from tests.interop.drivers import JavaClients
from tests.interop.waiting import until

from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka
    from tests.interop.drivers import Sharer

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
QUICK = {"group.share.heartbeat.interval.ms": "200", "group.share.assignment.interval.ms": "0"}
TOOLS = "org.apache.kafka.tools"
RECORDS = 1_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", config=QUICK) as running:
        running.create_topic("orders", 2)
        yield running


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    made = JavaClients(tmp_path_factory.mktemp("drivers") / "java.log")
    yield made
    made.close()


def produce(broker: RunningBroker, count: int = RECORDS, first: int = 0) -> set[str]:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    names = [f"order {number}" for number in range(first, first + count)]
    for number, name in enumerate(names):
        producer.produce("orders", name.encode(), partition=number % 2)
    assert producer.flush(30) == 0
    return {*names}


def begin_at_the_first(kafka: ApacheKafka, broker: RunningBroker, group: str) -> None:
    kafka.run(
        "kafka.admin.ConfigCommand",
        *("--bootstrap-server", broker.bootstrap_servers, "--alter", "--entity-type", "groups"),
        *("--entity-name", group, "--add-config", "share.auto.offset.reset=earliest"),
    )


def console(kafka: ApacheKafka, broker: RunningBroker, group: str, count: int, *options: str) -> list[str]:
    """The records that the console share consumer gets."""
    said = kafka.run(
        f"{TOOLS}.consumer.ConsoleShareConsumer",
        *("--bootstrap-server", broker.bootstrap_servers, "--topic", "orders", "--group", group),
        *("--max-messages", str(count), "--timeout-ms", "20000", *options),
    )
    return [line for line in said.splitlines() if line.startswith("order ")]


def test_the_console_share_consumer_gets_every_record_once(kafka: ApacheKafka, broker: RunningBroker) -> None:
    begin_at_the_first(kafka, broker, "workers")
    sent = produce(broker)
    found = console(kafka, broker, "workers", RECORDS)
    assert sorted(found) == sorted(sent)


def test_rejected_records_do_not_come_again_and_released_ones_do(kafka: ApacheKafka, broker: RunningBroker) -> None:
    begin_at_the_first(kafka, broker, "workers")
    sent = produce(broker, 20)
    assert sorted(console(kafka, broker, "workers", 20, "--release")) == sorted(sent)
    assert sorted(console(kafka, broker, "workers", 20, "--reject")) == sorted(sent)
    more = produce(broker, 5)
    assert sorted(console(kafka, broker, "workers", 5)) == sorted(more)


def accepted(*sharers: Sharer) -> list[str]:
    return sorted(value.decode() for sharer in sharers for value in sharer.values() if value is not None)


def test_java_members_share_records_as_they_come_and_go(
    kafka: ApacheKafka, java: JavaClients, broker: RunningBroker
) -> None:
    address = broker.bootstrap_servers
    begin_at_the_first(kafka, broker, "workers")
    sent = produce(broker, 200)
    first = java.share(address, "workers", ["orders"], releases=20)
    until(lambda: accepted(first) == sorted(sent))
    second = java.share(address, "workers", ["orders"])
    until(lambda: len(broker.call(lambda: members(broker, "workers"))) == 2)
    sent |= produce(broker, 200, 200)
    until(lambda: accepted(first, second) == sorted(sent))
    before = accepted(first)
    first.leave()
    sent |= produce(broker, 200, 400)
    until(lambda: sorted([*before, *accepted(second)]) == sorted(sent))
    broker.restart()
    sent |= produce(broker, 200, 600)
    until(lambda: set(before) | set(accepted(second)) == sent)
    second.leave()


def members(broker: RunningBroker, group: str) -> list[str]:
    found = broker.broker.node.groups.find(group)
    return [] if found is None else list(found.members)


def test_the_tool_for_share_groups_describes_resets_and_deletes(
    kafka: ApacheKafka, java: JavaClients, broker: RunningBroker
) -> None:
    begin_at_the_first(kafka, broker, "workers")
    sent = produce(broker, 40)
    member = java.share(broker.bootstrap_servers, "workers", ["orders"])
    until(lambda: accepted(member) == sorted(sent))

    def groups(*options: str) -> str:
        tool = f"{TOOLS}.consumer.group.ShareGroupCommand"
        return kafka.run(tool, "--bootstrap-server", broker.bootstrap_servers, *options)

    def offsets() -> dict[int, tuple[str, str]]:
        """The start and the lag of each partition."""
        rows = [line.split() for line in groups("--describe", "--group", "workers").splitlines()]
        return {int(row[2]): (row[3], row[4]) for row in rows if row[:2] == ["workers", "orders"]}

    assert "workers" in groups("--list").split()
    assert "Stable" in groups("--describe", "--group", "workers", "--state")
    assert "orders:0,1" in groups("--describe", "--group", "workers", "--members", "--verbose").replace(" ", "")
    assert "GroupNotEmptyException" in refused(groups, "--delete", "--group", "workers")
    member.leave()
    assert {lag for _, lag in offsets().values()} == {"0"}
    everything = ("--group", "workers", "--topic", "orders")
    groups("--reset-offsets", *everything, "--to-earliest", "--execute")
    assert offsets() == {0: ("0", "20"), 1: ("0", "20")}
    assert sorted(console(kafka, broker, "workers", 40)) == sorted(sent)
    groups("--delete-offsets", *everything)
    assert offsets() == {}
    assert "successful" in groups("--delete", "--group", "workers")
    assert "workers" not in groups("--list").split()


def refused(run: Callable[..., str], *options: str) -> str:
    """The words of a tool that fails, whatever it exits with."""
    try:
        return run(*options)
    except AssertionError as failure:
        return str(failure)


def test_kafka_reads_the_records_of_share_groups(kafka: ApacheKafka, broker: RunningBroker, tmp_path: Path) -> None:
    begin_at_the_first(kafka, broker, "workers")
    produce(broker, 50)
    console(kafka, broker, "workers", 50)
    broker.stop()
    states = sorted((tmp_path / "data").glob("__share_group_state-*/*.log"))
    text = kafka.dump([each for each in states if each.stat().st_size], "--share-group-state-decoder")
    assert re.search(r'"type":"0".*"groupId":"workers".*"startOffset":-1', text)
    assert re.search(r'"type":"1".*"deliveryState":2', text)
    offsets = sorted((tmp_path / "data").glob("__consumer_offsets-*/*.log"))
    text = kafka.dump([each for each in offsets if each.stat().st_size], "--offsets-decoder")
    for kind in (10, 11, 12, 13, 14, 15):
        assert f'"type":"{kind}"' in text
