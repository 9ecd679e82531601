"""Calls that only Apache Kafka's own clients have: every assignor, static members, all of the admin client."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.clients.workload import START, Sent
from tests.interop.drivers import DriverError, JavaClients
from tests.interop.waiting import until

from kafkawire.messages import ApiVersionsRequest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheKafka
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
ASSIGNORS = ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor")


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaClients]:
    made = JavaClients(tmp_path_factory.mktemp("drivers") / "java.log")
    yield made
    made.close()


class Administrator:
    """The admin client, asked about one topic and the group of the same name."""

    def __init__(self, java: JavaClients, bootstrap: str, name: str) -> None:
        self._java = java
        self._fixed = {"bootstrap": bootstrap, "topic": name, "group": name}

    def __call__(self, call: str, **arguments: object) -> Any:
        return self._java.call(call, **self._fixed, **arguments)


@pytest.fixture
def name(java: JavaClients, our_broker: OurBroker, request: pytest.FixtureRequest) -> str:
    """The name of a topic of this test's own, with four partitions, and of its group."""
    name = "".join(each if each.isalnum() else "-" for each in request.node.name)
    java.call("create_topic", bootstrap=our_broker.bootstrap, topic=name, partitions=4)
    return name


@pytest.fixture
def ask(java: JavaClients, our_broker: OurBroker, name: str) -> Administrator:
    return Administrator(java, our_broker.bootstrap, name)


def numbered(count: int) -> list[Sent]:
    return [Sent(None, b"%d" % number, [], START + number) for number in range(count)]


@pytest.mark.parametrize("assignor", ASSIGNORS)
def test_every_assignor_shares_and_moves(java: JavaClients, our_broker: OurBroker, name: str, assignor: str) -> None:
    chosen = {"partition.assignment.strategy": f"org.apache.kafka.clients.consumer.{assignor}"}
    first, second, third = (java.join(our_broker.bootstrap, name, [name], **chosen) for _ in range(3))
    members = (first, second, third)
    everything = {(name, partition) for partition in range(4)}
    until(lambda: sorted(len(each.partitions()) for each in members) == [1, 1, 2])
    assert set.union(*(each.partitions() for each in members)) == everything
    third.leave()
    until(lambda: [len(each.partitions()) for each in (first, second)] == [2, 2])
    assert first.partitions() | second.partitions() == everything
    first.leave()
    until(lambda: second.partitions() == everything)
    second.leave()


def test_a_static_member_comes_back_to_what_it_had(java: JavaClients, our_broker: OurBroker, name: str) -> None:
    first = java.join(our_broker.bootstrap, name, [name], **{"group.instance.id": "one"})
    second = java.join(our_broker.bootstrap, name, [name], **{"group.instance.id": "two"})
    until(lambda: [len(each.partitions()) for each in (first, second)] == [2, 2])
    had = first.partitions()
    first.leave()
    again = java.join(our_broker.bootstrap, name, [name], **{"group.instance.id": "one"})
    until(lambda: again.partitions() == had)
    assert second.partitions().isdisjoint(had)
    again.leave()
    second.leave()


def test_topics_are_described_and_grow(ask: Administrator) -> None:
    told = ask("describe_topic")
    assert len(told["id"]) == 22
    ask("create_partitions", partitions=6)
    told = ask("describe_topic")
    assert told["partitions"] == [{"partition": n, "leader": 1, "replicas": 1, "isr": 1} for n in range(6)]
    assert told["internal"] is False


def test_settings_are_set_and_taken_back(ask: Administrator, name: str) -> None:
    ask("set_config", name="retention.ms", value="5000")
    assert ask("configs") == {"retention.ms": "5000"}
    resources = ask("config_resources")
    assert name in resources
    ask("delete_config", name="retention.ms")
    assert ask("configs") == {}
    with pytest.raises(DriverError, match=r"retention.ms"):
        ask("set_config", name="retention.ms", value="soon")


