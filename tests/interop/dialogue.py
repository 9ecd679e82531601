"""A conversation with two brokers: each request builds on the last answer, and both must go the same way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.interop.answers import common_versions, comparable, differences
from tests.interop.waiting import until

from kafkawire import messages as m

if TYPE_CHECKING:
    from collections.abc import Callable
    from uuid import UUID

    from tests.interop.answers import Asked

    from kafkawire.messages import Message


class Talk:
    """A conversation with one broker in the oldest, a middle or the newest versions, and what was said in it."""

    def __init__(self, broker: Asked, other: Asked, age: float) -> None:
        self._broker, self._other, self._age = broker, other, age
        self.said: list[tuple[str, Any]] = []

    def version(self, name: str, most: int = 1 << 15) -> int:
        found = [version for version in common_versions(name, self._broker, self._other) if version <= most]
        return found[round((len(found) - 1) * self._age)]

    def ask(self, request: Message, *, most: int = 1 << 15) -> Any:
        """Ask, and note the answer; `most` is the last version to use."""
        name, version, answer = self._ask(request, most)
        self.said.append((f"{name} v{version}", comparable(answer, version)))
        return answer

    def wait(self, request: Message, is_done: Callable[[Any], bool]) -> None:
        """Ask until the answer is the one that is waited for; both brokers take their own time."""
        until(lambda: is_done(self._ask(request, 1 << 15)[2]))

    def topic_id(self, topic: str) -> UUID:
        wanted = m.MetadataRequest.MetadataRequestTopic(name=topic)
        answer: Any = self._broker.ask(m.MetadataRequest(topics=[wanted]), 12)
        found: UUID = answer.topics[0].topic_id
        return found

    def _ask(self, request: Message, most: int) -> tuple[str, int, Any]:
        name = type(request).__schema__.name.removesuffix("Request")
        version = self.version(name, most)
        return name, version, self._broker.ask(request, version)


def compare(both: tuple[Asked, Asked], age: float, talk: Callable[[Talk], None]) -> None:
    """Have the same conversation with both brokers; nothing that they say may differ."""
    ours, theirs = Talk(both[0], both[1], age), Talk(both[1], both[0], age)
    talk(ours)
    talk(theirs)
    assert [name for name, _ in ours.said] == [name for name, _ in theirs.said]
    different = [
        f"{name} {each}"
        for (name, our), (_, their) in zip(ours.said, theirs.said, strict=True)
        for each in differences(our, their)
    ]
    assert not different, "\n".join(different)


def create_topic(broker: Asked, name: str, partitions: int) -> None:
    """Create a topic, and wait until it has leaders."""
    topic = m.CreateTopicsRequest.CreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    broker.ask(m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 5)
    until(lambda: _leaders(broker, name) == [1] * partitions)


def _leaders(broker: Asked, name: str) -> list[int]:
    wanted = m.MetadataRequest.MetadataRequestTopic(name=name)
    answer: Any = broker.ask(m.MetadataRequest(topics=[wanted]), 12)
    return [each.leader_id for each in answer.topics[0].partitions]


def has_coordinator(broker: Asked, group: str) -> bool:
    """Whether groups can be used; asking creates their topic."""
    broker.ask(m.FindCoordinatorRequest(key=group), 0)
    answer: Any = broker.ask(m.DescribeGroupsRequest(groups=[group]), 0)
    return answer.groups[0].error_code not in (14, 15, 16)
