"""kill -9 of a serving broker under a consumer group: the group goes on, and no partition is consumed twice.

Members follow the protocol over plain connections, so that a kill meets every step of it. After a kill each sends its
last heartbeat again: nobody is fenced. KAFKAWIRE_CRASH_ROUNDS sets the number of kills.
"""

from __future__ import annotations

import os
from random import Random
from threading import Thread
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any

import pytest
from torture.peer import Asked, Peer, create
from torture.victim import Victim

from kafkawire.messages import ConsumerGroupHeartbeatRequest

if TYPE_CHECKING:
    from pathlib import Path

ROUNDS = int(os.environ.get("KAFKAWIRE_CRASH_ROUNDS", "12"))
WAIT = 60.0
TOPIC, PARTITIONS = "orders", 12
Place = ConsumerGroupHeartbeatRequest.TopicPartitions


class Member:
    """A member that goes on consuming what it has to give up until its next heartbeat."""

    def __init__(self, number: int) -> None:
        self.member_id = f"member-{number}"
        self.epoch = 0
        self.owned: dict[Any, frozenset[int]] = {}

    @property
    def partitions(self) -> set[int]:
        return {each for numbers in self.owned.values() for each in numbers}

    def beat(self, victim: Victim, epoch: int | None = None) -> None:
        """Send a heartbeat, again and again while the broker is down."""
        places = [Place(topic_id=topic, partitions=sorted(numbers)) for topic, numbers in self.owned.items()]
        request = ConsumerGroupHeartbeatRequest(
            group_id="readers",
            member_id=self.member_id,
            member_epoch=self.epoch if epoch is None else epoch,
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=[TOPIC],
            topic_partitions=places,
        )
        deadline = monotonic() + WAIT
        while True:
            try:
                with Peer(victim.port) as peer:
                    answer = peer.ask(Asked(request, 1))
                break
            except (OSError, EOFError):
                assert monotonic() < deadline, "the broker does not come back"
                sleep(0.01)
        if epoch == -1 and answer.error_code:
            return  # a repeated departure
        assert not answer.error_code, (self.member_id, answer)
        self.epoch = answer.member_epoch
        if answer.assignment is not None:
            self.owned = {each.topic_id: frozenset(each.partitions) for each in answer.assignment.topic_partitions}


def shoot(victim: Victim, failures: list[BaseException]) -> None:
    dice = Random(3)
    try:
        for _ in range(ROUNDS):
            sleep(dice.uniform(0.02, 0.4))
            victim.kill()
            victim.start()
    except BaseException as failure:
        failures.append(failure)


@pytest.mark.timeout(max(900, 30 * ROUNDS))
def test_a_kill_leaves_a_group_that_goes_on(tmp_path: Path) -> None:
    settings = {"flush.on.ack": "true", "group.consumer.assignment.interval.ms": "0"}
    with Victim(tmp_path, settings) as victim:
        victim.start()
        with Peer(victim.port) as peer:
            assert peer.ask(create(TOPIC, PARTITIONS)).topics[0].error_code == 0
        failures: list[BaseException] = []
        shooter = Thread(target=shoot, args=(victim, failures))
        shooter.start()
        members, dice, number = [Member(0)], Random(5), 0
        while shooter.is_alive():
            if len(members) < 4 and dice.random() < 0.2:
                number += 1
                members.append(Member(number))
            elif len(members) > 1 and dice.random() < 0.1:
                members.pop(dice.randrange(len(members))).beat(victim, -1)
            for member in members:
                member.beat(victim)
                consumed = [each for one in members for each in one.partitions]
                assert len(consumed) == len({*consumed}), [(one.member_id, one.partitions) for one in members]
        shooter.join()
        assert not failures, failures
        for _ in range(10):
            for member in members:
                member.beat(victim)
        assert {*range(PARTITIONS)} == {each for member in members for each in member.partitions}
        assert max(len(member.partitions) for member in members) - min(len(each.partitions) for each in members) <= 1
