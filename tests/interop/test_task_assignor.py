"""The assignor of tasks against Apache Kafka's own class, on the same random histories of streams groups."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.apache_kafka import JARS
from tests.interop.drivers import JavaCoordinator

from kafkawire.broker.groups.streams.configuration import ConfiguredSubtopology, InternalTopic
from kafkawire.broker.groups.streams.sticky import MemberSpec, assign
from kafkawire.broker.groups.streams.tasks import NO_TASKS, TaskSet

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.apache_kafka import ApacheKafka

    from kafkawire.broker.groups.streams.tasks import Tasks

pytestmark = pytest.mark.interop
ROUNDS = 40


@pytest.fixture(scope="module")
def java(kafka: ApacheKafka, tmp_path_factory: pytest.TempPathFactory) -> Iterator[JavaCoordinator]:
    clients = JavaCoordinator(JARS, tmp_path_factory.mktemp("tasks") / "java.log")
    yield clients
    clients.close()


@pytest.mark.parametrize("seed", range(12))
def test_targets_are_those_of_apache_kafka(java: JavaCoordinator, seed: int) -> None:
    history = History(random.Random(seed))
    for _ in range(ROUNDS):
        members, subtopologies, standbys = history.change()
        found = assign(members, subtopologies, standbys)
        asked = {
            "standbys": standbys,
            "subtopologies": {name: [each.tasks, each.is_stateful] for name, each in subtopologies.items()},
            "members": [
                {"id": name, "process": each.process_id, **described(each.target)} for name, each in members.items()
            ],
        }
        theirs = java.call("assign tasks", **asked)
        assert {name: [plain(target.active), plain(target.standby)] for name, target in found.items()} == theirs
        history.targets = found


class History:
    """A group whose members and subtopologies come and go."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._subtopologies: dict[str, ConfiguredSubtopology] = {}
        self._members: dict[str, str] = {}
        self._standbys = 0
        self.targets: dict[str, TaskSet] = {}

    def change(self) -> tuple[dict[str, MemberSpec], dict[str, ConfiguredSubtopology], int]:
        chance = self._chance
        if not self._subtopologies or chance.random() < 0.2:
            name = str(chance.randrange(15))
            self._subtopologies[name] = subtopology(chance.choice((1, 2, 5, 12, 40)), is_stateful=chance.random() < 0.6)
        for _ in range(chance.choice((0, 1, 1, 3, 20)) or not self._members):
            self._members[f"{chance.getrandbits(64):x}"] = f"process-{chance.randrange(chance.choice((1, 3, 30)))}"
        for _ in range(min(len(self._members) - 1, chance.choice((0, 0, 1, 6)))):
            del self._members[chance.choice([*self._members])]
        if chance.random() < 0.2:
            self._standbys = chance.choice((0, 1, 2))
        members = {
            name: MemberSpec(process, self.targets.get(name, NO_TASKS)) for name, process in self._members.items()
        }
        return members, dict(sorted(self._subtopologies.items())), self._standbys


def subtopology(tasks: int, *, is_stateful: bool) -> ConfiguredSubtopology:
    changelogs = {"log": InternalTopic("log", tasks, 1, {})} if is_stateful else {}
    return ConfiguredSubtopology(tasks, frozenset({"in"}), frozenset(), {}, changelogs)


def described(target: TaskSet) -> dict[str, Any]:
    return {"active": plain(target.active), "standby": plain(target.standby)}


def plain(tasks: Tasks) -> dict[str, list[int]]:
    return {name: sorted(partitions) for name, partitions in tasks.items()}
