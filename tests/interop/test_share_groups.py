"""Apache Kafka's share consumer and its tools in share groups of our broker (KIP-932)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
QUICK = {"group.share.heartbeat.interval.ms": "200", "group.share.assignment.interval.ms": "0"}
TOOLS = "org.apache.kafka.tools"
RECORDS = 1_000


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[RunningBroker]:
    with RunningBroker(tmp_path / "data", config=QUICK) as running:
        running.create_topic("orders", 2)
        yield running


def produce(broker: RunningBroker, count: int = RECORDS) -> set[str]:
    producer = Producer({"bootstrap.servers": broker.bootstrap_servers})
    names = [f"order {number}" for number in range(count)]
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
