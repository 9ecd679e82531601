"""For all histories of a streams group: one owner per active task, progress, and the same group after a replay.

Clients follow the protocol. They may be slow, crash, or lose answers. Topics come and go. The broker may be killed, and
its disk may refuse records.
"""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.broker.groups.consumer.consumer_stage import replayed
from tests.broker.groups.streams.streams_stage import (
    GROUP,
    INTERVAL,
    SESSION,
    StreamsClient,
    StreamsStage,
)

from kafkawire.broker.groups.streams.group import StreamsGroup, StreamsState
from kafkawire.broker.groups.streams.settings import StreamsTiming
from kafkawire.broker.groups.streams.tasks import TaskId, TaskSet, each_task
from kafkawire.messages.errors import KafkaError, KafkaStorageError

TOPICS = ("lines", "by-word", "counts")
WHO = st.integers(0, 4)
STEPS = st.one_of(
    st.tuples(st.just("join"), st.integers(0, 2)),
    st.tuples(st.just("poll"), WHO, st.booleans()),
    st.tuples(st.just("lose an answer"), WHO),
    st.tuples(st.just("leave"), WHO),
    st.tuples(st.just("crash"), WHO),
    st.tuples(st.just("create"), st.sampled_from(TOPICS), st.integers(1, 5)),
    st.tuples(st.just("delete"), st.sampled_from(TOPICS)),
    st.tuples(st.just("standbys"), st.integers(0, 2)),
    st.tuples(st.just("time"), st.sampled_from([0, 500, 1_000, 5_000, SESSION])),
    st.tuples(st.just("disk"), st.booleans()),
    st.tuples(st.just("kill")),
    st.tuples(st.just("everyone polls")),
)
HISTORIES = st.lists(STEPS, min_size=10, max_size=60)
TIMING = StreamsTiming(SESSION, INTERVAL, 1_000, 3_000, 0)
OPENING = (
    *(("create", name, 4) for name in TOPICS),
    *(("join", 0), ("join", 1), ("time", 5_000), ("everyone polls",), ("time", 1_000), ("everyone polls",)),
)


class SlowClient(StreamsClient):
    """A client that goes on with tasks that it has to give up until it is done with them."""

    waiting: TaskSet | None = None

    def take(self, tasks: TaskSet) -> None:
        gives_up = any(set(each_task(had)) - set(each_task(has)) for had, has in zip(self.tasks, tasks, strict=True))
        if gives_up and self.epoch:
            self.waiting = tasks
        else:
            self.tasks, self.waiting = tasks, None

    def finish(self) -> None:
        """Give up what is to be given up, and take the rest over."""
        if self.waiting is not None:
            self.tasks, self.waiting = self.waiting, None


