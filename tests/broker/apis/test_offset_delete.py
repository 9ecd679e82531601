"""OffsetDelete over the wire."""

from __future__ import annotations

from tests.broker.groups.group_requests import GROUP, Talk
from tests.broker.groups.group_requests import talk as talk

from kafkawire.messages import OffsetDeleteRequest
from kafkawire.messages.errors import ErrorCode


def delete(*topics: str, group_id: str = GROUP) -> OffsetDeleteRequest:
    partitions = [OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)]
    return OffsetDeleteRequest(
        group_id=group_id,
        topics=[OffsetDeleteRequest.OffsetDeleteRequestTopic(name=each, partitions=partitions) for each in topics],
    )


def test_offsets_are_forgotten_and_each_partition_has_its_answer(talk: Talk) -> None:
    talk.commit(42)
    answer = talk.ask(delete("orders", "missing"))
    codes = {topic.name: topic.partitions[0].error_code for topic in answer.topics}
    assert codes == {"orders": ErrorCode.NONE, "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert talk.committed() == -1


def test_a_topic_that_is_consumed_keeps_its_offsets(talk: Talk) -> None:
    joined = talk.member()
    talk.commit(42, member_id=joined.member_id, generation_id_or_member_epoch=1)
    answer = talk.ask(delete("orders"))
    assert (answer.error_code, answer.topics[0].partitions[0].error_code) == (
        ErrorCode.NONE,
        ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
    )
    assert talk.committed() == 42


def test_a_group_that_is_not_there_is_an_error_of_the_whole_request(talk: Talk) -> None:
    answer = talk.ask(delete("orders", group_id="none"))
    assert (answer.error_code, answer.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


def test_a_group_with_members_of_another_kind_is_an_error_of_the_whole_request(talk: Talk) -> None:
    talk.member(protocol_type="connect")
    assert talk.ask(delete("orders")).error_code == ErrorCode.NON_EMPTY_GROUP
