"""The table of permissions, row by row: clients without them, clients with them, and names that stay hidden."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from uuid import UUID, uuid4

import pytest
from tests.broker.node_requests import ask
from tests.broker.security.guarded_requests import CASES, Names

from kafkawire import messages as m
from kafkawire.broker._acls.access import Access, UnlistedNeedError
from kafkawire.broker._acls.authorizer import STANDARD
from kafkawire.broker._acls.needs import ERRORS, NEEDS
from kafkawire.broker._dispatch import registry
from kafkawire.broker._dispatch.registry import RegistrationError, served_apis, serves
from kafkawire.broker._metrics.counters import error_paths, errors_at
from kafkawire.broker._security.peer import Peer, Principal
from kafkawire.messages.errors import InvalidConfigError
from kafkawire.wire.acls import CLUSTER_NAME, Acl, Operation, Pattern, PatternType, Permission, ResourceType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from kafkawire.broker._acls.needs import Need
    from kafkawire.broker._node import Node

HERE = Names("orders", "readers", "transfers")
NOWHERE = Names("nowhere", "nobody", "nothing")
ALICE, ROOT = Principal("User", "alice"), Principal("User", "root")
DENIALS = frozenset(ERRORS.values())
SERVED = {each.api.name for each in served_apis().values()}
GUARDED = [name for name in CASES if name.split()[0] in SERVED]
FILTERED = {"ListGroups", "ListTransactions", "DescribeCluster"}
"""APIs that leave out what the client may not see, and have no error for it."""
INDIRECT = {
    ("InitProducerId", Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER),
    ("InitProducerId", Operation.WRITE, ResourceType.TOPIC),
    ("ConsumerGroupDescribe", Operation.DESCRIBE, ResourceType.TOPIC),
    ("DeleteTopics", Operation.DESCRIBE, ResourceType.TOPIC),
    ("StreamsGroupHeartbeat", Operation.CREATE, ResourceType.TOPIC),
    ("StreamsGroupDescribe", Operation.DESCRIBE, ResourceType.TOPIC),
    ("ShareGroupDescribe", Operation.DESCRIBE, ResourceType.TOPIC),
    ("ShareFetch", Operation.READ, ResourceType.TOPIC),
    ("ShareAcknowledge", Operation.READ, ResourceType.TOPIC),
    ("AlterShareGroupOffsets", Operation.READ, ResourceType.TOPIC),
    ("CreateDelegationToken", Operation.CREATE_TOKENS, ResourceType.USER),
    ("DescribeDelegationToken", Operation.DESCRIBE, ResourceType.DELEGATION_TOKEN),
    ("DescribeDelegationToken", Operation.DESCRIBE_TOKENS, ResourceType.USER),
}
"""Needs with a test of their own: one of two is enough, or they show only in some states or connections."""
FOR_BROKERS = {("FindCoordinator", Operation.CLUSTER_ACTION, ResourceType.CLUSTER)}
"""Needs of a form of the request that this broker refuses."""


@pytest.fixture
def guarded(open_node: Callable[..., Node]) -> Node:
    settings = {"authorizer.class.name": STANDARD, "super.users": "User:root", "offsets.topic.num.partitions": "1"}
    node = open_node(**settings)
    node.create_topic(HERE.topic, 2)
    root(node, CASES["OffsetCommit"].request(HERE), 9)
    root(node, CASES["FindCoordinator of a transaction"].request(HERE))
    producer = root(node, CASES["InitProducerId of a transaction"].request(HERE), 4)
    added: Any = CASES["AddPartitionsToTxn"].request(HERE)
    added.v3_and_below_producer_id, added.v3_and_below_producer_epoch = producer.producer_id, producer.producer_epoch
    assert not codes(root(node, added, 3))
    return node


def root(node: Node, request: Any, version: int | None = None) -> Any:
    return ask(node, request, version, peer=Peer(address=("10.0.0.1", 1), principal=ROOT))


def alice(node: Node, name: str, names: Names = HERE) -> Any:
    case = CASES[name]
    return ask(node, case.request(names), case.version, peer=Peer(address=("10.0.0.1", 1), principal=ALICE))


def grant(node: Node, needs: Iterable[tuple[int, int]], names: Names = HERE) -> None:
    known = {
        ResourceType.TOPIC: names.topic,
        ResourceType.GROUP: names.group,
        ResourceType.TRANSACTIONAL_ID: names.transaction,
        ResourceType.CLUSTER: CLUSTER_NAME,
    }
    for operation, resource in needs:
        kind = PatternType.PREFIXED if resource == ResourceType.TOPIC else PatternType.LITERAL
        pattern = Pattern(resource, known[ResourceType(resource)], kind)
        node.acls.add(uuid4(), Acl(pattern, "User:alice", "*", operation, Permission.ALLOW))


def codes(response: Any) -> set[int]:
    return set(errors_at(error_paths(type(response).__shape__), response)) | other_codes(response)


def other_codes(response: Any) -> set[int]:
    """The codes of fields with other names."""
    if isinstance(response, m.AddPartitionsToTxnResponse):
        rows = response.results_by_topic_v3_and_below
        return {each.partition_error_code for row in rows for each in row.results_by_partition} - {0}
    if isinstance(response, m.CreateTopicsResponse):
        return {row.topic_config_error_code for row in response.topics} - {0}
    return set()


def wanted(name: str) -> list[tuple[int, int]]:
    return [(need.operation, need.resource) for need in NEEDS[name.split()[0]].needs]


def test_an_api_without_a_row_cannot_be_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "NEEDS", {name: row for name, row in NEEDS.items() if name != "Heartbeat"})
    with pytest.raises(RegistrationError, match=r"Heartbeat has no row .*needs\.py"):
        serves("Heartbeat")


def test_every_need_of_a_served_api_is_walked() -> None:
    needed = {(name, *need) for name in SERVED for need in wanted(name)}
    walked = {
        (name.split()[0], *need) for name in GUARDED for need in wanted(name) if need not in CASES[name].alternatives
    }
    assert needed - walked == INDIRECT | FOR_BROKERS


def test_every_row_names_an_api_and_attributes_that_it_has() -> None:
    for name, row in NEEDS.items():
        which = m.api(name)
        for need in row.needs:
            check_attributes(which, need)


def check_attributes(which: m.Api, need: Need) -> None:
    if need.of:
        assert hasattr(which.request(), need.of), f"{which.name}: {need}"
    if need.into:
        assert hasattr(which.response(), need.into), f"{which.name}: {need}"
    assert need.resource is ResourceType.CLUSTER or need.of or need.in_handler, f"{which.name}: {need}"


@pytest.mark.parametrize("name", GUARDED)
def test_a_client_without_permissions_is_denied(guarded: Node, name: str) -> None:
    answer = alice(guarded, name)
    if name in FILTERED:
        assert not codes(answer)
        assert answer != root(guarded, CASES[name].request(HERE), CASES[name].version)
    else:
        assert codes(answer) & DENIALS
        assert not codes(answer) - {55} - DENIALS  # OPERATION_NOT_ATTEMPTED stands beside a denial


@pytest.mark.parametrize("name", GUARDED)
def test_a_client_with_the_permissions_of_the_row_is_answered_as_a_super_user(guarded: Node, name: str) -> None:
    grant(guarded, wanted(name))
    assert not codes(alice(guarded, name)) & DENIALS


@pytest.mark.parametrize("name", [name for name in GUARDED if any(n.or_cluster for n in NEEDS[name.split()[0]].needs)])
def test_a_need_on_the_cluster_is_enough_where_the_row_says_so(guarded: Node, name: str) -> None:
    instead = [
        (need.or_cluster, ResourceType.CLUSTER) for need in NEEDS[name.split()[0]].needs if need.or_cluster is not None
    ]
    others = [(need.operation, need.resource) for need in NEEDS[name.split()[0]].needs if need.or_cluster is None]
    grant(guarded, [*instead, *others])
    assert not codes(alice(guarded, name)) & DENIALS


@pytest.mark.parametrize("name", GUARDED)
def test_every_permission_of_a_row_is_needed(guarded: Node, name: str) -> None:
    case, needs = CASES[name], wanted(name)
    incomplete = {
        need: answer_with(guarded, name, [each for each in needs if each != need])
        for need in needs
        if need not in case.alternatives
    }
    complete = answer_with(guarded, name, needs)
    assert [need for need, answer in incomplete.items() if answer == complete] == []


def answer_with(node: Node, name: str, needs: list[tuple[int, int]]) -> tuple[set[int], str]:
    for acl in list(node.acls):
        node.acls.remove(node.acls.id_of(acl))
    grant(node, needs)
    answer = alice(node, name)
    shown = str(answer) if name in FILTERED | {"Metadata", "DescribeTransactions"} else ""
    return codes(answer) & DENIALS, shown


@pytest.mark.parametrize("name", [name for name in GUARDED if CASES[name].hides])
def test_a_denial_does_not_tell_whether_something_exists(guarded: Node, name: str) -> None:
    here, nowhere = str(alice(guarded, name, HERE)), str(alice(guarded, name, NOWHERE))
    for known, unknown in zip(HERE[:3], NOWHERE[:3], strict=True):
        here, nowhere = here.replace(known, "?"), nowhere.replace(unknown, "?")
    assert here == nowhere


@pytest.mark.parametrize("name", [name for name in GUARDED if CASES[name].hides])
def test_nothing_changes_by_a_denied_request(guarded: Node, name: str) -> None:
    before = guarded.journal.end_offset, len(guarded.topics), guarded.log(HERE.topic, 0).end_offset
    alice(guarded, name)
    assert (guarded.journal.end_offset, len(guarded.topics), guarded.log(HERE.topic, 0).end_offset) == before


def test_rows_that_are_permitted_are_served_beside_denied_ones(guarded: Node) -> None:
    grant(guarded, [(Operation.WRITE, ResourceType.TOPIC)])
    case = CASES["Produce"]
    both: Any = case.request(HERE)
    both.topic_data += case.request(NOWHERE).topic_data  # type: ignore[attr-defined]
    answer = ask(guarded, both, 9, peer=Peer(address=("10.0.0.1", 1), principal=ALICE))
    found = {row.name: row.partition_responses[0].error_code for row in answer.responses}
    assert found == {HERE.topic: 0, NOWHERE.topic: 29}
    assert guarded.log(HERE.topic, 0).end_offset == 1


def test_a_topic_by_id_is_refused_by_its_name(guarded: Node) -> None:
    data = m.ProduceRequest.PartitionProduceData(
        index=0,
        records=CASES["Produce"]
        .request(HERE)
        .topic_data[0]  # type: ignore[attr-defined]
        .partition_data[0]
        .records,
    )
    topic_id = guarded.topics.get(HERE.topic).id
    for wanted_id, code in ((topic_id, 29), (UUID(int=99), 100)):
        topic = m.ProduceRequest.TopicProduceData(topic_id=wanted_id, partition_data=[data])
        request = m.ProduceRequest(acks=1, timeout_ms=1000, topic_data=[topic])
        answer = ask(guarded, request, 13, peer=Peer(address=("10.0.0.1", 1), principal=ALICE))
        assert answer.responses[0].partition_responses[0].error_code == code


def test_without_an_authorizer_everything_is_allowed(node: Node) -> None:
    assert node.authorizer is None
    for name, case in CASES.items():
        if name in GUARDED and name not in ("DescribeAcls", "CreateAcls", "DeleteAcls"):
            assert not codes(ask(node, case.request(HERE), case.version)) & DENIALS, name
    for name in ("DescribeAcls", "CreateAcls", "DeleteAcls"):
        assert codes(ask(node, CASES[name].request(HERE))) == {54}


@pytest.mark.parametrize(
    ("need", "code"),
    [
        ((Operation.IDEMPOTENT_WRITE, ResourceType.CLUSTER), 0),
        ((Operation.WRITE, ResourceType.TOPIC), 0),
        ((Operation.READ, ResourceType.TOPIC), 31),
    ],
)
def test_an_idempotent_producer_needs_one_of_two(guarded: Node, need: tuple[int, int], code: int) -> None:
    grant(guarded, [need])
    assert alice(guarded, "InitProducerId").error_code == code


@pytest.mark.parametrize("operation", [Operation.DESCRIBE, Operation.CREATE])
def test_the_name_of_a_topic_is_told_only_to_those_who_may_describe_it(guarded: Node, operation: Operation) -> None:
    grant(guarded, [(operation, ResourceType.TOPIC)])
    by_id = m.DeleteTopicsRequest.DeleteTopicState(name=None, topic_id=guarded.topics.get(HERE.topic).id)
    request = m.DeleteTopicsRequest(topics=[by_id], timeout_ms=1000)
    (row,) = ask(guarded, request, 6, peer=Peer(address=("10.0.0.1", 1), principal=ALICE)).responses
    assert row.error_code == 29
    assert row.name == (HERE.topic if operation is Operation.DESCRIBE else None)


def test_a_consumer_group_with_a_hidden_topic_is_not_described(guarded: Node) -> None:
    joined = m.ConsumerGroupHeartbeatRequest(
        group_id="modern",
        member_id="m",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=[HERE.topic],
        topic_partitions=[],
    )
    assert not root(guarded, joined, 1).error_code
    names = HERE._replace(group="modern")
    grant(guarded, [(Operation.DESCRIBE, ResourceType.GROUP)], names)
    (group,) = alice(guarded, "ConsumerGroupDescribe", names).groups
    assert (group.error_code, group.members) == (29, [])
    grant(guarded, [(Operation.DESCRIBE, ResourceType.TOPIC)], names)
    (group,) = alice(guarded, "ConsumerGroupDescribe", names).groups
    assert (group.error_code, len(group.members)) == (0, 1)


def test_a_regular_expression_matches_only_topics_that_its_member_may_describe(guarded: Node) -> None:
    for name in ("orders-too", "other"):
        guarded.create_topic(name, 1)
    names = HERE._replace(group="modern")
    grant(guarded, [(Operation.READ, ResourceType.GROUP), (Operation.DESCRIBE, ResourceType.TOPIC)], names)
    member = Peer(address=("10.0.0.1", 1), principal=ALICE)
    joined = m.ConsumerGroupHeartbeatRequest(
        group_id="modern", member_id="m", rebalance_timeout_ms=1000, subscribed_topic_regex="o.*", topic_partitions=[]
    )
    assert not ask(guarded, joined, 1, peer=member).error_code
    guarded.clock.advance(2_000)  # type: ignore[attr-defined]  # of the tests
    found = ask(guarded, joined, 1, peer=member)
    assigned = {guarded.topics.find_id(each.topic_id).name for each in found.assignment.topic_partitions}  # type: ignore[union-attr]
    assert assigned == {HERE.topic, "orders-too"}, "the entry is about the prefix orders"


def test_a_streams_group_creates_topics_and_is_described_as_far_as_the_client_may(guarded: Node) -> None:
    names = HERE._replace(group="application")
    grant(guarded, [(Operation.READ, ResourceType.GROUP), (Operation.DESCRIBE, ResourceType.TOPIC)], names)
    answer = alice(guarded, "StreamsGroupHeartbeat", names)
    assert answer.error_code == 0
    assert [each.status_detail for each in answer.status if "Unauthorized" in each.status_detail] == [
        "Internal topics are missing: orders-changelog; Unauthorized to CREATE on topics orders-changelog."
    ]
    assert guarded.groups.internal_topics.errors(["orders-changelog"]) == {}
    assert guarded.topics.find("orders-changelog") is None
    (group,) = alice(guarded, "StreamsGroupDescribe", names).groups
    assert group.error_code == 0
    for acl in [each for each in guarded.acls if each.pattern.resource_type == ResourceType.TOPIC]:
        guarded.acls.remove(guarded.acls.id_of(acl))
    (group,) = alice(guarded, "StreamsGroupDescribe", names).groups
    assert (group.error_code, group.topology, group.members) == (29, None, [])


def test_a_topology_is_described_only_to_those_who_may_describe_all_of_its_topics(guarded: Node) -> None:
    names = HERE._replace(group="application")
    kind = m.StreamsGroupTopologyDescriptionUpdateRequest
    sink = kind.TopologyDescriptionNode(name="out", node_type=3, sink_topic="secret")
    part = kind.TopologyDescriptionSubtopology(subtopology_id="0", nodes=[sink])
    assert not root(guarded, CASES["StreamsGroupHeartbeat"].request(names), 1).error_code
    stated = kind.TopologyDescription(subtopologies=[part])
    assert not root(guarded, kind(group_id=names.group, member_id="m", topology_description=stated)).error_code
    grant(guarded, [(Operation.DESCRIBE, ResourceType.GROUP), (Operation.DESCRIBE, ResourceType.TOPIC)], names)
    peer = Peer(address=("10.0.0.1", 1), principal=ALICE)
    for is_included, code in ((False, 0), (True, 29)):
        request = m.StreamsGroupDescribeRequest(group_ids=[names.group], include_topology_description=is_included)
        (group,) = ask(guarded, request, 1, peer=peer).groups
        assert (group.error_code, group.topology_description) == (code, None)


def test_a_share_group_gets_and_acknowledges_only_topics_that_its_member_may_read(guarded: Node) -> None:
    names = HERE._replace(group="workers")
    beat = m.ShareGroupHeartbeatRequest(
        group_id=names.group, member_id="m", member_epoch=0, subscribed_topic_names=[HERE.topic]
    )
    assert not root(guarded, beat).error_code
    topic = guarded.topics.get(HERE.topic).id
    fetched = m.ShareFetchRequest.FetchTopic(
        topic_id=topic, partitions=[m.ShareFetchRequest.FetchPartition(partition_index=0)]
    )
    batch = m.ShareAcknowledgeRequest.AcknowledgementBatch(first_offset=0, last_offset=0, acknowledge_types=[1])
    place = m.ShareAcknowledgeRequest.AcknowledgePartition(partition_index=0, acknowledgement_batches=[batch])
    done = m.ShareAcknowledgeRequest.AcknowledgeTopic(topic_id=topic, partitions=[place])
    fetch = m.ShareFetchRequest(group_id=names.group, member_id="m", max_records=1, batch_size=1, topics=[fetched])
    acknowledge = m.ShareAcknowledgeRequest(group_id=names.group, member_id="m", share_session_epoch=1, topics=[done])
    member = Peer(address=("10.0.0.1", 1), principal=ALICE)
    grant(guarded, [(Operation.READ, ResourceType.GROUP)], names)
    assert codes(ask(guarded, fetch, peer=member)) == {29}
    assert codes(ask(guarded, acknowledge, peer=member)) == {29}
    grant(guarded, [(Operation.READ, ResourceType.TOPIC)], names)
    assert codes(ask(guarded, fetch, peer=member)) == set()


def test_offsets_of_a_share_group_are_set_only_for_topics_that_the_client_may_read(guarded: Node) -> None:
    guarded.create_topic("secret", 1)
    names = HERE._replace(group="workers")
    kind = m.AlterShareGroupOffsetsRequest
    topics = [
        kind.AlterShareGroupOffsetsRequestTopic(
            topic_name=name,
            partitions=[kind.AlterShareGroupOffsetsRequestPartition(partition_index=0, start_offset=0)],
        )
        for name in (HERE.topic, "secret", "missing")
    ]
    grant(guarded, [(Operation.READ, ResourceType.GROUP), (Operation.READ, ResourceType.TOPIC)], names)
    request = kind(group_id=names.group, topics=topics)
    answer = ask(guarded, request, peer=Peer(address=("10.0.0.1", 1), principal=ALICE))
    found = {each.topic_name: each.partitions[0].error_code for each in answer.responses}
    assert found == {HERE.topic: 0, "secret": 29, "missing": 29}
    group = m.DescribeShareGroupOffsetsRequest.DescribeShareGroupOffsetsRequestGroup(group_id=names.group, topics=None)
    everything = m.DescribeShareGroupOffsetsRequest(groups=[group])
    root(guarded, kind(group_id=names.group, topics=topics))
    (seen,) = root(guarded, everything).groups
    assert {each.topic_name for each in seen.topics} == {HERE.topic, "secret"}
    (seen,) = ask(guarded, everything, peer=Peer(address=("10.0.0.1", 1), principal=ALICE)).groups
    assert {each.topic_name for each in seen.topics} == {HERE.topic}


def test_all_topics_are_those_that_the_client_may_describe(guarded: Node) -> None:
    guarded.create_topic("secret", 1)
    grant(guarded, [(Operation.READ, ResourceType.TOPIC)])
    peer = Peer(address=("10.0.0.1", 1), principal=ALICE)
    assert [each.name for each in ask(guarded, m.MetadataRequest(topics=None), 9, peer=peer).topics] == [HERE.topic]
    listed = ask(guarded, m.DescribeTopicPartitionsRequest(response_partition_limit=100), 0, peer=peer).topics
    assert [each.name for each in listed] == [HERE.topic]
    assert listed[0].topic_authorized_operations == 1 << Operation.READ | 1 << Operation.DESCRIBE


def test_an_operation_that_the_row_does_not_list_cannot_be_asked_for(guarded: Node) -> None:
    assert guarded.authorizer is not None
    access = Access(guarded.authorizer, NEEDS["Heartbeat"], Peer(principal=ROOT))
    assert access.may(Operation.READ, ResourceType.GROUP, "g")
    with pytest.raises(UnlistedNeedError, match="WRITE on GROUP"):
        access.may(Operation.WRITE, ResourceType.GROUP, "g")
    with pytest.raises(UnlistedNeedError, match="WRITE on TOPIC"):
        access.may_on_any(Operation.WRITE, ResourceType.TOPIC)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"authorizer.class.name": "com.example.Mine"}, "authorizer.class.name: found 'com.example.Mine'"),
        ({"authorizer.class.name": STANDARD, "super.users": "root"}, "super.users: expected Type:name"),
    ],
)
def test_settings_that_cannot_be_meant_stop_the_start(
    open_node: Callable[..., Node], settings: dict[str, str], words: str
) -> None:
    with pytest.raises(InvalidConfigError, match=words):
        open_node(**settings)
