"""Fetch sessions as rules: ids, epochs, partitions of responses, eviction."""

from __future__ import annotations

import pytest

from kafkawire.broker._fetch.sessions import MOST_PARTITIONS, Key, PartitionUpdate, ServerSessions, SessionFetch
from kafkawire.messages.errors import ErrorCode
from kafkawire.testing.manual_clock import ManualClock
from kafkawire.wire.fetch_sessions import LAST_EPOCH, FetchPosition

OLD = 120_001


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(1_000_000)


@pytest.fixture
def sessions(clock: ManualClock) -> ServerSessions:
    return ServerSessions(2, clock.now, seed=1)


def wanted(index: int, offset: int = 0) -> tuple[Key, FetchPosition]:
    return ("topic", index), FetchPosition(offset, 1000)


def told(watermark: int = 0, *, records: bool = False, error: bool = False) -> PartitionUpdate:
    return PartitionUpdate(-1 if error else watermark, 0, records or error, records, error)


def finish(fetching: SessionFetch, *answers: PartitionUpdate) -> tuple[int, list[bool]]:
    return fetching.finish(list(zip(fetching.positions, answers, strict=True)))


def opened(sessions: ServerSessions, count: int = 1) -> int:
    fetching = sessions.begin(0, 0, dict(wanted(index) for index in range(count)))
    return finish(fetching, *[told()] * count)[0]


@pytest.mark.parametrize(
    ("session", "epoch", "creates"),
    [(0, -1, False), (0, 0, True)],
    ids=["sessionless", "full"],
)
def test_a_full_fetch_returns_every_partition(
    sessions: ServerSessions, session: int, epoch: int, creates: bool
) -> None:
    session_id, sent = finish(sessions.begin(session, epoch, dict([wanted(0)])), told())
    assert (session_id > 0, sent) == (creates, [True])


@pytest.mark.parametrize(("epoch", "makes_another"), [(0, True), (-1, False)])
def test_naming_a_session_in_a_full_fetch_closes_it(sessions: ServerSessions, epoch: int, makes_another: bool) -> None:
    first = opened(sessions)
    session_id, _ = finish(sessions.begin(first, epoch, dict([wanted(0)])), told())
    assert (session_id not in (0, first)) == makes_another
    assert sessions.begin(first, 1, {}).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND


def test_epochs_count_up_and_a_wrong_one_leaves_the_session_alone(sessions: ServerSessions) -> None:
    session_id = opened(sessions)
    assert sessions.begin(session_id, 2, {}).error == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.begin(session_id, 1, {}).error == ErrorCode.NONE
    assert sessions.begin(session_id, 1, {}).error == ErrorCode.INVALID_FETCH_SESSION_EPOCH
    assert sessions.begin(session_id, 2, {}).error == ErrorCode.NONE


def test_after_the_last_epoch_comes_the_first(sessions: ServerSessions) -> None:
    session_id = opened(sessions)
    sessions._sessions[session_id].epoch = LAST_EPOCH
    assert sessions.begin(session_id, LAST_EPOCH, {}).error == ErrorCode.NONE
    assert sessions.begin(session_id, 1, {}).error == ErrorCode.NONE


def test_names_and_ids_do_not_mix(sessions: ServerSessions) -> None:
    session_id = opened(sessions)
    assert sessions.begin(session_id, 1, {}, uses_ids=True).error == ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR


def test_only_changed_partitions_are_returned(sessions: ServerSessions) -> None:
    session_id = opened(sessions, 3)
    assert finish(sessions.begin(session_id, 1, {}), told(), told(5), told(records=True))[1] == [False, True, True]
    assert finish(sessions.begin(session_id, 2, {}), told(), told(5), told())[1] == [False, False, False]


def test_after_an_error_the_next_good_answer_is_returned(sessions: ServerSessions) -> None:
    session_id = opened(sessions)
    answers = [told(error=True), told(error=True), told(), told()]
    sent = [finish(sessions.begin(session_id, epoch, {}), each)[1][0] for epoch, each in enumerate(answers, 1)]
    assert sent == [True, True, True, False]


def test_a_partition_with_records_goes_to_the_end(sessions: ServerSessions) -> None:
    session_id = opened(sessions, 3)
    finish(sessions.begin(session_id, 1, {}), told(records=True), told(), told())
    assert [index for _, index in sessions.begin(session_id, 2, {}).positions] == [1, 2, 0]


def test_partitions_are_added_changed_and_forgotten(sessions: ServerSessions) -> None:
    session_id = opened(sessions, 2)
    fetching = sessions.begin(session_id, 1, dict([wanted(1, offset=7), wanted(2)]), [("topic", 0)])
    assert [(index, each.offset) for (_, index), each in fetching.positions.items()] == [(1, 7), (2, 0)]


def test_a_session_without_partitions_ends(sessions: ServerSessions) -> None:
    session_id = opened(sessions)
    ended = sessions.begin(session_id, 1, {}, [("topic", 0)])
    assert (ended.error, ended.finish([])) == (ErrorCode.NONE, (0, []))
    assert len(sessions) == 0


def test_a_full_cache_makes_no_room_for_the_young(sessions: ServerSessions, clock: ManualClock) -> None:
    opened(sessions)
    opened(sessions)
    assert opened(sessions, 5) == 0
    clock.advance(OLD)
    assert opened(sessions) > 0
    assert (len(sessions), sessions.evictions) == (2, 1)


def test_an_old_session_in_use_goes_only_for_a_larger_one(sessions: ServerSessions, clock: ManualClock) -> None:
    small, large = opened(sessions, 2), opened(sessions, 4)
    clock.advance(OLD)
    for session_id in (small, large):
        sessions.begin(session_id, 1, {})
    assert opened(sessions, 2) == 0
    assert opened(sessions, 3) > 0
    assert sessions.begin(small, 2, {}).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert sessions.begin(large, 2, {}).error == ErrorCode.NONE


def test_no_session_is_made_for_too_many_partitions(sessions: ServerSessions) -> None:
    assert opened(sessions, MOST_PARTITIONS) > 0
    fetching = sessions.begin(0, 0, dict(wanted(index) for index in range(MOST_PARTITIONS + 1)))
    assert not fetching.has_session


@pytest.mark.parametrize("more", [1, MOST_PARTITIONS + 1])
def test_a_session_that_would_grow_too_large_ends(sessions: ServerSessions, more: int) -> None:
    session_id = opened(sessions, MOST_PARTITIONS)
    grown = sessions.begin(session_id, 1, dict(wanted(MOST_PARTITIONS + index) for index in range(more)))
    assert grown.error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
    assert len(sessions) == 0


def test_a_fetch_may_finish_after_its_session_is_gone(sessions: ServerSessions) -> None:
    session_id = opened(sessions)
    slow = sessions.begin(session_id, 1, {})
    sessions.begin(session_id, 2, {}, [("topic", 0)])
    assert len(sessions) == 0
    assert finish(slow, told(5)) == (session_id, [True])
    assert sessions.begin(session_id, 2, {}).error == ErrorCode.FETCH_SESSION_ID_NOT_FOUND
