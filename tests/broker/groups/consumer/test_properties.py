"""For all histories of a consumer group: one owner per partition, progress, and the same group after a replay.

Clients follow the protocol. They may be slow, crash, lose answers, or be of the classic protocol. The broker may be
killed, and its disk may refuse records.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.groups.consumer.consumer_stage import GROUP, INTERVAL, SESSION, Client, Stage, replayed
from tests.broker.groups.consumer.test_migration import ClassicClient

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.consumer.group import ConsumerGroup, ConsumerState
from kafkawire.messages.errors import ErrorCode, KafkaError, KafkaStorageError

if TYPE_CHECKING:
    from uuid import UUID

    from kafkawire.broker.groups.kinds import AnyGroup

TOPICS = ("a", "b", "c")
WHO = st.integers(0, 4)
SUBSCRIPTIONS = st.sampled_from([("a",), ("a", "b"), ("b",), ("a", "b", "c"), ()])
STEPS = st.one_of(
    st.tuples(st.just("join"), SUBSCRIPTIONS, st.sampled_from([None, "one"]), st.sampled_from([None, "[ab]", "c.*"])),
    st.tuples(st.just("poll"), WHO, st.booleans()),
    st.tuples(st.just("rounds"), st.integers(1, 3)),
    st.tuples(st.just("lose an answer"), WHO),
    st.tuples(st.just("subscribe"), WHO, SUBSCRIPTIONS),
    st.tuples(st.just("leave"), WHO, st.sampled_from([-1, -2])),
    st.tuples(st.just("crash"), WHO),
    st.tuples(st.just("create"), st.sampled_from(TOPICS), st.integers(1, 5)),
    st.tuples(st.just("grow"), st.sampled_from(TOPICS)),
    st.tuples(st.just("delete"), st.sampled_from(TOPICS)),
    st.tuples(st.just("time"), st.sampled_from([0, 500, 1_000, 5_000, 11_000, SESSION])),
    st.tuples(st.just("disk"), st.booleans()),
    st.tuples(st.just("kill")),
    st.tuples(st.just("everyone polls")),
)
HISTORIES = st.lists(STEPS, min_size=10, max_size=60)
CLASSIC_STEPS = st.one_of(
    STEPS, st.tuples(st.just("join classic"), SUBSCRIPTIONS), st.tuples(st.just("classic leaves"), WHO)
)
CLASSIC_HISTORIES = st.lists(CLASSIC_STEPS, min_size=10, max_size=60)


OPENING = (
    *(("create", "a", 4), ("create", "b", 3), ("join", ("a", "b"), None, None), ("join", ("a",), "one", None)),
    *(("time", 1_000), ("everyone polls",), ("time", 1_000)),
)


class SlowClient(Client):
    """A client that goes on consuming what it has to give up until it is done with it."""

    waiting: dict[UUID, frozenset[int]] | None = None

    def take(self, assignment: dict[UUID, frozenset[int]]) -> None:
        gives_up = any(not numbers <= assignment.get(topic, frozenset()) for topic, numbers in self.owned.items())
        if gives_up and self.epoch:
            self.waiting = assignment
        else:
            self.owned, self.waiting = assignment, None

    def finish(self) -> None:
        """Give up what is to be given up, and take the rest over."""
        if self.waiting is not None:
            self.owned, self.waiting = self.waiting, None


class History:
    """A group and its clients."""

    def __init__(self) -> None:
        self.stage = Stage()
        self.clients: list[SlowClient] = []
        self.classic: list[ClassicClient] = []
        self.joined = 0
        for step in OPENING:
            self.do(step)

    @property
    def group(self) -> AnyGroup | None:
        return self.stage.coordinator.find(GROUP)

    def do(self, step: tuple[object, ...]) -> None:
        stage = self.stage
        match step:
            case ("join", tuple(topics), instance, regex):
                self.joined += 1
                said = {key: value for key, value in (("instance_id", instance), ("regex", regex)) if value is not None}
                client = SlowClient(stage, f"m{self.joined}", topics, **said)
                client.poll()
                self.clients.append(client)
            case ("poll", int(who), bool(finishes)) if self.clients:
                client = self.clients[who % len(self.clients)]
                if finishes:
                    client.finish()
                client.poll(stage=stage)
            case ("lose an answer", int(who)) if self.clients:
                client = self.clients[who % len(self.clients)]
                before = client.epoch, client.owned, client.waiting
                client.poll(stage=stage)
                client.epoch, client.owned, client.waiting = before
            case ("subscribe", int(who), tuple(topics)) if self.clients:
                self.clients[who % len(self.clients)].topics = frozenset(topics)
            case ("leave", int(who), int(epoch)) if self.clients:
                client = self.clients[who % len(self.clients)]
                client.stage = stage
                if epoch == -1 or "instance_id" in client.said:
                    try:
                        client.leave(epoch)
                    except KafkaError:
                        return
                    self.clients.remove(client)
            case ("crash", int(who)) if self.clients:
                self.clients.pop(who % len(self.clients))
            case ("create", str(name), int(partitions)) if name not in stage.topics:
                stage.create(name, partitions)
            case ("grow", str(name)) if name in stage.topics:
                stage.topics.grow(stage.topics.get(name), stage.topics.get(name).partitions + 2)
            case ("delete", str(name)) if name in stage.topics:
                stage.topics.remove(stage.topics.get(name))
            case ("time", int(milliseconds)):
                stage.pass_time(milliseconds)
            case ("disk", bool(works)):
                stage.log.failure = None if works else KafkaStorageError("disk")
            case ("kill",):
                self.check_replay()
                stage.log.failure = None
                ids = stage.ids
                self.stage = stage.restarted()
                self.stage.ids = ids
                for classic in self.classic:
                    classic.stage = self.stage
            case ("everyone polls",):
                self.everyone_polls()
            case ("rounds", int(rounds)):
                for _ in range(rounds):
                    self.everyone_polls()
                    self.check()
                    self.stage.pass_time(1_000)
            case ("join classic", tuple(topics)):
                classic = ClassicClient(stage, *topics)
                if not classic.join() and classic.generation >= 0:
                    self.classic.append(classic)
            case ("classic leaves", int(who)) if self.classic:
                classic = self.classic.pop(who % len(self.classic))
                stage.leave(classic.member_id)

    def everyone_polls(self) -> None:
        for client in self.clients:
            client.finish()
            client.poll(stage=self.stage)
        for classic in self.classic:
            if isinstance(self.group, ConsumerGroup) and classic.member_id in self.group.members:
                classic.poll()

    def check(self) -> None:
        group = self.group
        if isinstance(group, ConsumerGroup):
            self.check_owners(group)
            self.check_clients(group)

    def check_owners(self, group: ConsumerGroup) -> None:
        """No partition is owned by two members, and the index of owners is that of the members."""
        owners: dict[tuple[object, int], str] = {}
        for member in group.members.values():
            for owned in (member.assigned, member.revoking):
                for topic, partitions in owned.items():
                    for partition in partitions:
                        assert (topic, partition) not in owners, (topic, partition, member, group)
                        owners[topic, partition] = member.member_id
        found = {(topic, one): owner for topic, partitions in group.owners.items() for one, owner in partitions.items()}
        assert found == owners

    def check_clients(self, group: ConsumerGroup) -> None:
        """No two clients that are members consume the same partition."""
        consumed: dict[tuple[object, int], str] = {}
        for client in self.clients:
            member = group.members.get(client.member_id)
            if member is None or client.epoch not in (member.epoch, member.previous_epoch):
                continue
            for topic, partitions in client.owned.items():
                for partition in partitions:
                    assert (topic, partition) not in consumed, (client.member_id, consumed)
                    consumed[topic, partition] = client.member_id

    def check_replay(self) -> None:
        """The log leads to the same group."""
        found = next((group for group in replayed(self.stage.log) if group.group_id == GROUP), None)
        group = self.group
        if isinstance(group, ConsumerGroup):
            assert isinstance(found, ConsumerGroup)
            assert kept(found) == kept(group)
        elif group is not None and group.members and group.state.value == "Stable":
            assert isinstance(found, Group)
            assert found.members.keys() == group.members.keys()


def kept(group: ConsumerGroup) -> dict[str, object]:
    """The state of a group that a restart keeps."""
    passing = {"checked_topics", "resolved_topics", "is_resolving"}
    return {name: value for name, value in vars(group).items() if name not in passing}


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_partitions_have_one_owner_and_the_log_has_the_group(steps: list[tuple[object, ...]]) -> None:
    history = History()
    for step in steps:
        history.do(step)
        history.check()
    history.check_replay()


@settings(max_examples=60, deadline=None)
@given(CLASSIC_HISTORIES)
def test_partitions_have_one_owner_in_groups_of_both_protocols(steps: list[tuple[object, ...]]) -> None:
    history = History()
    for step in steps:
        history.do(step)
        history.check()
    history.check_replay()


@settings(max_examples=60, deadline=None)
@given(HISTORIES)
def test_group_becomes_stable_when_its_clients_keep_polling(steps: list[tuple[object, ...]]) -> None:
    history = History()
    for step in steps:
        history.do(step)
    history.stage.log.failure = None
    names: set[object] = set()
    for client in list(history.clients):
        name = client.said.get("instance_id")
        if name is not None and name in names:
            history.clients.remove(client)  # two processes with one name fence each other for ever
        names.add(name)
    for _ in range(SESSION // INTERVAL + 15):
        history.everyone_polls()
        history.stage.pass_time(INTERVAL)
        history.check()
    group = history.group
    if not history.clients:
        assert group is None or not group.members
        return
    assert isinstance(group, ConsumerGroup)
    assert group.state is ConsumerState.STABLE
    subscribed = {name for name in group.subscribed_topics if name in history.stage.topics}
    expected = {(name, each) for name in subscribed for each in range(history.stage.topics.get(name).partitions)}
    consumed = [place for client in history.clients for place in client.partitions]
    assert sorted(consumed) == sorted(expected)


def test_classic_members_of_the_history_join() -> None:
    history = History()
    history.do(("create", "a", 3))
    history.do(("join", ("a",), None, None))
    history.do(("join classic", ("a",)))
    assert history.classic
    assert isinstance(history.group, ConsumerGroup)
    assert history.stage.heartbeat(history.classic[0].member_id, 99) == ErrorCode.ILLEGAL_GENERATION
