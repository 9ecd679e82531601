"""Telemetry of clients (KIP-714): clients of Java and librdkafka push to our broker, tools set subscriptions, and wrong
requests have Apache Kafka's answers.

Rules:
- Apache Kafka serves telemetry only with a plugin that receives metrics. `java/telemetry/Receiver.java` is one.
- Answers are compared step by step. Instance ids and subscription ids differ between brokers, so they are replaced.
"""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

import pytest
from tests.broker.otlp import gauge, metrics_data, point
from tests.broker.raw_connection import Peer
from tests.interop.apache_kafka import JARS, ApacheBroker
from tests.interop.drivers import HERE, JavaClients
from tests.interop.maven import BUILD
from tests.interop.our_broker import OurBroker
from tests.interop.waiting import until

from kafkawire.broker._telemetry.collected import PREFIX
from kafkawire.client import ConfigResource, NewTopic, ResourceType
from kafkawire.client.blocking import Admin
from kafkawire.messages import (
    ApiVersionsRequest,
    GetTelemetrySubscriptionsRequest,
    PushTelemetryRequest,
)
from kafkawire.messages.errors import InvalidConfigError, InvalidRequestError
from kafkawire.records import compress

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka

confluent_kafka = pytest.importorskip("confluent_kafka")

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
DATA = metrics_data(gauge("org.apache.kafka.consumer.lag", point(5.0, topic="a")))
ZERO = UUID(int=0)
INTERVAL = 60_000


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OurBroker]:
    broker = OurBroker(tmp_path_factory.mktemp("ours"))
    broker.start()
    yield broker
    broker.stop()


