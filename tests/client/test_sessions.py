"""Fetch sessions: partitions that a request names, and partitions that it leaves out."""

from __future__ import annotations

from uuid import UUID

from kafkawire.client._cluster.metadata import TopicPartition
from kafkawire.messages import FetchRequest, FetchResponse
from kafkawire.wire.fetch_sessions import ClientSession, FetchPosition

ONE, OTHER = TopicPartition("t", 0), TopicPartition("t", 1)


def wanted(offset: int, topic_id: int = 1) -> FetchPosition:
    return FetchPosition(offset, 1000, 0, topic_id=UUID(int=topic_id))


def ask(session: ClientSession, **offsets: FetchPosition) -> FetchRequest:
    request = FetchRequest()
    session.fill(request, {TopicPartition(name[0], int(name[1])): each for name, each in offsets.items()}, 13)
    return request


def told(request: FetchRequest) -> dict[int, int]:
    return {each.partition: each.fetch_offset for topic in request.topics for each in topic.partitions}


def test_only_changes_are_sent_again() -> None:
    session = ClientSession()
    request = ask(session, t0=wanted(5), t1=wanted(7))
    assert (request.session_id, request.session_epoch, told(request)) == (0, 0, {0: 5, 1: 7})
    session.answered(FetchResponse(session_id=9))
    request = ask(session, t0=wanted(6), t1=wanted(7))
    assert (request.session_id, request.session_epoch, told(request)) == (9, 1, {0: 6})
    session.answered(FetchResponse(session_id=9))
    request = ask(session, t0=wanted(6))
    assert (request.session_epoch, told(request)) == (2, {})
    assert [(each.topic, each.partitions) for each in request.forgotten_topics_data] == [("t", [1])]


def test_a_recreated_topic_is_forgotten_under_its_old_id() -> None:
    session = ClientSession()
    ask(session, t0=wanted(5))
    session.answered(FetchResponse(session_id=9))
    request = ask(session, t0=wanted(0, topic_id=2))
    assert [each.topic_id for each in request.forgotten_topics_data] == [UUID(int=1)]
    assert [each.topic_id for each in request.topics] == [UUID(int=2)]


def test_without_a_session_everything_is_sent_every_time() -> None:
    session = ClientSession()
    for _ in range(2):
        request = ask(session, t0=wanted(5))
        assert (request.session_id, request.session_epoch, told(request)) == (0, 0, {0: 5})
        session.answered(FetchResponse(session_id=0))


def test_after_a_reset_everything_is_sent_again() -> None:
    session = ClientSession()
    ask(session, t0=wanted(5))
    session.answered(FetchResponse(session_id=9))
    session.reset()
    request = ask(session, t0=wanted(5))
    assert (request.session_id, request.session_epoch, told(request)) == (0, 0, {0: 5})


def test_the_epoch_goes_round() -> None:
    session = ClientSession()
    ask(session, t0=wanted(5))
    session.answered(FetchResponse(session_id=9))
    session.epoch = 2**31 - 1
    session.answered(FetchResponse(session_id=9))
    assert session.epoch == 1


def test_versions_without_sessions_get_a_plain_request() -> None:
    request = FetchRequest()
    ClientSession().fill(request, {ONE: wanted(5), OTHER: wanted(6)}, 6)
    assert (request.session_id, request.session_epoch, told(request)) == (0, -1, {0: 5, 1: 6})
