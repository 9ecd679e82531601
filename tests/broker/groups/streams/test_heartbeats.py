"""Heartbeats of streams groups: topologies, statuses, reconciliation, commits and the life of a group."""

from __future__ import annotations

import pytest
from tests.broker.groups.streams.streams_stage import (
    AT_ONCE,
    GROUP,
    INTERVAL,
    REBALANCE,
    SESSION,
    WORDS,
    StreamsStage,
    settle,
)

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.consumer.group import ConsumerGroup
from kafkawire.broker.groups.protocol import MemberKey
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.broker.groups.streams.commits import check_streams_commit, check_streams_fetch
from kafkawire.broker.groups.streams.configuration import StatusCode
from kafkawire.broker.groups.streams.member import Endpoint
from kafkawire.broker.groups.streams.tasks import TaskSet
from kafkawire.broker.groups.streams.topology import Subtopology, Topology
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

ALL = frozenset(range(4))


@pytest.fixture
def stage() -> StreamsStage:
    stage = StreamsStage()
    stage.create("lines", "by-word", "counts")
    return stage


def test_one_member_gets_all_tasks(stage: StreamsStage) -> None:
    client = stage.client("a")
    assert client.tasks == TaskSet({"0": ALL, "1": ALL})
    assert stage.streams.state.value == "Stable"


def test_members_share_tasks_after_giving_them_up(stage: StreamsStage) -> None:
    one, other = stage.client("a"), stage.client("b")
    assert (other.tasks, stage.streams.state.value) == (TaskSet(), "Reconciling")
    settle(stage, one, other)
    assert stage.streams.state.value == "Stable"
    for name in ("0", "1"):
        assert one.tasks.active[name] | other.tasks.active[name] == ALL
        assert len(one.tasks.active[name]) == len(other.tasks.active[name]) == 2


def test_missing_topics_keep_a_group_from_running() -> None:
    stage = StreamsStage()
    client = stage.client("a")
    assert client.statuses == [StatusCode.MISSING_SOURCE_TOPICS]
    assert stage.streams.state.value == "NotReady"
    stage.create("lines", partitions=3)
    result = client.poll()
    assert result is not None
    assert client.statuses == [StatusCode.MISSING_INTERNAL_TOPICS]
    assert result.missing is not None
    assert {topic.name: topic.partitions for topic in result.missing.values()} == {"by-word": 3, "counts": 3}
    stage.create("by-word", partitions=3)
    stage.create("counts", partitions=2)
    client.poll()
    assert client.statuses == [StatusCode.INCORRECTLY_PARTITIONED_TOPICS]
    stage.topics.grow(stage.topics.get("counts"), 3)
    settle(stage, client)
    assert (client.statuses, stage.streams.state.value) == ([], "Stable")
    assert client.tasks.active == {"0": frozenset(range(3)), "1": frozenset(range(3))}


def test_member_with_an_older_topology_is_told_so(stage: StreamsStage) -> None:
    stage.client("a", topology=Topology(2, WORDS.subtopologies))
    other = stage.client("b")
    assert other.statuses == [StatusCode.STALE_TOPOLOGY]
    changed = Topology(2, {"0": Subtopology("0", ("lines",))})
    assert stage.refused("c", 0, topology=changed, rebalance_timeout=1) is ErrorCode.INVALID_REQUEST
    assert "c" not in stage.streams.members


def test_members_that_start_together_share_the_first_assignment(stage: StreamsStage) -> None:
    stage.timing = AT_ONCE._replace(initial_delay=3_000)
    one, other = stage.client("a"), stage.client("b")
    for client in (one, other):
        assert (client.statuses, client.tasks) == ([StatusCode.ASSIGNMENT_DELAYED], TaskSet())
    one.poll()
    stage.pass_time(3_000)
    assert stage.streams.assignment_epoch == stage.streams.epoch
    epoch = stage.streams.epoch
    settle(stage, one, other)
    assert (stage.streams.epoch, stage.streams.state.value) == (epoch, "Stable")
    assert [len(each.tasks.active["0"]) for each in (one, other)] == [2, 2]