@pytest.fixture(scope="module")
def receiver() -> str:
    """The class path of the plugin."""
    classes = BUILD / "java-telemetry"
    source = HERE / "java" / "telemetry" / "Receiver.java"
    command = ["javac", "-d", str(classes), "-cp", f"{JARS}/*", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return str(classes)


@pytest.fixture(scope="module")
def theirs(kafka: ApacheKafka, receiver: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheBroker]:
    given = kafka.class_path
    broker = ApacheBroker(kafka, tmp_path_factory.mktemp("theirs"), settings={"metric.reporters": "Receiver"})
    kafka.class_path = f"{receiver}:{given}"
    try:
        broker.start()
    finally:
        kafka.class_path = given
    yield broker
    broker.stop()


def subscribe(broker: Any, **settings: str | None) -> None:
    with Admin(bootstrap_servers=broker.bootstrap) as admin:
        resource = ConfigResource(ResourceType.CLIENT_METRICS, "test")
        admin.alter_configs(resource, {name.replace("_", "."): value for name, value in settings.items()})


def listed(broker: Any) -> set[int]:
    with Peer(broker, 30) as peer:
        return {each.api_key for each in peer.call(ApiVersionsRequest(), 0).api_keys} & {71, 72}


class Talk:
    """One client instance of one broker, whose answers are compared with those of another broker."""

    def __init__(self, broker: Any) -> None:
        self.peer = Peer(broker, 30)
        self.instance, self.subscription = ZERO, 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.peer.socket.close()

    def get(self, instance: UUID | None = None) -> dict[str, Any]:
        request = GetTelemetrySubscriptionsRequest(client_instance_id=instance or self.instance)
        answer = self.peer.call(request, 0)
        if not answer.error_code and instance is None:
            self.instance, self.subscription = answer.client_instance_id, answer.subscription_id
        return {
            "error": answer.error_code,
            "codecs": [*answer.accepted_compression_types],
            "interval": answer.push_interval_ms,
            "most": answer.telemetry_max_bytes,
            "delta": answer.delta_temporality,
            "metrics": sorted(answer.requested_metrics),
        }

    def push(self, data: bytes = DATA, **more: Any) -> int:
        request = PushTelemetryRequest(
            client_instance_id=self.instance, subscription_id=self.subscription, metrics=data
        )
        for name, value in more.items():
            setattr(request, name, value)
        return int(self.peer.call(request, 0).error_code)


def wanted(broker: Any) -> Any:
    """The metrics that a new client shall push."""
    with Talk(broker) as talk:
        return talk.get()["metrics"]


def conversation(broker: Any, talk: Talk) -> Iterator[Any]:
    """The steps of a client, wrong and right."""
    yield talk.get()
    yield talk.get()  # too early
    yield talk.push()
    yield talk.push()  # too early
    yield talk.push(subscription_id=talk.subscription + 1)  # too early for its error, too
    yield talk.get(UUID(int=1))
    yield talk.push(client_instance_id=ZERO)
    yield talk.push(client_instance_id=UUID(int=1))
    subscribe(broker, metrics="a.,b.")
    until(lambda: talk.push() == 117)  # Apache Kafka takes a moment to see the change
    yield talk.get()
    yield talk.push(compression_type=9)
    yield talk.get()  # at once, because the error demands it
    yield talk.push(terminating=True)
    yield talk.push(terminating=True)
    yield talk.push()  # refused, and from now on only too early
    yield talk.push()
    yield talk.get()


WRONG_FIRST_PUSHES: dict[str, dict[str, Any]] = {
    "unknown subscription": {"subscription_id": 7},
    "unknown codec": {"compression_type": 5},
    "negative codec": {"compression_type": -1},
    "too long": {"metrics": bytes(1_048_577)},
    "not zstd": {"metrics": b"no zstd", "compression_type": 4},
    "not gzip": {"metrics": b"no gzip", "compression_type": 1},
    "empty": {"metrics": b""},
    "empty gzip": {"metrics": b"", "compression_type": 1},
    "gzip": {"metrics": bytes(compress(1, DATA)), "compression_type": 1},
    "lz4": {"metrics": bytes(compress(3, DATA)), "compression_type": 3},
    "zstd": {"metrics": bytes(compress(4, DATA)), "compression_type": 4},
    "snappy": {"metrics": bytes(compress(2, DATA)), "compression_type": 2},
    "last": {"terminating": True},
}


def test_without_a_receiver_apache_kafka_asks_for_nothing(our_broker: OurBroker, apache_kafka: ApacheBroker) -> None:
    found = []
    for broker in (our_broker, apache_kafka):
        assert listed(broker) == set()
        with Talk(broker) as talk:
            found.append((talk.get(), talk.push(), talk.push()))
    assert found[0] == found[1]


def test_the_conversation_of_a_client_is_that_of_apache_kafka(ours: OurBroker, theirs: ApacheBroker) -> None:
    found = []
    for broker in (ours, theirs):
        subscribe(broker, metrics="*", interval_ms=str(INTERVAL), match=None)
        until(lambda broker=broker: listed(broker) == {71, 72})  # type: ignore[misc]  # bound at once
        until(lambda broker=broker: wanted(broker) == ["*"])  # type: ignore[misc]  # bound at once
        with Talk(broker) as talk:
            found.append(list(conversation(broker, talk)))
    assert found[0] == found[1]


@pytest.mark.parametrize("name", WRONG_FIRST_PUSHES)
def test_a_first_push_is_answered_as_by_apache_kafka(ours: OurBroker, theirs: ApacheBroker, name: str) -> None:
    answers = []
    for broker in (ours, theirs):
        subscribe(broker, metrics="*", interval_ms=str(INTERVAL), match=None)
        until(lambda broker=broker: wanted(broker) == ["*"])  # type: ignore[misc]  # bound at once
        with Talk(broker) as talk:
            assert talk.get()["error"] == 0
            answers.append(talk.push(**WRONG_FIRST_PUSHES[name]))
    assert answers[0] == answers[1]


@pytest.mark.parametrize(("settings", "matches"), [
    ({"match": "client_id=pe.*"}, True),
    ({"match": "client_id=ee"}, False),
    ({"match": "client_source_address=127.0.0.1,client_id=.*"}, True),
    ({"match": "client_software_name=kafkawire"}, False),
    ({"match": "client_software_name=unknown"}, True),
    ({"match": "client_source_port=[0-9]+"}, True),
])  # fmt: skip
def test_patterns_match_as_in_apache_kafka(
    ours: OurBroker, theirs: ApacheBroker, settings: dict[str, str], matches: bool
) -> None:
    for broker in (ours, theirs):
        subscribe(broker, metrics="only", interval_ms=str(INTERVAL), **settings)
        expected = ["only"] if matches else []
        until(lambda broker=broker, expected=expected: wanted(broker) == expected)  # type: ignore[misc]


@pytest.mark.parametrize("settings", [
    {"interval.ms": "99"}, {"interval.ms": "3600001"}, {"interval.ms": "x"}, {"match": "a=b"}, {"match": "client_id"},
    {"match": "client_id=["}, {"unknown": "1"}, {"match": "client_id=a=b"},
])  # fmt: skip
def test_wrong_subscriptions_are_refused_as_by_apache_kafka(
    ours: OurBroker, theirs: ApacheBroker, settings: dict[str, str]
) -> None:
    codes = []
    for broker in (ours, theirs):
        with (
            Admin(bootstrap_servers=broker.bootstrap) as admin,
            pytest.raises((InvalidConfigError, InvalidRequestError)) as refused,
        ):
            admin.alter_configs(ConfigResource(ResourceType.CLIENT_METRICS, "wrong"), settings)
        codes.append(refused.value.code)
    assert codes[0] == codes[1]


def test_the_tools_of_kafka_set_and_show_subscriptions(ours: OurBroker, kafka: ApacheKafka) -> None:
    where = ("--bootstrap-server", ours.bootstrap)
    tool = "org.apache.kafka.tools.ClientMetricsCommand"
    options = ("--metrics", "org.apache.kafka.consumer.", "--interval", "5000", "--match", "client_id=x.*")
    kafka.run(tool, *where, "--alter", "--name", "mine", *options)
    told = kafka.run(tool, *where, "--describe", "--name", "mine")
    assert "interval.ms=5000" in told
    assert "metrics=org.apache.kafka.consumer." in told
    assert "mine" in kafka.run(tool, *where, "--list").split()
    entity = ("--entity-type", "client-metrics", "--entity-name", "mine")
    kafka.run("kafka.admin.ConfigCommand", *where, "--alter", *entity, "--add-config", "interval.ms=7000")
    assert "interval.ms=7000" in kafka.run("kafka.admin.ConfigCommand", *where, "--describe", *entity)
    kafka.run(tool, *where, "--delete", "--name", "mine")
    assert "mine" not in kafka.run(tool, *where, "--list").split()


def pushed(broker: OurBroker, client_id: str) -> dict[str, float]:
    """The values that a client has pushed, by name."""

    def look() -> dict[str, float]:
        found = broker.broker.node.telemetry.gauges()
        return {
            each.name: each.value
            for each in found
            if each.name.startswith(PREFIX) and each.labels["client_id"] == client_id
        }

    return broker.call(look)


@pytest.fixture
def pushing(ours: OurBroker) -> Iterator[OurBroker]:
    """Our broker with a subscription to everything, ten times a second."""
    subscribe(ours, metrics="*", interval_ms="100", match=None)
    with Admin(bootstrap_servers=ours.bootstrap) as admin:
        if "pushed" not in admin.list_topics():
            admin.create_topics([NewTopic("pushed", 1)])
    yield ours
    subscribe(ours, metrics=None, interval_ms=None)


def test_librdkafka_pushes_metrics_of_producer_and_consumer(pushing: OurBroker) -> None:
    common = {"bootstrap.servers": pushing.bootstrap}
    producer = confluent_kafka.Producer({**common, "client.id": "rd-producer"})
    consumer = confluent_kafka.Consumer(
        {**common, "client.id": "rd-consumer", "group.id": "rd", "auto.offset.reset": "earliest"}
    )
    consumer.subscribe(["pushed"])

    def work() -> bool:
        producer.produce("pushed", b"x")
        producer.flush(10)
        consumer.poll(0.05)
        return bool(pushed(pushing, "rd-producer")) and bool(pushed(pushing, "rd-consumer"))

    until(work)
    assert any("producer" in name for name in pushed(pushing, "rd-producer"))
    assert any("consumer" in name for name in pushed(pushing, "rd-consumer"))
    consumer.close()
    producer.flush()
    until(lambda: not pushed(pushing, "rd-consumer"))


def test_java_pushes_metrics_of_its_consumer(pushing: OurBroker, tmp_path_factory: pytest.TempPathFactory) -> None:
    before = pushing.call(lambda: dict(pushing.broker.node.telemetry.errors)).get("INVALID_RECORD")
    java = JavaClients(tmp_path_factory.mktemp("java") / "log")
    member = java.join(pushing.bootstrap, "java-group", ["pushed"], **{"client.id": "java-consumer"})
    until(lambda: bool(pushed(pushing, "java-consumer")))
    found = pushed(pushing, "java-consumer")
    assert any(name.startswith(f"{PREFIX}consumer_") for name in found), found
    member.leave()
    java.close()
    assert pushing.call(lambda: dict(pushing.broker.node.telemetry.errors)).get("INVALID_RECORD") == before
