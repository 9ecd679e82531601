"""For all actions of members, in any order: nobody waits for ever, one member leads, generations only grow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import example, given, settings
from hypothesis import strategies as st
from tests.broker.groups.manual_coordinator import GROUP, ManualCoordinator, Request, subscription

from kafkawire.broker.groups.classic.group import Group
from kafkawire.broker.groups.classic.states import State
from kafkawire.broker.groups.protocol import JoinResult, Protocol
from kafkawire.broker.groups.settings import GroupSettings
from kafkawire.messages.errors import ErrorCode, KafkaStorageError

if TYPE_CHECKING:
    from kafkawire.broker.groups.classic.members import Member

SHORT, LONG = 6_000, 20_000
LIMIT = 30_000
PROTOCOLS = {
    "range": (Protocol("range", subscription("a")),),
    "both": (Protocol("sticky", b"s"), Protocol("range", subscription("b"))),
    "sticky": (Protocol("sticky", b"t"),),
}
WHO = st.integers(0, 5)
STEPS = st.one_of(
    st.tuples(st.just("join"), st.sampled_from([None, "one", "two"]), st.sampled_from(list(PROTOCOLS)), st.booleans()),
    st.tuples(st.just("rejoin"), WHO, st.sampled_from(list(PROTOCOLS))),
    st.tuples(st.just("sync"), WHO, st.integers(-1, 0)),
    st.tuples(st.just("heartbeat"), WHO, st.integers(-1, 0)),
    st.tuples(st.just("leave"), WHO),
    st.tuples(st.just("remove"), st.sampled_from(["one", "two"])),
    st.tuples(st.just("commit"), WHO),
    st.tuples(st.just("disk"), st.booleans()),
    st.tuples(st.just("time"), st.sampled_from([0, 1, 999, SHORT, LONG])),
    st.tuples(st.just("delete")),
    st.tuples(st.just("everyone joins"), st.booleans()),
    st.tuples(st.just("everyone syncs"), st.booleans()),
    st.tuples(st.just("everyone stays alive")),
)
MANY_STEPS = st.lists(STEPS, min_size=25, max_size=60)


class Play(ManualCoordinator):
    """Members that follow the protocol, with every id that they ever got."""

    def __init__(self, settings: GroupSettings) -> None:
        super().__init__(settings)
        self.instances: dict[str, str | None] = {}

    @property
    def ids(self) -> list[str]:
        for request in self.requests:
            if request.reply is not None and isinstance(request.reply.result, JoinResult):
                self.instances.setdefault(request.joined.member_id, None)
        return [member_id for member_id in self.instances if member_id] or ["ghost"]

    def do(self, step: tuple[object, ...]) -> None:
        match step:
            case ("join", None | str() as instance, str(protocols), bool(known)):
                session, rebalance = self.patience(known)
                self.join(
                    instance=instance,
                    protocols=PROTOCOLS[protocols],
                    session=session,
                    rebalance=rebalance,
                    known_id=known,
                    can_skip=known,
                )
            case ("rejoin", int(who), str(protocols)):
                member_id, instance = self.member(who)
                self.join(member_id, instance=instance, protocols=PROTOCOLS[protocols], session=LONG, rebalance=LIMIT)
            case ("sync", int(who), int(behind)):
                member_id, instance = self.member(who)
                parts = {each: each.encode() for each in self.ids}
                self.sync(member_id, self.generation + behind, parts, instance=instance)
            case ("heartbeat", int(who), int(behind)):
                member_id, instance = self.member(who)
                self.heartbeat(member_id, self.generation + behind, instance)
            case ("leave", int(who)):
                self.leave(*self.member(who))
            case ("remove", str(instance)):
                self.leave("", instance)
            case ("commit", int(who)) if self.known is not None:
                self.commit(("a", 0), 1, self.member(who)[0], self.generation)
            case ("disk", bool(works)):
                self.log.failure = None if works else KafkaStorageError()
            case ("time", int(milliseconds)):
                self.pass_time(milliseconds)
            case ("everyone joins", bool(but_one)):
                for member in self.members(but_one):
                    self.join(
                        member.member_id,
                        instance=member.instance_id,
                        protocols=member.protocols,
                        session=LONG,
                        rebalance=LIMIT,
                    )
                self.pass_time(0)
            case ("everyone syncs", bool(but_one)):
                for member in self.members(but_one):
                    parts = {each: each.encode() for each in self.ids}
                    self.sync(member.member_id, self.generation, parts, instance=member.instance_id)
            case ("everyone stays alive",):
                for _ in range(LIMIT // SHORT + 2):
                    self.pass_time(SHORT - 1)
                    for member in self.members(False):
                        self.heartbeat(member.member_id, self.generation, member.instance_id)
            case ("delete",):
                self.coordinator.delete(GROUP, self.now)

    @property
    def known(self) -> Group | None:
        group = self.coordinator.find(GROUP)
        assert group is None or isinstance(group, Group)
        return group

    @property
    def generation(self) -> int:
        return 0 if self.known is None else self.known.generation

    def member(self, who: int) -> tuple[str, str | None]:
        member_id = self.ids[who % len(self.ids)]
        member = None if self.known is None else self.known.members.get(member_id)
        return member_id, None if member is None else member.instance_id

    def members(self, but_one: bool) -> list[Member]:
        return [] if self.known is None else list(self.known.members.values())[but_one:]

    def patience(self, patient: bool) -> tuple[int, int]:
        return (LONG, LIMIT) if patient else (SHORT, SHORT)


def check_group(group: Group) -> None:
    assert (group.leader in group.members) if group.members else group.leader is None
    assert group.instances == {m.instance_id: m.member_id for m in group.members.values() if m.instance_id is not None}
    assert all(member_id == member.member_id for member_id, member in group.members.items())
    assert not group.pending & set(group.members)
    assert group.unsynced <= set(group.members)
    joining = any(member.joining is not None for member in group.members.values())
    syncing = any(member.syncing is not None for member in group.members.values())
    assert not joining or group.state is State.PREPARING
    assert not syncing or group.state is State.COMPLETING
    if group.state in (State.COMPLETING, State.STABLE):
        assert group.members
        assert group.protocol_name is not None
    if group.state is State.EMPTY:
        assert not group.members


def waited(request: Request) -> int:
    assert request.answered_at is not None, "never answered"
    return request.answered_at - request.asked_at


SESSION_ENDS_WHILE_SYNCING: list[tuple[object, ...]] = [
    ("join", None, "range", False),
    ("time", 0),
    ("join", "one", "range", False),
    ("everyone joins", False),
    ("everyone syncs", True),
]


@settings(max_examples=200)
@example(SESSION_ENDS_WHILE_SYNCING, 0)
@given(MANY_STEPS, st.sampled_from([0, 1_000]))
def test_whatever_members_do_everyone_is_answered_in_time(steps: list[tuple[object, ...]], delay: int) -> None:
    scene = Play(GroupSettings(initial_rebalance_delay_ms=delay))
    last: Group | None = None
    generation = 0
    for step in steps:
        scene.do(step)
        if scene.known is not None:
            check_group(scene.known)
            assert scene.known is not last or scene.known.generation >= generation
            last, generation = scene.known, scene.known.generation
    scene.pass_time(10 * LIMIT)
    assert scene.known is None or scene.known.state is State.EMPTY
    assert all(waited(request) <= LIMIT + delay for request in scene.requests)


@settings(max_examples=100)
@given(MANY_STEPS)
def test_a_generation_has_one_protocol_and_one_leader(steps: list[tuple[object, ...]]) -> None:
    scene = Play(GroupSettings())
    for step in steps:
        if step[0] not in ("disk", "delete"):
            scene.do(step)
    leaders: dict[int, set[str]] = {}
    protocols: dict[int, set[str | None]] = {}
    for request in scene.requests:
        if request.reply is None or not isinstance(request.reply.result, JoinResult) or request.error:
            continue
        joined = request.joined
        protocols.setdefault(joined.generation, set()).add(joined.protocol_name)
        if joined.leader == joined.member_id and not joined.skip_assignment:
            leaders.setdefault(joined.generation, set()).add(joined.member_id)
    assert all(len(told) == 1 for told in leaders.values())
    assert all(len(names) == 1 for names in protocols.values())


@settings(max_examples=100)
@given(MANY_STEPS)
def test_a_restart_finds_the_written_state(steps: list[tuple[object, ...]]) -> None:
    scene = Play(GroupSettings())
    for step in steps:
        if step[0] != "disk":
            scene.do(step)
    group, again = scene.known, scene.restarted().coordinator.find(GROUP)
    if group is None:
        assert again is None
        return
    assert (again.offsets if again is not None else {}) == group.offsets
    if group.state is State.STABLE:
        assert isinstance(again, Group)
        assert (again.generation, again.leader, again.instances) == (group.generation, group.leader, group.instances)
        parts = {member_id: member.assignment for member_id, member in group.members.items()}
        assert {member_id: member.assignment for member_id, member in again.members.items()} == parts


def test_a_member_that_is_out_of_patience_at_once_still_gets_an_answer() -> None:
    scene = ManualCoordinator()
    for rebalance in (0, -1, -(2**31)):
        request = scene.join(rebalance=rebalance)
        scene.pass_time(0)
        assert request.error in (ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID)
