"""Requests of kafkajs as an administrator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.broker.clients.workload import START, Sent
from tests.interop.drivers import DriverError, KafkaJs
from tests.interop.waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaJs]:
    made = KafkaJs(tmp_path_factory.mktemp("drivers") / "kafkajs.log")
    yield made
    made.close()


@pytest.fixture
def name(node: KafkaJs, our_broker: OurBroker, request: pytest.FixtureRequest) -> str:
    """The name of a topic of this test's own, with two partitions and ten records, and of its group."""
    name: str = request.node.name.replace("_", "-")
    node.call("create_topic", bootstrap=our_broker.bootstrap, topic=name, partitions=2)
    node.produce(our_broker.bootstrap, name, [Sent(None, b"%d" % n, [], START + n) for n in range(10)])
    return name


@pytest.fixture
def ask(node: KafkaJs, our_broker: OurBroker, name: str) -> Callable[..., Any]:
    def ask(call: str, **arguments: Any) -> Any:
        return node.call(call, bootstrap=our_broker.bootstrap, topic=name, group=name, **arguments)

    return ask


def test_a_topic(ask: Callable[..., Any]) -> None:
    ask("create_partitions", partitions=3)
    told = ask("describe_topic")["partitions"]
    assert [(each["leader"], each["replicas"], each["isr"]) for each in told] == [(1, [1], [1])] * 3
    ask("alter_configs", entries=[{"name": "retention.ms", "value": "5000"}])
    assert ask("configs") == {"retention.ms": "5000"}
    with pytest.raises(DriverError, match="Configuration is invalid"):
        ask("alter_configs", entries=[{"name": "retention.ms", "value": "soon"}])


def test_offsets(ask: Callable[..., Any]) -> None:
    by_time = {each["partition"]: each["offset"] for each in ask("offsets_by_time", timestamp=START + 4)}
    assert by_time[0] == "4"
    ask("delete_records", partition=0, before=6)
    told = {each["partition"]: (each["low"], each["high"]) for each in ask("offsets")}
    assert told == {0: ("6", "10"), 1: ("0", "0")}


def test_the_cluster(ask: Callable[..., Any], our_broker: OurBroker) -> None:
    told = ask("cluster")
    assert (told["controller"], [each["nodeId"] for each in told["brokers"]]) == (1, [1])
    assert f"{told['brokers'][0]['host']}:{told['brokers'][0]['port']}" == our_broker.bootstrap
    assert ask("reassignments")["topics"] == []


def test_a_group(ask: Callable[..., Any], node: KafkaJs, our_broker: OurBroker, name: str) -> None:
    member = node.join(our_broker.bootstrap, name, [name])
    until(lambda: len(member.values()) == 10)
    member.commit()
    told = ask("describe_group")
    assert (told["state"], [each["clientId"] for each in told["members"]]) == ("Stable", ["kafkajs"])
    member.leave()
    assert name in ask("groups")
    assert {each["partition"]: each["offset"] for each in ask("group_offsets")} == {0: "10", 1: "-1"}
    ask("alter_group_offsets", partitions=[{"partition": 0, "offset": "7"}])
    again = node.join(our_broker.bootstrap, name, [name])
    until(lambda: again.values() == [b"7", b"8", b"9"])
    again.leave()
    ask("delete_group")
    assert name not in ask("groups")