class History:
    """A group and its clients."""

    def __init__(self) -> None:
        self.stage = StreamsStage(TIMING)
        self.clients: list[SlowClient] = []
        self.joined = 0
        for step in OPENING:
            self.do(step)

    @property
    def group(self) -> StreamsGroup | None:
        group = self.stage.coordinator.find(GROUP)
        assert group is None or isinstance(group, StreamsGroup)
        return group

    def do(self, step: tuple[object, ...]) -> None:
        stage = self.stage
        match step:
            case ("join", int(process)):
                self.joined += 1
                client = SlowClient(stage, f"m{self.joined}", f"p{process}")
                client.poll()
                self.clients.append(client)
            case ("poll", int(who), bool(finishes)) if self.clients:
                client = self.clients[who % len(self.clients)]
                if finishes:
                    client.finish()
                client.poll(stage=stage)
            case ("lose an answer", int(who)) if self.clients:
                client = self.clients[who % len(self.clients)]
                before = client.epoch, client.tasks, client.waiting
                client.poll(stage=stage)
                client.epoch, client.tasks, client.waiting = before
            case ("leave", int(who)) if self.clients:
                client = self.clients[who % len(self.clients)]
                client.stage = stage
                try:
                    client.leave()
                except KafkaError:
                    return
                self.clients.remove(client)
            case ("crash", int(who)) if self.clients:
                self.clients.pop(who % len(self.clients))
            case ("create", str(name), int(partitions)) if name not in stage.topics:
                stage.create(name, partitions=partitions)
            case ("delete", str(name)) if name in stage.topics:
                stage.topics.remove(stage.topics.get(name))
            case ("standbys", int(number)):
                stage.timing = stage.timing._replace(standbys=number)
            case ("time", int(milliseconds)):
                stage.pass_time(milliseconds)
            case ("disk", bool(works)):
                stage.log.failure = None if works else KafkaStorageError("disk")
            case ("kill",):
                self.check_replay()
                stage.log.failure = None
                self.stage = stage.restarted()
            case ("everyone polls",):
                self.everyone_polls()

    def everyone_polls(self) -> None:
        for client in self.clients:
            client.finish()
            client.poll(stage=self.stage)

    def check(self) -> None:
        group = self.group
        if group is None:
            return
        self.check_owners(group)
        self.check_clients(group)

    def check_owners(self, group: StreamsGroup) -> None:
        """No active task is owned by two members, no task runs twice in a process, and the indexes are right."""
        active: dict[TaskId, str] = {}
        copies: dict[TaskId, set[str]] = {}
        in_process: set[tuple[str, TaskId]] = set()
        for member in group.members.values():
            for owned in (member.assigned, member.revoking):
                for task in each_task(owned.active):
                    assert task not in active, (task, member, group)
                    active[task] = member.member_id
                    assert (member.process_id, task) not in in_process
                    in_process.add((member.process_id, task))
                for task in each_task(owned.standby):
                    copies.setdefault(task, set()).add(member.member_id)
                    assert (member.process_id, task) not in in_process
                    in_process.add((member.process_id, task))
        assert group.active == active
        assert group.copies == copies

    def check_clients(self, group: StreamsGroup) -> None:
        """No two clients that are members run the same active task."""
        running: dict[TaskId, str] = {}
        for client in self.clients:
            member = group.members.get(client.member_id)
            if member is None or client.epoch not in (member.epoch, member.previous_epoch):
                continue
            for task in each_task(client.tasks.active):
                assert task not in running, (client.member_id, running)
                running[task] = client.member_id

    def check_replay(self) -> None:
        """The log leads to the same group."""
        found = next((group for group in replayed(self.stage.log) if group.group_id == GROUP), None)
        group = self.group
        if group is None:
            assert found is None
        else:
            assert isinstance(found, StreamsGroup)
            assert kept(found) == kept(group)


def kept(group: StreamsGroup) -> dict[str, object]:
    """The state of a group that a restart keeps."""
    passing = {"checked_topics", "configured", "shutdown_by", "endpoints_epoch"}
    return {name: value for name, value in vars(group).items() if name not in passing}


@settings(max_examples=100, deadline=None)
@given(HISTORIES)
def test_tasks_have_one_owner_and_the_log_has_the_group(steps: list[tuple[object, ...]]) -> None:
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
    for name in TOPICS:
        if name in history.stage.topics:
            history.stage.topics.remove(history.stage.topics.get(name))
    history.stage.create(*TOPICS, partitions=4)
    for _ in range(SESSION // INTERVAL + 15):
        history.everyone_polls()
        history.stage.pass_time(INTERVAL)
        history.check()
    group = history.group
    if not history.clients:
        assert group is None or not group.members
        return
    assert group is not None
    assert group.state is StreamsState.STABLE
    running = [task for client in history.clients for task in each_task(client.tasks.active)]
    assert sorted(running) == [(name, number) for name in ("0", "1") for number in range(4)]
    processes = len({client.process for client in history.clients})
    standbys = [task for client in history.clients for task in each_task(client.tasks.standby)]
    assert len(standbys) == 4 * min(history.stage.timing.standbys, processes - 1)