def test_records_are_deleted(java: JavaClients, our_broker: OurBroker, ask: Administrator, name: str) -> None:
    java.produce(our_broker.bootstrap, name, numbered(10))
    offsets = {"EarliestSpec": 0, "LatestSpec": 10, "MaxTimestampSpec": 9, "TimestampSpec": 4}
    assert ask("offsets", timestamp=START + 4) == offsets
    assert ask("delete_records", before=6) == 6
    assert ask("offsets", timestamp=START + 4) == {**offsets, "EarliestSpec": 6, "TimestampSpec": 6}
    with pytest.raises(DriverError, match="OffsetOutOfRange"):
        ask("delete_records", before=11)


def test_the_cluster_its_directories_and_its_producers(
    java: JavaClients, our_broker: OurBroker, ask: Administrator, name: str
) -> None:
    java.produce(our_broker.bootstrap, name, numbered(3))
    cluster = ask("cluster")
    assert (cluster["nodes"], cluster["controller"], len(cluster["id"])) == (1, 1, 22)
    sizes = ask("log_dirs")
    assert sizes[f"{name}-0"] == (our_broker.data_dir / f"{name}-0" / f"{0:020}.log").stat().st_size > 0
    assert ask("producers") == [{"sequence": 2, "epoch": 0}]
    assert ask("quorum") == {"leader": 1, "voters": 1}
    assert ask("elect_leaders") == "ElectionNotNeededException"
    assert ask("reassignments") == 0
    assert ask("transactions") == 0
    assert {"metadata.version", "transaction.version"} <= set(ask("features"))


def test_connections_name_the_broker_that_they_expect(
    java: JavaClients, our_broker: OurBroker, ask: Administrator, name: str
) -> None:
    java.produce(our_broker.bootstrap, name, numbered(1))
    member = java.join(our_broker.bootstrap, name, [name])
    until(lambda: member.values() == [b"0"])
    member.commit()
    ask("cluster")
    member.leave()
    node = our_broker.broker.node
    sent = [each.message for each in our_broker.requests if each.api == "ApiVersions" and each.version == 5]
    expected = {(each.cluster_id, each.node_id) for each in sent if isinstance(each, ApiVersionsRequest)}
    assert (node.cluster_id, node.id) in expected
    assert expected <= {(None, -1), (node.cluster_id, node.id)}


def test_groups_are_described_moved_and_deleted(
    java: JavaClients, our_broker: OurBroker, ask: Administrator, name: str
) -> None:
    java.produce(our_broker.bootstrap, name, numbered(5))
    member = java.join(our_broker.bootstrap, name, [name])
    until(lambda: len(member.values()) == 5)
    member.commit()
    described = {"state": "Stable", "assignor": "range", "coordinator": 1, "clients": ["java"]}
    assert ask("describe_group") == described
    with pytest.raises(DriverError, match="GroupNotEmpty"):
        ask("delete_group")
    with pytest.raises(DriverError, match="GroupSubscribedToTopic"):
        ask("delete_group_offsets")
    member.leave()
    groups = ask("groups")
    assert groups[name] == "Empty"
    ask("alter_group_offsets", offset=2)
    offsets = ask("group_offsets")
    assert offsets[f"{name}-0"] == 2
    ask("delete_group_offsets")
    offsets = ask("group_offsets")
    assert f"{name}-0" not in offsets
    ask("delete_group")
    groups = ask("groups")
    assert name not in groups


def test_a_member_that_dies_is_replaced_when_its_session_ends(
    java: JavaClients, our_broker: OurBroker, name: str, tmp_path: Path
) -> None:
    started = time.monotonic()
    dying = JavaClients(tmp_path / "dying.log")
    lost = dying.join(our_broker.bootstrap, name, [name])
    until(lambda: len(lost.partitions()) == 4)
    dying.kill()
    heir = java.join(our_broker.bootstrap, name, [name])
    until(lambda: len(heir.partitions()) == 4)
    assert time.monotonic() - started > 5
    heir.leave()
