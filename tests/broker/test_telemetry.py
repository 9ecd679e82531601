"""Telemetry of clients (KIP-714): what is asked of whom, which pushes are taken, and what the metrics page shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest
from tests.broker.node_requests import ask
from tests.broker.otlp import gauge, metrics_data, point, total

from kafkawire.broker._security.peer import Peer
from kafkawire.broker._telemetry import collected, instances
from kafkawire.broker._telemetry.collected import CollectedMetrics
from kafkawire.broker._telemetry.instances import Instance
from kafkawire.broker._telemetry.otlp import Point
from kafkawire.broker._telemetry.subscriptions import ClientAttributes, Wanted, wanted_of
from kafkawire.messages import (
    ApiVersionsRequest,
    GetTelemetrySubscriptionsRequest,
    IncrementalAlterConfigsRequest,
    PushTelemetryRequest,
)
from kafkawire.messages.errors import ErrorCode
from kafkawire.records import compress

if TYPE_CHECKING:
    from kafkawire.broker._node import Node
    from kafkawire.testing import ManualClock

ZERO = UUID(int=0)
INTERVAL = 10_000
DATA = metrics_data(gauge("org.apache.kafka.consumer.lag", point(5.0, topic="a")))


def subscribe(node: Node, name: str = "all", **settings: str | None) -> None:
    """Set the settings of a subscription; None removes one."""
    configs = [
        IncrementalAlterConfigsRequest.AlterableConfig(
            name=key.replace("_", "."), config_operation=0 if value is not None else 1, value=value
        )
        for key, value in settings.items()
    ]
    resource = IncrementalAlterConfigsRequest.AlterConfigsResource(
        resource_type=16, resource_name=name, configs=configs
    )
    (found,) = ask(node, IncrementalAlterConfigsRequest(resources=[resource])).responses
    assert not found.error_code, found.error_message


def get(node: Node, peer: Peer, instance_id: UUID = ZERO, client_id: str = "test") -> Any:
    return ask(node, GetTelemetrySubscriptionsRequest(client_instance_id=instance_id), client_id=client_id, peer=peer)


def push(node: Node, peer: Peer, got: Any, data: bytes = DATA, **more: Any) -> int:
    request = PushTelemetryRequest(
        client_instance_id=got.client_instance_id, subscription_id=got.subscription_id, metrics=data
    )
    for name, value in more.items():
        setattr(request, name, value)
    return int(ask(node, request, peer=peer).error_code)


def page(node: Node) -> dict[str, float]:
    """The numbers that clients have pushed, by name and the labels of the client."""
    return {
        each.name
        + "".join(
            f" {key}={value}"
            for key, value in sorted(each.labels.items())
            if key not in ("client_instance_id", "error")
        ): each.value
        for each in node.telemetry.gauges()
        if each.name.startswith(collected.PREFIX)
    }


@pytest.fixture
def peer() -> Peer:
    return Peer(address=("127.0.0.1", 4711))


def listed(node: Node) -> set[int]:
    return {each.api_key for each in ask(node, ApiVersionsRequest(), 0).api_keys}


def test_the_apis_are_listed_while_there_is_a_subscription(node: Node) -> None:
    assert not {71, 72} & listed(node)
    subscribe(node, metrics="*")
    assert {71, 72} <= listed(node)
    subscribe(node, metrics=None)
    assert not {71, 72} & listed(node)


def test_a_client_that_asks_without_a_subscription_is_told_to_be_quiet(node: Node, peer: Peer) -> None:
    got = get(node, peer)
    assert (got.error_code, got.requested_metrics, got.push_interval_ms) == (0, [], 300_000)
    assert got.client_instance_id.int


def test_a_client_gets_what_it_shall_push(node: Node, peer: Peer) -> None:
    subscribe(node, metrics="org.apache.kafka.consumer.,b", interval_ms="1000")
    subscribe(node, "more", metrics="a", interval_ms="500", match="client_id=te.*")
    subscribe(node, "other", metrics="*", interval_ms="100", match="client_id=other")
    got = get(node, peer)
    assert got.requested_metrics == ["a", "b", "org.apache.kafka.consumer."]
    assert (got.push_interval_ms, got.telemetry_max_bytes, got.delta_temporality) == (500, 1_048_576, True)
    assert got.accepted_compression_types == [4, 3, 1, 2]
    other = get(node, peer, client_id="other")
    assert (other.requested_metrics, other.push_interval_ms) == (["*"], 100)
    assert len({got.client_instance_id, other.client_instance_id}) == 2


CLIENT = ClientAttributes(str(ZERO), "my app/1", "apache-kafka-java", "4.3.1", "10.0.0.7", "4711")


@pytest.mark.parametrize(("match", "fits"), [
    ("", True),
    ("client_id=my app/1", True),
    ("client_id=my app", False),
    ("client_id=.*app.*,client_software_name=apache-.*", True),
    ("client_id=.*app.*,client_software_name=librdkafka", False),
    (r"client_software_version=4\.[0-9]+\..*", True),
    ("client_source_address=10.0.0.7,client_source_port=4[0-9]{3}", True),
    (f"client_instance_id={ZERO}", True),
])  # fmt: skip
def test_every_expression_has_to_fit_the_whole_value(match: str, fits: bool) -> None:
    wanted = wanted_of({"a": {"metrics": "m", "match": match}}, CLIENT, ZERO)
    assert wanted.metrics == (("m",) if fits else ())


@pytest.mark.parametrize("name", ["ünïcode", "", "\x00\x7f", "名前" * 100])
def test_a_client_id_may_have_any_characters(name: str) -> None:
    client = CLIENT._replace(client_id=name)
    assert wanted_of({"a": {"metrics": "m", "match": "client_id=.*"}}, client, ZERO).metrics == ("m",)
    assert wanted_of({"a": {"metrics": "m", "match": "client_id=x+"}}, client, ZERO).metrics == ()


def test_a_hostile_expression_takes_linear_time() -> None:
    client = CLIENT._replace(client_id="a" * 30_000)
    assert wanted_of({"a": {"metrics": "m", "match": "client_id=(a*)*(a|b|ab)*c"}}, client, ZERO).metrics == ()


def test_the_id_of_a_subscription_changes_with_what_is_wanted() -> None:
    one = wanted_of({"a": {"metrics": "m"}}, CLIENT, ZERO)
    assert one == wanted_of({"b": {"metrics": "m"}}, CLIENT, ZERO)
    assert one.id != wanted_of({"a": {"metrics": "n"}}, CLIENT, ZERO).id
    assert one.id != wanted_of({"a": {"metrics": "m", "interval.ms": "100"}}, CLIENT, ZERO).id
    assert one.id != wanted_of({"a": {"metrics": "m"}}, CLIENT, uuid4()).id


def test_a_push_is_on_the_page_by_client(node: Node, peer: Peer) -> None:
    subscribe(node, metrics="*", interval_ms=str(INTERVAL))
    got = get(node, peer)
    assert push(node, peer, got) == 0
    assert page(node) == {"kafka_client_consumer_lag client_id=test topic=a": 5.0}


def test_growths_of_a_sum_are_added_up_and_states_are_replaced(node: Node, peer: Peer, clock: ManualClock) -> None:
    subscribe(node, metrics="*", interval_ms=str(INTERVAL))
    got = get(node, peer)
    for value in (3, 4):
        data = metrics_data(
            total("sent", point(value)), total("open", point(value), delta=False), gauge("g", point(value))
        )
        assert push(node, peer, got, data) == 0
        clock.advance(INTERVAL)
    client = " client_id=test"
    assert page(node) == {
        f"kafka_client_sent_total{client}": 7,
        f"kafka_client_open_total{client}": 4,
        f"kafka_client_g{client}": 4,
    }


@pytest.mark.parametrize("codec", [0, 1, 2, 3, 4])
def test_every_codec_is_unpacked(node: Node, peer: Peer, codec: int) -> None:
    subscribe(node, metrics="*")
    got = get(node, peer)
    assert push(node, peer, got, bytes(compress(codec, DATA)), compression_type=codec) == 0
    assert list(page(node).values()) == [5.0]


def test_requests_within_the_interval_are_throttled(node: Node, peer: Peer, clock: ManualClock) -> None:
    subscribe(node, metrics="*", interval_ms=str(INTERVAL))
    got = get(node, peer)
    mine = got.client_instance_id
    assert get(node, peer, mine).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert push(node, peer, got) == 0  # the first push may come at any time
    assert push(node, peer, got) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    assert get(node, peer, mine).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    clock.advance(INTERVAL - 1)
    assert push(node, peer, got) == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    clock.advance(1)
    assert push(node, peer, got) == 0
    assert get(node, peer, mine).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
    clock.advance(INTERVAL)
    assert get(node, peer, mine).error_code == 0


def test_changed_subscriptions_are_asked_for_at_once(node: Node, peer: Peer, clock: ManualClock) -> None:
    subscribe(node, metrics="*", interval_ms=str(INTERVAL))
    got = get(node, peer)
    assert push(node, peer, got) == 0
    subscribe(node, metrics="a")
    assert push(node, peer, got) == ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    again = get(node, peer, got.client_instance_id)
    assert (again.error_code, again.requested_metrics) == (0, ["a"])
    assert push(node, peer, again) == ErrorCode.THROTTLING_QUOTA_EXCEEDED  # as in Kafka
    clock.advance(INTERVAL)
    assert push(node, peer, again) == 0


def test_the_last_push_may_come_early_and_the_next_one_is_refused(node: Node, peer: Peer, clock: ManualClock) -> None:
    subscribe(node, metrics="*", interval_ms=str(INTERVAL))
    got = get(node, peer)
    assert push(node, peer, got) == 0
    assert push(node, peer, got, terminating=True) == 0
    clock.advance(INTERVAL)
    assert push(node, peer, got, terminating=True) == ErrorCode.INVALID_REQUEST
    assert push(node, peer, got) == ErrorCode.INVALID_REQUEST
    assert push(node, peer, got) == 0  # as in Apache Kafka


@pytest.mark.parametrize(("change", "code"), [
    ({"client_instance_id": ZERO}, ErrorCode.INVALID_REQUEST),
    ({"client_instance_id": UUID(int=1)}, ErrorCode.INVALID_REQUEST),
    ({"subscription_id": 7}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID),
    ({"compression_type": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ({"compression_type": -1}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE),
    ({"metrics": bytes(1_048_577)}, ErrorCode.TELEMETRY_TOO_LARGE),
    ({"metrics": bytes(compress(1, bytes(2_000_000))), "compression_type": 1}, ErrorCode.TELEMETRY_TOO_LARGE),
    ({"metrics": bytes(compress(4, bytes(64_000_000))), "compression_type": 4}, ErrorCode.TELEMETRY_TOO_LARGE),
    ({"metrics": b"\xff" * 20}, ErrorCode.INVALID_RECORD),
    ({"metrics": b"no zstd", "compression_type": 4}, ErrorCode.INVALID_RECORD),
    ({"metrics": b"\x28\xb5\x2f\xfd" + bytes(50), "compression_type": 4}, ErrorCode.INVALID_RECORD),
    ({"metrics": b""}, ErrorCode.NONE),
])  # fmt: skip
def test_wrong_pushes_have_the_errors_of_kafka(node: Node, peer: Peer, change: dict[str, Any], code: int) -> None:
    subscribe(node, metrics="*")
    got = get(node, peer)
    assert push(node, peer, got, **change) == code
    assert page(node) == {}


def test_an_instance_is_forgotten_with_its_connection(node: Node, peer: Peer) -> None:
    subscribe(node, metrics="*")
    got = get(node, peer)
    assert push(node, peer, got) == 0
    node.telemetry.disconnected(peer)
    assert (page(node), len(node.telemetry.instances), len(node.telemetry.collected)) == ({}, 0, 0)
    # a client keeps its id when it connects again
    assert push(node, Peer(address=("127.0.0.1", 4712)), got) == 0
    assert len(page(node)) == 1


def test_an_instance_that_moved_stays_when_its_first_connection_ends(node: Node, peer: Peer) -> None:
    subscribe(node, metrics="*")
    got = get(node, peer)
    other = Peer(address=("127.0.0.1", 4712))
    assert push(node, other, got) == 0
    node.telemetry.disconnected(peer)
    assert len(page(node)) == 1
    node.telemetry.disconnected(other)
    assert page(node) == {}


def test_a_silent_instance_is_forgotten(node: Node, peer: Peer, clock: ManualClock) -> None:
    subscribe(node, metrics="*", interval_ms=str(INTERVAL))
    assert push(node, peer, get(node, peer)) == 0
    clock.advance(59_000)
    get(node, Peer())
    assert len(page(node)) == 1
    clock.advance(31_000)
    get(node, Peer())
    assert page(node) == {}


def test_a_flood_of_instances_takes_bounded_memory(node: Node, peer: Peer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instances, "MOST", 10)
    subscribe(node, metrics="*")
    for _ in range(30):
        assert push(node, peer, get(node, peer)) == 0
    assert len(node.telemetry.instances) == 10
    assert len(node.telemetry.collected) == 10


def instance(name: str = "client") -> Instance:
    return Instance(uuid4(), Wanted(1, ("*",), 1000), 0, Peer(), name)


def made(name: str, *attributes: tuple[str, str], is_sum: bool = False) -> Point:
    return Point(name, attributes, 1.0, is_sum, is_sum, is_sum)


def test_a_flood_of_series_takes_bounded_memory() -> None:
    kept = CollectedMetrics()
    for _ in range(12):
        kept.add(instance(), [made(f"m{number}") for number in range(collected.MOST_OF_CLIENT + 100)])
    assert len(kept) == collected.MOST
    assert kept.dropped == 12 * (collected.MOST_OF_CLIENT + 100) - collected.MOST


def test_names_and_labels_of_a_client_cannot_break_the_page() -> None:
    kept = CollectedMetrics()
    labels = [('ke"y\n', 'va"l\nue'), ("client_id", "forged"), ("9", "x"), ("", "y"), ("__name__", "z")]
    kept.add(instance('a"b'), [made('kafkawire_topics{} 1\nx "', *labels), made("...")])
    named, nameless = kept.gauges()
    assert named.name == "kafka_client_kafkawire_topics_1_x"
    assert named.labels["client_id"] == 'a"b'
    assert {key: value for key, value in named.labels.items() if not key.startswith("client_")} == {
        "ke_y": 'va"l\nue',
        "a_9": "x",
        "name": "z",
    }
    assert nameless.name == "kafka_client_"


def test_long_names_and_many_attributes_are_cut() -> None:
    kept = CollectedMetrics()
    kept.add(instance("c" * 1000), [made("m" * 1000, *((f"a{number}", "v" * 1000) for number in range(50)))])
    (found,) = kept.gauges()
    assert len(found.name) < 200
    assert len(found.labels) == collected.MOST_ATTRIBUTES + 2
    assert max(map(len, found.labels.values())) == collected.LONGEST