def test_new_targets_wait_for_the_assignment_interval(stage: StreamsStage) -> None:
    stage.timing = AT_ONCE._replace(assignment_interval=1_000)
    stage.client("a")
    other = stage.client("b")
    assert other.statuses == [StatusCode.ASSIGNMENT_DELAYED]
    stage.pass_time(1_000)
    other.poll()
    assert other.statuses == []
    assert stage.streams.assignment_epoch == stage.streams.epoch


def test_request_to_shut_down_reaches_everyone_until_the_group_is_empty(stage: StreamsStage) -> None:
    one, other = stage.client("a"), stage.client("b")
    stage.beat("a", one.epoch, shuts_down=True)
    other.poll()
    assert other.statuses == [StatusCode.SHUTDOWN_APPLICATION]
    one.leave()
    other.leave()
    assert stage.client("c").statuses == []


@pytest.mark.parametrize(("after", "is_gone"), [(SESSION - 1, False), (SESSION, True)])
def test_silent_member_is_dropped(stage: StreamsStage, after: int, *, is_gone: bool) -> None:
    stage.client("a")
    stage.pass_time(after)
    assert (not stage.streams.members) == is_gone


def test_member_that_does_not_give_tasks_up_is_dropped(stage: StreamsStage) -> None:
    stubborn, other = stage.client("a"), stage.client("b")
    for _ in range(REBALANCE // INTERVAL):
        stage.beat("a", stubborn.epoch)
        other.poll()
        stage.pass_time(INTERVAL)
    settle(stage, other)
    assert list(stage.streams.members) == ["b"]
    assert other.tasks.active == {"0": ALL, "1": ALL}


def test_standbys_run_in_other_processes(stage: StreamsStage) -> None:
    stage.timing = AT_ONCE._replace(standbys=1)
    clients = [stage.client("a", "p"), stage.client("b", "p"), stage.client("c", "q")]
    settle(stage, *clients)
    assert stage.streams.state.value == "Stable"
    standbys = [number for each in clients for number in each.tasks.standby.get("1", ())]
    assert sorted(standbys) == [0, 1, 2, 3]
    assert not any("0" in each.tasks.standby for each in clients), "a subtopology without state has no standbys"
    in_p = clients[0].tasks.active.get("1", frozenset()) | clients[1].tasks.active.get("1", frozenset())
    assert clients[2].tasks.standby["1"] == in_p


def test_lost_answer_is_repeated_but_not_with_other_tasks(stage: StreamsStage) -> None:
    client = stage.client("a")
    before = client.epoch
    stage.client("b")
    owned = client.tasks
    kept = stage.beat("a", before, owned=owned).tasks
    assert kept is not None
    fewer = TaskSet({name: frozenset(each) for name, each in kept.active.items()})
    after = stage.beat("a", before, owned=fewer).epoch
    assert after > before
    assert stage.refused("a", before, owned=fewer) is ErrorCode.NONE
    assert stage.refused("a", before, owned=owned) is ErrorCode.FENCED_MEMBER_EPOCH
    assert stage.refused("a", before) is ErrorCode.FENCED_MEMBER_EPOCH
    assert stage.refused("a", after + 1) is ErrorCode.FENCED_MEMBER_EPOCH


def test_tasks_that_do_not_exist_are_refused(stage: StreamsStage) -> None:
    client = stage.client("a")
    for active in ({"0": {4}}, {"0": {-1}}, {"7": {0}}):
        assert stage.refused("a", client.epoch, owned=TaskSet(active)) is ErrorCode.INVALID_REQUEST


def test_endpoints_are_listed_when_they_have_changed(stage: StreamsStage) -> None:
    client = stage.client("a", endpoint=Endpoint("host", 80))
    result = client.poll()
    assert result is not None
    assert (result.endpoints_epoch, result.endpoints) == (0, None)
    other = stage.beat("b", 0, topology=WORDS, rebalance_timeout=REBALANCE, process_id="b")
    assert (other.endpoints_epoch, other.endpoints) == (0, None)
    result = client.poll()
    assert result is not None
    assert result.endpoints_epoch == 1
    assert result.endpoints is not None
    ((endpoint, active, standby),) = result.endpoints
    assert (endpoint, standby) == (Endpoint("host", 80), [])
    assert [topic for topic, _ in active] == ["lines", "by-word"]


def test_offsets_are_committed_in_the_epoch_of_a_task(stage: StreamsStage) -> None:
    client = stage.client("a")
    group = stage.streams
    places = [("lines", 0), ("by-word", 1)]
    assert check_streams_commit(group, MemberKey("a", client.epoch), places) is ErrorCode.NONE
    assert check_streams_commit(group, MemberKey("a", client.epoch), places, version=8) is ErrorCode.UNSUPPORTED_VERSION
    assert check_streams_commit(group, MemberKey("a", client.epoch + 1), places) is ErrorCode.STALE_MEMBER_EPOCH
    assert check_streams_commit(group, MemberKey("b", 1), places) is ErrorCode.UNKNOWN_MEMBER_ID
    assert check_streams_commit(group, MemberKey("", -1), places) is ErrorCode.UNKNOWN_MEMBER_ID
    first = client.epoch
    settle(stage, client, stage.client("b"))
    kept = [("lines", number) for number in client.tasks.active["0"]]
    assert client.epoch > first
    assert check_streams_commit(group, MemberKey("a", first), kept) is ErrorCode.NONE
    assert check_streams_commit(group, MemberKey("a", first - 1), kept) is ErrorCode.STALE_MEMBER_EPOCH
    for refused in ([("lines", number) for number in range(4)], [("counts", 0)]):
        assert check_streams_commit(group, MemberKey("a", first), refused) is ErrorCode.STALE_MEMBER_EPOCH
    assert check_streams_fetch(group, None, -1) is ErrorCode.NONE
    assert check_streams_fetch(group, "a", client.epoch) is ErrorCode.NONE
    assert check_streams_fetch(group, "a", first) is ErrorCode.STALE_MEMBER_EPOCH
    assert check_streams_fetch(group, "x", first) is ErrorCode.UNKNOWN_MEMBER_ID


def test_group_takes_the_place_of_an_empty_classic_one_and_gives_it_back(stage: StreamsStage) -> None:
    stage.commit(("lines", 0), 5)
    client = stage.client("a")
    assert stage.streams.offsets["lines", 0].offset == 5
    assert stage.join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert stage.heartbeat("a", client.epoch) is ErrorCode.UNKNOWN_MEMBER_ID
    assert stage.sync("a", client.epoch).error is ErrorCode.UNKNOWN_MEMBER_ID
    client.leave()
    stage.join()
    assert isinstance(stage.coordinator.find(GROUP), Group)
    assert stage.group.offsets["lines", 0].offset == 5
    assert stage.refused("b", 0, topology=WORDS, rebalance_timeout=1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert isinstance(stage.restarted().coordinator.find(GROUP), Group | None)


def test_group_without_members_is_deleted(stage: StreamsStage) -> None:
    client = stage.client("a")
    assert stage.coordinator.delete(GROUP, stage.now) is ErrorCode.NON_EMPTY_GROUP
    client.leave()
    assert stage.coordinator.delete(GROUP, stage.now) is ErrorCode.NONE
    assert stage.restarted().coordinator.find(GROUP) is None


def test_full_group_refuses_a_join() -> None:
    stage = StreamsStage(settings=GroupSettings(streams_max_size=1))
    stage.create("lines", "by-word", "counts")
    stage.client("a")
    said = {"topology": WORDS, "rebalance_timeout": 1}
    assert stage.refused("b", 0, **said) is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_heartbeat_that_cannot_be_written_changes_nothing(stage: StreamsStage) -> None:
    client = stage.client("a")
    group = stage.streams
    before = dict(group.members), dict(group.targets), group.epoch
    stage.log.failure = KafkaStorageError("disk")
    assert stage.refused("b", 0, topology=WORDS, rebalance_timeout=1) is ErrorCode.NOT_COORDINATOR
    assert (dict(group.members), dict(group.targets), group.epoch) == before
    stage.log.failure = None
    settle(stage, client, stage.client("b"))
    assert group.state.value == "Stable"


def test_other_kinds_of_groups_are_not_streams_groups(stage: StreamsStage) -> None:
    stage.coordinator._groups[GROUP] = ConsumerGroup(GROUP)
    assert stage.refused("a", 0, topology=WORDS, rebalance_timeout=1) is ErrorCode.GROUP_ID_NOT_FOUND
    assert stage.refused("a", -1) is ErrorCode.GROUP_ID_NOT_FOUND
