"""The pure state of a member of the consumer protocol: requests, answers, errors, steps."""

from __future__ import annotations

import math
import random
from typing import Any
from uuid import UUID

import pytest

from kafkawire.client._consume.member_state import MemberState, Phase, Reaction
from kafkawire.messages import ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse
from kafkawire.messages.errors import ErrorCode, error_for

T, U = UUID(int=1), UUID(int=2)
NAMES = {T: "t", U: "u"}


def answer(epoch: int, *assigned: tuple[UUID, int], keep: bool = False) -> ConsumerGroupHeartbeatResponse:
    response = ConsumerGroupHeartbeatResponse(member_id="m", member_epoch=epoch, heartbeat_interval_ms=5000)
    if not keep:
        response.assignment = ConsumerGroupHeartbeatResponse.Assignment(
            topic_partitions=[
                ConsumerGroupHeartbeatResponse.TopicPartitions(topic_id=topic, partitions=[number])
                for topic, number in assigned
            ]
        )
    return response


def member(**options: Any) -> MemberState:
    state = MemberState("g", "m", rebalance_ms=300, **options)
    state.subscribe(["t"])
    return state


def joined(**options: Any) -> MemberState:
    state = member(**options)
    state.request(0.0)
    state.answered(answer(5, (T, 0), (T, 1)))
    assert state.took(frozenset({(T, 0), (T, 1)}), state.era)
    state.request(1.0)
    state.answered(answer(5, keep=True))
    return state


def said(request: ConsumerGroupHeartbeatRequest) -> dict[str, Any]:
    """The fields of a heartbeat besides its names and its epoch."""
    found: dict[str, Any] = {}
    if request.rebalance_timeout_ms != -1:
        found["rebalance"] = request.rebalance_timeout_ms
    if request.subscribed_topic_names is not None:
        found["topics"] = request.subscribed_topic_names
    if request.subscribed_topic_regex is not None:
        found["regex"] = request.subscribed_topic_regex
    if request.server_assignor is not None:
        found["assignor"] = request.server_assignor
    if request.topic_partitions is not None:
        found["owned"] = {(each.topic_id, number) for each in request.topic_partitions for number in each.partitions}
    return found


def test_a_join_says_everything_and_the_next_heartbeat_only_what_changed() -> None:
    state = member(assignor="range")
    first = state.request(0.0)
    assert (first.member_epoch, first.member_id, first.group_id) == (0, "m", "g")
    assert said(first) == {"rebalance": 300, "topics": ["t"], "assignor": "range", "owned": set()}
    state.answered(answer(3))
    assert said(state.request(5.0)) == {}
    state.subscribe(["u", "t"])
    assert said(state.request(10.0)) == {"topics": ["t", "u"]}


def test_a_heartbeat_is_due_at_once_if_there_is_news_else_after_the_interval_of_the_coordinator() -> None:
    state = joined()
    assert state.due_at() == 1.0 + 5.0
    state.subscribe(["u"])
    assert state.due_at() == -math.inf


def test_partitions_are_given_up_and_reported_before_new_ones_are_taken() -> None:
    state = joined()
    state.request(6.0)
    state.answered(answer(5, (T, 0)))
    step = state.step(NAMES)
    assert step is not None
    assert step.give_up == {(T, 1)}
    assert not step.take
    assert said(state.request(7.0)) == {}, "the member still owns what it has to give up"
    state.answered(answer(5, keep=True))
    state.gave_up(step.give_up, step.era)
    assert state.due_at() == -math.inf
    assert said(state.request(8.0)) == {"owned": {(T, 0)}}
    state.answered(answer(6, (T, 0), (U, 3)))
    assert state.epoch == 6
    step = state.step(NAMES)
    assert step is not None
    assert step.take == {(U, 3)}
    assert state.took(step.take, step.era)
    assert said(state.request(9.0)) == {"owned": {(T, 0), (U, 3)}}
    assert state.step(NAMES) is None


def test_topics_without_a_name_wait_and_the_others_are_taken() -> None:
    state = member()
    state.request(0.0)
    state.answered(answer(1, (T, 0), (U, 0)))
    step = state.step({T: "t"})
    assert step is not None
    assert step.take == {(T, 0)}
    assert step.nameless == {U}


def test_a_lost_answer_is_followed_by_a_heartbeat_that_says_everything_in_the_same_epoch() -> None:
    state = joined()
    state.request(6.0)
    state.unanswered(until=6.5)
    assert state.due_at() == 6.5
    again = state.request(6.5)
    assert again.member_epoch == 5
    assert said(again) == {"rebalance": 300, "topics": ["t"], "owned": {(T, 0), (T, 1)}}


def test_an_expression_that_was_replaced_stays_cleared_after_a_lost_answer() -> None:
    state = member()
    state.subscribe([], "t.*")
    assert said(state.request(0.0))["regex"] == "t.*"
    state.answered(answer(1))
    state.subscribe(["t"])
    assert said(state.request(1.0)) == {"topics": ["t"], "regex": ""}
    state.unanswered(until=2.0)
    assert said(state.request(2.0))["regex"] == ""


