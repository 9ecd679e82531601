"""Static members of consumer groups: their name belongs to one member at a time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.broker.groups.consumer.consumer_stage import PAUSE, REBALANCE, SESSION, Client, Stage, settle

from kafkawire.messages.errors import ErrorCode

JOIN: dict[str, Any] = {
    "rebalance_timeout": REBALANCE,
    "topics": frozenset({"orders"}),
    "owned": {},
    "instance_id": "one",
}


@pytest.fixture
def clients(stage: Stage) -> list[Client]:
    stage.create("orders", 4)
    clients = [stage.client("a", "orders", instance_id="one"), stage.client("b", "orders")]
    settle(stage, *clients)
    return clients


def test_member_that_left_for_a_while_keeps_its_partitions(stage: Stage, clients: list[Client]) -> None:
    clients[0].leave(-2)
    epoch = stage.consumers.epoch
    clients[1].poll()
    assert (stage.consumers.epoch, len(clients[1].partitions)) == (epoch, 2)
    back = stage.client("c", "orders", instance_id="one")
    assert (len(back.partitions), back.epoch, stage.consumers.epoch) == (2, epoch, epoch)
    assert set(stage.consumers.members) == {"b", "c"}


def test_member_that_does_not_come_back_loses_its_partitions_with_its_session(
    stage: Stage, clients: list[Client]
) -> None:
    clients[0].leave(-2)
    for _ in range(SESSION // 5_000 + 1):
        clients[1].poll()
        stage.pass_time(5_000)
    settle(stage, clients[1], rounds=2)
    assert len(clients[1].partitions) == 4


def test_name_in_use_is_not_released(stage: Stage, clients: list[Client]) -> None:
    assert stage.refused("c", 0, **JOIN) == ErrorCode.UNRELEASED_INSTANCE_ID
    assert set(stage.consumers.members) == {"a", "b"}


def test_former_member_of_a_name_is_fenced(stage: Stage, clients: list[Client]) -> None:
    epoch = clients[0].epoch
    clients[0].leave(-2)
    stage.client("c", "orders", instance_id="one")
    assert stage.refused("a", epoch, instance_id="one") == ErrorCode.FENCED_INSTANCE_ID
    assert stage.refused("a", -1, instance_id="one") == ErrorCode.FENCED_INSTANCE_ID
    assert stage.refused("a", epoch) == ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.refused("x", epoch, instance_id="two") == ErrorCode.UNKNOWN_MEMBER_ID


def test_member_that_leaves_for_good_releases_its_name(stage: Stage, clients: list[Client]) -> None:
    clients[0].leave()
    assert stage.refused("c", 0, **JOIN) == ErrorCode.NONE


def test_returning_member_with_other_topics_starts_a_rebalance(stage: Stage, clients: list[Client]) -> None:
    stage.create("other", 1)
    epoch = stage.consumers.epoch
    clients[0].leave(-2)
    stage.pass_time(PAUSE)
    back = stage.client("c", "other", instance_id="one")
    assert stage.consumers.epoch == epoch + 1
    settle(stage, back, clients[1])
    assert back.partitions == {("other", 0)}
    assert len(clients[1].partitions) == 4


def test_restart_keeps_a_member_that_left_for_a_while(stage: Stage, clients: list[Client]) -> None:
    clients[0].leave(-2)
    later = stage.restarted()
    back = later.client("c", "orders", instance_id="one")
    assert len(back.partitions) == 2
