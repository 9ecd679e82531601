"""Groups that change between the classic and the consumer protocol while they have members."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.broker.groups.consumer.consumer_stage import GROUP, PAUSE, REBALANCE, SESSION, Stage, settle
from tests.broker.groups.manual_coordinator import subscription

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.consumer.settings import ConsumerSettings, MigrationPolicy
from kafkawire.broker.groups.protocol import Protocol
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.messages import ConsumerProtocolAssignment, ConsumerProtocolSubscription
from kafkawire.messages.errors import ErrorCode

JOIN: dict[str, Any] = {"rebalance_timeout": REBALANCE, "topics": frozenset({"orders"}), "owned": {}}


COOPERATIVE = (Protocol("cooperative-sticky", subscription("orders")),)


class ClassicClient:
    """A classic consumer with the cooperative protocol."""

    def __init__(self, stage: Stage, *topics: str) -> None:
        self.stage = stage
        self.topics = topics
        self.member_id = ""
        self.generation = -1
        self.partitions: set[tuple[str, int]] = set()

    def join(self, instance: str | None = None) -> ErrorCode:
        """Join, and sync if that can be answered at once."""
        owned: dict[str, list[int]] = {}
        for topic, partition in sorted(self.partitions):
            owned.setdefault(topic, []).append(partition)
        kind = ConsumerProtocolSubscription
        metadata = b"\x00\x03" + kind(
            topics=list(self.topics),
            owned_partitions=[kind.TopicPartition(topic=name, partitions=numbers) for name, numbers in owned.items()],
        ).encode(3)
        request = self.stage.join(
            self.member_id, instance=instance, protocols=(Protocol("cooperative-sticky", metadata),), session=SESSION
        )
        if request.is_waiting:
            return ErrorCode.NONE
        self.member_id, self.generation = request.joined.member_id, request.joined.generation
        return request.error or self.sync()

    def sync(self) -> ErrorCode:
        request = self.stage.sync(self.member_id, self.generation)
        if not request.error:
            found = ConsumerProtocolAssignment.decode_prefix(request.synced.assignment, 3, 2)[0]
            self.partitions = {(each.topic, one) for each in found.assigned_partitions for one in each.partitions}
        return request.error

    def poll(self) -> None:
        if self.stage.heartbeat(self.member_id, self.generation) == ErrorCode.REBALANCE_IN_PROGRESS:
            self.join()


def classic_group(stage: Stage) -> str:
    """The only member of a stable classic group that has all four partitions."""
    stage.create("orders", 4)
    joining = stage.join(protocols=COOPERATIVE, session=SESSION)
    stage.pass_time(0)
    assignment = ConsumerProtocolAssignment(
        assigned_partitions=[ConsumerProtocolAssignment.TopicPartition(topic="orders", partitions=[0, 1, 2, 3])]
    )
    member_id = joining.joined.member_id
    parts = {member_id: b"\x00\x03" + assignment.encode(3)}
    assert not stage.sync(member_id, joining.joined.generation, parts).error
    return member_id


def with_policy(policy: MigrationPolicy) -> Stage:
    return Stage(replace(GroupSettings(), consumer=ConsumerSettings(policy=policy)))


def test_heartbeat_upgrades_a_classic_group_and_no_partition_is_owned_twice(stage: Stage) -> None:
    old = classic_group(stage)
    new = stage.client("new", "orders")
    assert stage.consumers.members[old].is_classic
    assert (stage.consumers.epoch, new.partitions) == (2, set())
    assert stage.heartbeat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    classic = ClassicClient(stage, "orders")
    classic.member_id, classic.generation = old, 1
    classic.partitions = {("orders", each) for each in range(4)}
    classic.join()
    assert len(classic.partitions) == 2
    new.poll()
    assert not new.partitions
    classic.poll()
    new.poll()
    assert len(new.partitions) == 2
    assert new.partitions | classic.partitions == {("orders", each) for each in range(4)}


def test_group_goes_from_classic_to_consumer_and_back_and_commits_are_kept(stage: Stage) -> None:
    old = classic_group(stage)
    stage.commit(("orders", 0), 5, old, 1)
    new = stage.client("new", "orders")
    assert stage.leave(old) == ErrorCode.NONE
    stage.pass_time(PAUSE)
    settle(stage, new, rounds=3)
    assert len(new.partitions) == 4
    assert stage.consumers.offsets["orders", 0].offset == 5
    back = ClassicClient(stage, "orders")
    assert back.join() == ErrorCode.NONE
    stage.pass_time(PAUSE)
    for _ in range(3):
        new.poll()
        back.poll()
    assert len(back.partitions) == len(new.partitions) == 2
    new.leave()
    group = stage.group
    assert isinstance(group, Group)
    assert (group.state, group.offsets["orders", 0].offset) == (State.PREPARING, 5)
    assert stage.heartbeat(back.member_id, group.generation) == ErrorCode.REBALANCE_IN_PROGRESS
    assert not stage.join(back.member_id, protocols=group.members[back.member_id].protocols, session=SESSION).error
    assert group.state is State.COMPLETING


def test_downgrade_survives_a_restart(stage: Stage) -> None:
    stage.create("orders", 2)
    new, classic = stage.client("new", "orders"), ClassicClient(stage, "orders")
    classic.join()
    new.leave()
    later = stage.restarted()
    assert isinstance(later.group, Group)
    assert (later.group.state, set(later.group.members)) == (State.STABLE, {classic.member_id})


def test_upgrade_survives_a_restart(stage: Stage) -> None:
    old = classic_group(stage)
    stage.client("new", "orders")
    later = stage.restarted()
    assert set(later.consumers.members) == {old, "new"}
    assert later.consumers.members[old] == stage.consumers.members[old]


def test_waiting_joins_of_the_classic_group_are_told_to_rejoin(stage: Stage) -> None:
    classic_group(stage)
    waiting = stage.join(protocols=COOPERATIVE, session=SESSION)
    assert waiting.is_waiting
    stage.client("new", "orders")
    assert waiting.error == ErrorCode.REBALANCE_IN_PROGRESS


@pytest.mark.parametrize("policy", [MigrationPolicy.DOWNGRADE, MigrationPolicy.DISABLED])
def test_policy_forbids_an_upgrade(policy: MigrationPolicy) -> None:
    stage = with_policy(policy)
    classic_group(stage)
    assert stage.refused("new", 0, **JOIN) == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(stage.group, Group)


def test_policy_forbids_classic_members() -> None:
    stage = with_policy(MigrationPolicy.DISABLED)
    stage.client("new", "orders")
    assert ClassicClient(stage, "orders").join() == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize("policy", [MigrationPolicy.UPGRADE])
def test_policy_forbids_a_downgrade(policy: MigrationPolicy) -> None:
    stage = with_policy(policy)
    new, classic = stage.client("new", "orders"), ClassicClient(stage, "orders")
    classic.join()
    new.leave()
    assert set(stage.consumers.members) == {classic.member_id}


@pytest.mark.parametrize(
    "protocols",
    [(Protocol("range", b"?"),), (Protocol("range", b""),), (Protocol("range", b"\xff\xff" + bytes(8)),)],
)
def test_unreadable_subscription_forbids_an_upgrade(stage: Stage, protocols: tuple[Protocol, ...]) -> None:
    stage.join(protocols=protocols, session=SESSION)
    stage.pass_time(0)
    assert stage.refused("new", 0, **JOIN) == ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(stage.group, Group)


def test_unreadable_subscription_does_not_join_a_consumer_group(stage: Stage) -> None:
    stage.client("new", "orders")
    request = stage.join(protocols=(Protocol("range", b"?"),), session=SESSION)
    assert request.error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert set(stage.consumers.members) == {"new"}


def test_empty_groups_change_their_kind(stage: Stage) -> None:
    stage.commit(("orders", 0), 5)
    client = stage.client("new", "orders")
    assert stage.consumers.offsets["orders", 0].offset == 5
    client.leave()
    stage.join(protocols=(Protocol("range", subscription("orders")),), session=SESSION)
    assert isinstance(stage.group, Group)
    assert stage.group.offsets["orders", 0].offset == 5
    assert stage.group.group_id == GROUP


def test_new_classic_member_first_gets_its_id(stage: Stage) -> None:
    stage.client("new", "orders")
    request = stage.join(protocols=(Protocol("range", subscription("orders")),), session=SESSION, known_id=True)
    assert request.error == ErrorCode.MEMBER_ID_REQUIRED
    assert len(request.joined.member_id) == 36


def test_static_member_that_returns_as_a_classic_one_is_the_last_to_downgrade(stage: Stage) -> None:
    stage.create("orders", 2)
    client = stage.client("new", "orders", instance_id="one")
    settle(stage, client, rounds=1)
    classic = ClassicClient(stage, "orders")
    assert classic.join(instance="one") == ErrorCode.NONE
    group = stage.group
    assert isinstance(group, Group)
    assert (group.state, set(group.members)) == (State.STABLE, {classic.member_id})
    assert stage.restarted().group.members.keys() == {classic.member_id}


def test_classic_member_that_does_not_rejoin_is_removed(stage: Stage) -> None:
    old = classic_group(stage)
    new = stage.client("new", "orders")
    for _ in range(REBALANCE // 5_000 + 1):
        new.poll()
        if old in stage.consumers.members:
            stage.heartbeat(old, 1)
        stage.pass_time(5_000)
    settle(stage, new, rounds=2)
    assert set(stage.consumers.members) == {"new"}
    assert len(new.partitions) == 4


def test_requests_of_classic_members_are_checked(stage: Stage) -> None:
    stage.create("orders", 2)
    stage.client("new", "orders")
    classic = ClassicClient(stage, "orders")
    classic.join()
    member_id, generation = classic.member_id, classic.generation
    assert stage.heartbeat("nobody", generation) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat("new", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.heartbeat(member_id, generation + 1) == ErrorCode.ILLEGAL_GENERATION
    assert stage.sync(member_id, generation, protocol_name="range").error == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.leave("nobody") == ErrorCode.UNKNOWN_MEMBER_ID