@pytest.mark.parametrize(
    ("code", "reaction", "phase"),
    [
        (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, Reaction.RETRY, Phase.MEMBER),
        (ErrorCode.NOT_COORDINATOR, Reaction.MOVED, Phase.MEMBER),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, Reaction.MOVED, Phase.MEMBER),
        (ErrorCode.FENCED_MEMBER_EPOCH, Reaction.REJOIN, Phase.LOST),
        (ErrorCode.UNKNOWN_MEMBER_ID, Reaction.REJOIN, Phase.LOST),
        (ErrorCode.GROUP_ID_NOT_FOUND, Reaction.REJOIN, Phase.LOST),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, Reaction.REPORT, Phase.MEMBER),
        (ErrorCode.GROUP_AUTHORIZATION_FAILED, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.UNRELEASED_INSTANCE_ID, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.FENCED_INSTANCE_ID, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.UNSUPPORTED_ASSIGNOR, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.INVALID_REGULAR_EXPRESSION, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.GROUP_MAX_SIZE_REACHED, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.INVALID_REQUEST, Reaction.FAIL, Phase.FAILED),
        (ErrorCode.UNSUPPORTED_VERSION, Reaction.FAIL, Phase.FAILED),
    ],
)
def test_the_reaction_to_an_error_is_that_of_kafkas_client(code: ErrorCode, reaction: Reaction, phase: Phase) -> None:
    state = joined()
    state.request(6.0)
    assert state.refused(error_for(code, "x"), until=7.0) is reaction
    assert state.phase is phase


def test_a_member_that_lost_its_partitions_joins_again_only_after_it_dropped_them() -> None:
    state = joined()
    state.refused(error_for(ErrorCode.FENCED_MEMBER_EPOCH, "x"), until=7.0)
    assert state.must_drop
    assert state.due_at() == math.inf
    assert state.step(NAMES) is None
    state.dropped()
    assert state.due_at() == 7.0
    join = state.request(7.0)
    assert (join.member_epoch, join.member_id) == (0, "m")
    assert said(join)["owned"] == set()


def test_a_step_of_a_lost_membership_has_no_effect() -> None:
    state = joined()
    state.answered(answer(6, (T, 0), (U, 0)))
    step = state.step(NAMES)
    assert step is not None
    state.lose()
    state.dropped()
    assert not state.took(step.take, step.era)
    state.gave_up(step.give_up, step.era)
    assert state.owned == frozenset()


def test_partitions_that_the_target_lost_meanwhile_are_not_taken() -> None:
    state = joined()
    state.answered(answer(6, (T, 0), (T, 1), (U, 0)))
    step = state.step(NAMES)
    assert step is not None
    state.answered(answer(7, (T, 0), (T, 1)))
    assert not state.took(step.take, step.era)
    assert state.step(NAMES) is None


def test_a_static_member_releases_its_instance_before_it_joins_again() -> None:
    state = joined(instance_id="i")
    state.refused(error_for(ErrorCode.FENCED_MEMBER_EPOCH, "x"), until=0.0)
    state.dropped()
    release = state.request(1.0)
    assert (release.member_epoch, release.instance_id) == (-2, "i")
    assert state.refused(error_for(ErrorCode.UNKNOWN_MEMBER_ID, "x"), until=2.0) is Reaction.JOIN
    assert state.request(3.0).member_epoch == 0


def test_a_static_member_whose_join_got_no_answer_releases_its_instance_too() -> None:
    state = member(instance_id="i")
    assert state.request(0.0).member_epoch == 0
    state.unanswered(until=1.0)
    assert state.request(1.0).member_epoch == -2
    state.answered(answer(-2, keep=True))
    assert state.request(1.0).member_epoch == 0


def test_an_instance_that_another_member_holds_is_an_error_of_the_application() -> None:
    state = joined(instance_id="i")
    state.lose()
    state.dropped()
    state.request(1.0)
    assert state.refused(error_for(ErrorCode.FENCED_INSTANCE_ID, "x"), until=2.0) is Reaction.FAIL
    state.subscribe(["t"])
    assert state.phase is Phase.RELEASING


@pytest.mark.parametrize(("instance", "epoch"), [(None, -1), ("i", -2)])
def test_leaving_is_for_good_or_for_a_while(instance: str | None, epoch: int) -> None:
    state = joined(instance_id=instance)
    assert state.leave_request().member_epoch == epoch
    state.step_out()
    assert (state.must_drop, state.due_at()) == (True, math.inf)
    state.dropped()
    state.come_back()
    assert state.request(9.0).member_epoch == (0 if instance is None else -2)


@pytest.mark.parametrize("seed", range(40))
def test_random_histories_join_without_partitions_and_own_only_what_is_in_a_target(seed: int) -> None:
    dice = random.Random(seed)
    state = member(instance_id=dice.choice([None, "i"]))
    places = [(topic, number) for topic in (T, U) for number in range(3)]
    codes = [code for code in ErrorCode if code > 0]
    granted: set[tuple[UUID, int]] = set()
    now = 0.0
    for _ in range(300):
        now += 1
        before = state.phase
        match dice.randrange(7):
            case 0 | 1 if state.due_at() < math.inf:
                request = state.request(now)
                if request.member_epoch == 0:
                    assert said(request)["owned"] == set(), "a join owns nothing"
                match dice.randrange(4):
                    case 0:
                        state.unanswered(now)
                    case 1:
                        state.refused(error_for(dice.choice(codes), "x"), now)
                    case _:
                        chosen = dice.sample(places, dice.randrange(4))
                        state.answered(answer(max(1, state.epoch) + dice.randrange(2), *chosen))
                        granted = set(state.target)
            case 2 | 3:
                step = state.step(NAMES)
                if step is not None:
                    state.gave_up(step.give_up, step.era)
                    if state.took(step.take, step.era):
                        assert step.take <= granted
            case 4 if state.must_drop:
                state.dropped()
            case 5 if state.phase is Phase.MEMBER:
                dice.choice([state.lose, state.step_out, state.fail])()
            case _:
                state.come_back()
                state.subscribe(["t"])
        if state.phase in (Phase.JOINING, Phase.RELEASING):
            assert not state.owned, f"after {before}"
