"""The assignors of the broker against Apache Kafka's own classes, on the same random inputs."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any
from uuid import UUID

import pytest
from tests.interop.apache_kafka import JARS
from tests.interop.drivers import JavaCoordinator

from kafkawire.broker.groups.consumer.assignors import ASSIGNORS
from kafkawire.broker.groups.consumer.assignors.spec import GroupSpec, MemberSpec
from kafkawire.messages import uuid_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka

pytestmark = pytest.mark.interop
ROUNDS = 60


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaCoordinator]:
    clients = JavaCoordinator(JARS, tmp_path_factory.mktemp("assignors") / "java.log")
    yield clients
    clients.close()


@pytest.mark.parametrize("assignor", ["uniform", "range"])
@pytest.mark.parametrize("same_topics", [True, False], ids=["homogeneous", "heterogeneous"])
@pytest.mark.parametrize("seed", range(8))
def test_targets_are_those_of_apache_kafka(java: JavaCoordinator, assignor: str, same_topics: bool, seed: int) -> None:
    chance = random.Random(seed)
    history = History(chance, same_topics)
    for _ in range(ROUNDS):
        spec = history.change()
        found = ASSIGNORS[assignor](spec)
        assert plain(found) == java.call("assign", assignor=assignor, **described(spec))
        history.targets = {member_id: dict(target) for member_id, target in found.items()}


class History:
    """A group whose members and topics come and go."""

    def __init__(self, chance: random.Random, same_topics: bool) -> None:
        self._chance = chance
        self._same_topics = same_topics
        self._partitions: dict[UUID, int] = {}
        self._members: dict[str, tuple[str | None, tuple[UUID, ...]]] = {}
        self.targets: dict[str, Any] = {}

    def change(self) -> GroupSpec:
        chance = self._chance
        for _ in range(chance.choice((0, 0, 1, 3))):
            self._partitions[UUID(int=chance.getrandbits(128))] = chance.choice((1, 2, 7, 30, 100))
        if self._partitions and chance.random() < 0.2:
            del self._partitions[chance.choice([*self._partitions])]
        if self._partitions and chance.random() < 0.3:
            self._partitions[chance.choice([*self._partitions])] += chance.randrange(40)
        for _ in range(chance.choice((0, 1, 1, 5, 20))):
            instance = f"instance-{chance.getrandbits(32)}" if chance.random() < 0.2 else None
            self._members[str(UUID(int=chance.getrandbits(128)))] = instance, ()
        for _ in range(min(len(self._members) - 1, chance.choice((0, 0, 1, 6)))):
            del self._members[chance.choice([*self._members])]
        shared = self._some_topics()
        for member_id, (instance, topics) in self._members.items():
            kept = tuple(topic for topic in topics if topic in self._partitions)
            if self._same_topics:
                kept = shared
            elif not topics or chance.random() < 0.2:
                kept = self._some_topics()
            self._members[member_id] = instance, kept
        return GroupSpec(
            {
                member_id: MemberSpec(topics, self.targets.get(member_id, {}), instance)
                for member_id, (instance, topics) in self._members.items()
            },
            dict(self._partitions),
            is_homogeneous=self._same_topics,
        )

    def _some_topics(self) -> tuple[UUID, ...]:
        known = [*self._partitions]
        return tuple(self._chance.sample(known, self._chance.randint(0, len(known))))


def described(spec: GroupSpec) -> dict[str, Any]:
    return {
        "homogeneous": spec.is_homogeneous,
        "partitions": {uuid_text(topic): count for topic, count in spec.partitions.items()},
        "members": [
            {
                "id": member_id,
                "instance": member.instance_id,
                "topics": [uuid_text(topic) for topic in member.topics],
                "assigned": [[uuid_text(topic), sorted(numbers)] for topic, numbers in member.assigned.items()],
            }
            for member_id, member in spec.members.items()
        ],
    }


def plain(targets: dict[str, Any]) -> dict[str, dict[str, list[int]]]:
    return {
        member_id: {uuid_text(topic): sorted(numbers) for topic, numbers in target.items()}
        for member_id, target in targets.items()
    }
