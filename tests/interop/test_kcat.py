"""kcat against our broker."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from tests.broker.clients.workload import CODECS
from tests.interop.kcat import Kcat, KcatMember
from tests.interop.waiting import until

from kafkawire.client import NewTopic
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from pathlib import Path

    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture
def kcat(our_broker: OurBroker) -> Kcat:
    return Kcat(our_broker.bootstrap)


@pytest.fixture
def topic(our_broker: OurBroker, request: pytest.FixtureRequest) -> str:
    """A topic of this test's own, with four partitions: kcat cannot make them."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    with Admin(bootstrap_servers=our_broker.bootstrap) as admin:
        admin.create_topics([NewTopic(name=name, num_partitions=4)])
    return name


@pytest.mark.parametrize("codec", CODECS)
def test_produced_records_are_consumed(kcat: Kcat, topic: str, codec: str, tmp_path: Path) -> None:
    large = tmp_path / "large"
    large.write_text("x" * 900_000)
    packed = ("-z", codec)
    began = time.time() * 1000
    kcat.produce(topic, *packed, "-K", ":", "-Z", lines="first:1\nsecond:2\nnull:\n")
    kcat.produce(topic, *packed, "-H", "a=1", "-H", "a=2", "-H", "empty=", lines="headers\n")
    kcat.produce(topic, *packed, "-k", "large", str(large))
    found = kcat.consume(topic)
    pairs = [("first", "1"), ("second", "2"), ("null", None), (None, "headers"), ("large", "x" * 900_000)]
    assert [(each["key"], each["payload"]) for each in found] == pairs
    assert found[3]["headers"] == ["a", "1", "a", "2", "empty", ""]
    assert [each["offset"] for each in found] == [*range(5)]
    assert all(began - 1000 <= each["ts"] <= time.time() * 1000 + 1000 for each in found)
    assert [each["key"] for each in kcat.consume(topic, "-o", "-2")] == [None, "large"]


def test_metadata_and_offsets(kcat: Kcat, topic: str, our_broker: OurBroker) -> None:
    told = kcat.metadata()
    assert told["brokers"] == [{"id": 1, "name": our_broker.bootstrap}]
    (mine,) = (each for each in told["topics"] if each["topic"] == topic)
    partition = {"leader": 1, "replicas": [{"id": 1}], "isrs": [{"id": 1}]}
    assert mine["partitions"] == [{"partition": number, **partition} for number in range(4)]
    kcat.produce(topic, lines="a\nb\nc\n")
    assert kcat.run("-Q", "-t", f"{topic}:0:-1").split() == [topic, "[0]", "offset", "3"]
    assert kcat.run("-Q", "-t", f"{topic}:0:-2").split() == [topic, "[0]", "offset", "0"]
    assert kcat.run("-Q", "-t", f"{topic}:0:1").split() == [topic, "[0]", "offset", "0"]


def test_two_members_share_and_a_group_resumes_after_the_broker_restarted(
    kcat: Kcat, our_broker: OurBroker, topic: str, tmp_path: Path
) -> None:
    first = KcatMember(kcat, topic, topic, tmp_path / "first")
    until(lambda: first.partitions() == {0, 1, 2, 3})
    second = KcatMember(kcat, topic, topic, tmp_path / "second")
    until(lambda: [len(each.partitions()) for each in (first, second)] == [2, 2])
    assert first.partitions() | second.partitions() == {0, 1, 2, 3}
    for partition in range(4):
        kcat.run("-P", "-t", topic, "-p", str(partition), stdin=f"{partition}\n")
    until(lambda: sorted(first.values + second.values) == ["0", "1", "2", "3"])
    first.leave()
    until(lambda: second.partitions() == {0, 1, 2, 3})
    second.leave()
    our_broker.restart()
    kcat.produce(topic, lines="after\n")
    third = KcatMember(kcat, topic, topic, tmp_path / "third")
    until(lambda: third.values == ["after"])
    third.leave()


def test_an_idempotent_producer_survives_lost_connections_without_duplicates(
    our_broker: OurBroker, kcat: Kcat, topic: str
) -> None:
    lines = [str(number) for number in range(100_000)]
    options = ("enable.idempotence=true", "linger.ms=1", "batch.num.messages=100", "retry.backoff.ms=1")
    reconnect = ("reconnect.backoff.ms=1", "reconnect.backoff.max.ms=10", "broker.address.ttl=10")
    settings = [word for each in (*options, *reconnect) for word in ("-X", each)]
    with our_broker.failing_network() as network:
        with network.cutting(every=0.04):
            Kcat(network.bootstrap).produce(topic, "-E", *settings, lines="\n".join(lines))
        assert network.connections > 3
    assert [each["payload"] for each in kcat.consume(topic)] == lines
