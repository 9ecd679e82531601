"""Conversations of streams groups (KIP-1071) go the same way with Apache Kafka and with us, mostly wrong requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.answers import Asked
from tests.interop.test_same_consumer_groups import Talk, compare, has_coordinator, join
from tests.interop.waiting import until

from kafkawire import messages as m
from kafkawire.messages.errors import ErrorCode

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
Request = m.StreamsGroupHeartbeatRequest
Topic, Together = Request.TopicInfo, Request.CopartitionGroup
FOUR, TWO, KEPT = "streams-four", "streams-two", "streams-kept"


def topology(*subtopologies: Request.Subtopology, epoch: int = 0) -> Request.Topology:
    return Request.Topology(epoch=epoch, subtopologies=[*subtopologies])


def subtopology(name: str, *sources: str, **fields: Any) -> Request.Subtopology:
    return Request.Subtopology(subtopology_id=name, source_topics=[*sources], **fields)


ONE = topology(subtopology("0", FOUR))
FULL: dict[str, Any] = {
    "rebalance_timeout_ms": 60_000,
    "active_tasks": [],
    "standby_tasks": [],
    "warmup_tasks": [],
    "process_id": "process",
    "topology": ONE,
}


def owned(*partitions: int, name: str = "0") -> dict[str, Any]:
    """The fields of a member that reports its tasks."""
    active = [Request.TaskIds(subtopology_id=name, partitions=[*partitions])] if partitions else []
    return {"active_tasks": active, "standby_tasks": [], "warmup_tasks": []}


class StreamsTalk(Talk):
    """A conversation about streams groups with one broker."""

    def beat(self, group: str, member: str, epoch: int, version: int = 0, **said: Any) -> Any:
        return self.ask(Request(group_id=group, member_id=member, member_epoch=epoch, **said), version)

    def describe(self, *groups: str, version: int = 0) -> Any:
        return self.ask(m.StreamsGroupDescribeRequest(group_ids=[*groups], include_authorized_operations=True), version)

    def wait_until_ready(self, group: str, member: str, said: dict[str, Any]) -> None:
        """Let a member join again until the broker sees all topics of its topology."""
        missing = {1, 2, 3}

        def is_ready() -> bool:
            answer = self.quietly(Request(group_id=group, member_id=member, member_epoch=0, **said), 0)
            return missing.isdisjoint(each.status_code for each in answer.status)

        until(is_ready)

    def start_at_once(self, group: str) -> None:
        self.configure(group, "streams.initial.rebalance.delay.ms", "0")
        self.configure(group, "streams.assignment.interval.ms", "0")


@pytest.fixture(scope="module")
def both(apache_kafka: ApacheBroker, our_broker: OurBroker) -> Iterator[tuple[Asked, Asked]]:
    with Asked(our_broker) as ours, Asked(apache_kafka) as theirs:
        for broker in (ours, theirs):
            kind = m.CreateTopicsRequest.CreatableTopic
            topics = [
                kind(name=FOUR, num_partitions=4, replication_factor=1),
                kind(name=TWO, num_partitions=2, replication_factor=1),
                kind(name=KEPT, num_partitions=4, replication_factor=1),
            ]
            broker.ask(m.CreateTopicsRequest(topics=topics, timeout_ms=10_000), 5)
            until(lambda broker=broker: has_coordinator(broker))  # type: ignore[misc]
            sees_all = topology(*(subtopology(name, name) for name in (FOUR, TWO, KEPT)))
            StreamsTalk(broker).wait_until_ready("ready", "m", {**FULL, "topology": sees_all})
        yield ours, theirs


def test_wrong_heartbeats(both: tuple[Asked, Asked]) -> None:
    tag = Request.KeyValue(key="zone", value="one")
    offset = Request.TaskOffset(subtopology_id="0", partition=0, offset=0)

    def conversation(talk: StreamsTalk) -> None:
        for member, epoch, said in (
            ("", 0, FULL),
            (" ", 0, FULL),
            ("m", 0, {}),
            ("m", 0, {**FULL, "rebalance_timeout_ms": -1}),
            ("m", 0, {**FULL, "active_tasks": None}),
            ("m", 0, {**FULL, "standby_tasks": None}),
            ("m", 0, {**FULL, "warmup_tasks": None}),
            ("m", 0, {**FULL, **owned(0)}),
            ("m", 0, {**FULL, "topology": None}),
            ("m", 0, {**FULL, "instance_id": "one"}),
            ("m", 0, {**FULL, "rack_id": ""}),
            ("m", 0, {**FULL, "task_offsets": []}),
            ("m", 0, {**FULL, "task_end_offsets": [offset]}),
            ("m", 0, {**FULL, "warmup_tasks": [Request.TaskIds(subtopology_id="0", partitions=[0])]}),
            ("m", 1, {}),
            ("m", 1, {"topology": ONE}),
            ("m", 1, {"active_tasks": []}),
            ("m", -1, {}),
            ("m", -1, {"shutdown_application": True}),
            ("m", -2, {}),
            ("m", -2, {"instance_id": "one"}),
            ("m", -3, {"client_tags": [tag]}),
        ):
            talk.beat("wrong", member, epoch, **said)
        talk.beat("", "m", 0, **FULL)
        talk.describe("wrong", "", "nowhere")

    compare(both, conversation, StreamsTalk)


def test_wrong_topologies(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: StreamsTalk) -> None:
        for number, subtopologies in enumerate(
            (
                [subtopology("0", "__consumer_offsets")],
                [subtopology("0", FOUR, repartition_sink_topics=["__transaction_state"])],
                [subtopology("0", "no such/name", "", FOUR)],
                [subtopology("0", FOUR, source_topic_regex=["a.*"])],
                [subtopology("0", FOUR, state_changelog_topics=[Topic(name="log", partitions=3)])],
                [subtopology("0")],
                [subtopology("0", FOUR, repartition_source_topics=[Topic(name="never-written")])],
                [subtopology("0", repartition_source_topics=[Topic(name="x")], repartition_sink_topics=["x"])],
            )
        ):
            talk.beat(f"topology-{number}", "m", 0, **{**FULL, "topology": topology(*subtopologies)})
            talk.describe(f"topology-{number}")

    compare(both, conversation, StreamsTalk)


@pytest.mark.parametrize(
    "stated",
    [
        topology(subtopology("0", FOUR), subtopology("0", TWO)),
        topology(subtopology("0", FOUR, copartition_groups=[Together(source_topics=[1])])),
        topology(subtopology("0", FOUR, copartition_groups=[Together(source_topics=[-1])])),
        topology(subtopology("0", FOUR, repartition_source_topics=[Topic(name="negative", partitions=-1)])),
        topology(epoch=-1),
    ],
)
def test_topologies_that_apache_kafka_does_not_check(both: tuple[Asked, Asked], stated: Request.Topology) -> None:
    """Apache Kafka fails with an unexpected exception; we say that the topology is invalid."""
    request = Request(group_id="unchecked", member_id="m", member_epoch=0, **{**FULL, "topology": stated})
    answers: list[Any] = [broker.ask(request, 0) for broker in both]
    expected = [ErrorCode.STREAMS_INVALID_TOPOLOGY, ErrorCode.UNKNOWN_SERVER_ERROR]
    assert [each.error_code for each in answers] == expected


def test_topics_that_do_not_fit(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: StreamsTalk) -> None:
        together = [Together(source_topics=[0, 1])]
        for number, subtopologies in enumerate(
            (
                [subtopology("0", "missing-one")],
                [subtopology("0", "m1", "m2", FOUR), subtopology("1", "m3", "m4", "m5")],
                [subtopology("0", FOUR, TWO, copartition_groups=together)],
                [subtopology("0", FOUR, state_changelog_topics=[Topic(name=TWO)])],
                [
                    subtopology("0", FOUR, repartition_sink_topics=["fixed"]),
                    subtopology(
                        "1",
                        TWO,
                        repartition_source_topics=[Topic(name="fixed", partitions=3)],
                        copartition_groups=[Together(source_topics=[0], repartition_source_topics=[0])],
                    ),
                ],
                [
                    subtopology("0", FOUR, repartition_sink_topics=["three", "five"]),
                    subtopology(
                        "1",
                        repartition_source_topics=[Topic(name="three", partitions=3), Topic(name="five", partitions=5)],
                        copartition_groups=[Together(repartition_source_topics=[0, 1])],
                    ),
                ],
            )
        ):
            group = f"unfit-{number}"
            talk.start_at_once(group)
            epoch = talk.beat(group, "m", 0, **{**FULL, "topology": topology(*subtopologies)}).member_epoch
            talk.beat(group, "m", epoch)
            talk.describe(group)
            talk.beat(group, "m", -1)

    compare(both, conversation, StreamsTalk)


def test_life_of_two_members(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: StreamsTalk) -> None:
        group = "streams-life"
        talk.start_at_once(group)
        first = talk.beat(group, "a", 0, **{**FULL, "process_id": "p1"}).member_epoch
        talk.beat(group, "a", first)
        talk.beat(group, "a", first, **owned(0, 1, 2, 3))
        talk.beat(group, "a", first, **owned(0, 4))
        talk.beat(group, "a", first, **owned(0, name="9"))
        talk.beat(group, "a", first + 1)
        talk.beat(group, "a", 0, **{**FULL, "process_id": "p1"})
        talk.beat(group, "a", 0, **{**FULL, "process_id": "p1", "topology": topology(subtopology("0", TWO))})
        talk.beat(group, "a", 0, **{**FULL, "process_id": "p1", "topology": topology(subtopology("0", FOUR), epoch=1)})
        talk.describe(group)
        talk.ask(m.DescribeGroupsRequest(groups=[group]), 5)
        talk.ask(m.DescribeGroupsRequest(groups=[group]), 6)
        talk.ask(m.ConsumerGroupDescribeRequest(group_ids=[group]), 1)
        talk.ask(
            m.ConsumerGroupHeartbeatRequest(
                group_id=group,
                member_id="c",
                rebalance_timeout_ms=1000,
                subscribed_topic_names=[FOUR],
                topic_partitions=[],
            ),
            1,
        )
        talk.ask(join(group, ""), 9)
        talk.ask(m.HeartbeatRequest(group_id=group, generation_id=first, member_id="a"), 4)
        talk.ask(m.SyncGroupRequest(group_id=group, generation_id=first, member_id="a"), 5)
        talk.ask(m.LeaveGroupRequest(group_id=group, members=[m.LeaveGroupRequest.MemberIdentity(member_id="a")]), 5)
        for types in (["streams"], ["consumer"], []):
            listed = talk.quietly(m.ListGroupsRequest(types_filter=types), 5).groups
            found = [
                (each.group_state, each.group_type, each.protocol_type) for each in listed if each.group_id == group
            ]
            talk.said.append((f"listed {types}", found))
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        for version, ahead in ((8, 0), (9, 0), (10, 0), (9, -1), (9, 1), (9, -2)):
            talk.commit(group, "a", first + ahead, version, 0, 1, topic=FOUR)
        talk.commit(group, "a", first - 1, 9, 0, topic=TWO)
        talk.commit(group, "", -1, 9, 0, topic=FOUR)
        talk.commit(group, "b", 1, 9, 0, topic=FOUR)
        for member, epoch in ((None, -1), ("a", first), ("a", first - 1), ("b", first)):
            talk.committed(group, member, epoch)
        second = talk.beat(group, "b", 0, **{**FULL, "process_id": "p2"}).member_epoch
        talk.describe(group)
        answer = talk.beat(group, "a", first, **owned(0, 1, 2, 3))
        kept = answer.active_tasks[0].partitions
        talk.beat(group, "a", first, **owned(0, 1, 2, 3))
        talk.beat(group, "b", second)
        talk.describe(group)
        talk.commit(group, "a", first, 9, 0, 1, 2, 3, topic=FOUR)
        talk.beat(group, "a", first, **owned(*kept))
        talk.beat(group, "a", first, **owned(*kept))
        talk.beat(group, "a", first)
        talk.commit(group, "a", first, 9, *kept, topic=FOUR)
        talk.commit(group, "a", first, 9, 0, 1, 2, 3, topic=FOUR)
        talk.beat(group, "b", second)
        talk.beat(group, "b", second, **owned())
        talk.beat(group, "b", second, rack_id="r")
        talk.describe(group)
        talk.beat(group, "b", second, shutdown_application=True)
        talk.beat(group, "a", first + 1)
        talk.beat(group, "a", -1)
        talk.beat(group, "a", -1)
        talk.describe(group)
        talk.beat(group, "b", -1)
        talk.describe(group)
        place = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(
            name=FOUR, partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)]
        )
        talk.ask(m.OffsetDeleteRequest(group_id=group, topics=[place]), 0)
        talk.beat(group, "b", 9)
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        talk.describe(group)

    compare(both, conversation, StreamsTalk)


def test_stale_topology_and_delays(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: StreamsTalk) -> None:
        group = "streams-stale"
        newer = topology(subtopology("0", FOUR), epoch=3)
        talk.beat(group, "a", 0, **{**FULL, "topology": newer})
        talk.beat(group, "b", 0, **{**FULL, "topology": ONE, "process_id": "other"})
        talk.beat(group, "b", 1)
        talk.describe(group)
        talk.beat(group, "b", -1)
        talk.beat(group, "a", -1)
        talk.beat(group, "a", 0, **{**FULL, "topology": topology(subtopology("0", TWO), epoch=4)})
        talk.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)

    compare(both, conversation, StreamsTalk)


def test_internal_topics(both: tuple[Asked, Asked]) -> None:
    """Changelogs and repartition topics are created with their settings; an impossible one is reported."""
    configs = [Request.KeyValue(key="cleanup.policy", value="compact")]
    kept = [Request.KeyValue(key="retention.ms", value="-1")]
    stated = topology(
        subtopology("0", FOUR, repartition_sink_topics=["streams-inner-repartition"]),
        subtopology(
            "1",
            repartition_source_topics=[Topic(name="streams-inner-repartition", topic_configs=kept)],
            state_changelog_topics=[Topic(name="streams-inner-changelog", replication_factor=1, topic_configs=configs)],
        ),
    )

    def conversation(talk: StreamsTalk) -> None:
        group = "streams-inner"
        talk.start_at_once(group)
        said = {**FULL, "topology": stated}
        talk.beat(group, "a", 0, **said)
        talk.wait_until_ready(group, "a", said)
        talk.describe(group)
        names = ("streams-inner-repartition", "streams-inner-changelog")
        kind = m.DescribeConfigsRequest.DescribeConfigsResource
        keys = ["cleanup.policy", "retention.ms"]
        resources = [kind(resource_type=2, resource_name=name, configuration_keys=keys) for name in names]
        talk.ask(m.DescribeConfigsRequest(resources=resources), 4)

    compare(both, conversation, StreamsTalk)


def test_endpoints_and_standbys(both: tuple[Asked, Asked]) -> None:
    stated = topology(subtopology("0", FOUR, TWO, state_changelog_topics=[Topic(name=KEPT)]))

    def conversation(talk: StreamsTalk) -> None:
        group = "streams-endpoints"
        talk.start_at_once(group)
        talk.configure(group, "streams.num.standby.replicas", "1")
        talk.wait_until_ready("streams-probe", "a", {**FULL, "topology": stated})
        members = {}
        for number in range(3):
            said = {**FULL, "topology": stated, "process_id": f"p{number}"}
            endpoint = Request.Endpoint(host=f"host{number}", port=8000 + number)
            members[f"m{number}"] = talk.beat(group, f"m{number}", 0, **said, user_endpoint=endpoint).member_epoch
            talk.describe(group)
        talk.beat(group, "m2", members["m2"], endpoint_information_epoch=1)
        talk.configure(group, "streams.num.standby.replicas", "3")
        talk.configure(group, "streams.num.standby.replicas", "0")
        talk.beat(group, "m2", members["m2"], endpoint_information_epoch=2)
        talk.describe(group)

    compare(both, conversation, StreamsTalk)


def test_settings_of_groups(both: tuple[Asked, Asked]) -> None:
    def conversation(talk: StreamsTalk) -> None:
        group = "streams-configured"
        for name, value in (
            ("streams.session.timeout.ms", "50000"),
            ("streams.session.timeout.ms", "1000"),
            ("streams.session.timeout.ms", "70000"),
            ("streams.heartbeat.interval.ms", "6000"),
            ("streams.heartbeat.interval.ms", "60000"),
            ("streams.num.standby.replicas", "-1"),
            ("streams.num.standby.replicas", "2"),
            ("streams.initial.rebalance.delay.ms", "-1"),
            ("streams.initial.rebalance.delay.ms", "100"),
            ("streams.assignment.interval.ms", "-1"),
            ("streams.assignment.interval.ms", "20000"),
            ("streams.heartbeat.interval.ms", None),
        ):
            talk.configure(group, name, value)
        kind = m.DescribeConfigsRequest.DescribeConfigsResource
        names = [
            "streams.session.timeout.ms",
            "streams.heartbeat.interval.ms",
            "streams.num.standby.replicas",
            "streams.initial.rebalance.delay.ms",
            "streams.assignment.interval.ms",
        ]
        for asked in (group, "nowhere-to-be-found"):
            resource = kind(resource_type=32, resource_name=asked, configuration_keys=names)
            talk.ask(m.DescribeConfigsRequest(resources=[resource]), 4)
        talk.beat(group, "a", 0, **FULL)

    compare(both, conversation, StreamsTalk)
