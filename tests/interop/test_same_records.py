"""The records that a coordinator writes to `__consumer_offsets` are those of Apache Kafka: number, order and form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.answers import Asked
from tests.interop.apache_kafka import PREVIOUS
from tests.interop.dialogue import create_topic, has_coordinator
from tests.interop.waiting import until

from kafkawire import messages as m
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
TOPIC = "same-records"
OFFSET, GROUP = 1, 2
CHOSEN = ("commitTimestamp", "expireTimestamp", "currentStateTimestamp", "topicId", "memberId", "leader", "clientHost")
"""Values that a broker chooses; they are compared by whether they are there."""


def live(broker: Asked, group: str) -> None:
    """The life of a group: a simple consumer, a member, their offsets, and the end of all."""

    def commit(version: int, offset: int, member: str = "", generation: int = -1, **fields: Any) -> Any:
        place = m.OffsetCommitRequest.OffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata="note"
        )
        topic = m.OffsetCommitRequest.OffsetCommitRequestTopic(name=TOPIC, partitions=[place])
        request = m.OffsetCommitRequest(
            group_id=group, member_id=member, generation_id_or_member_epoch=generation, topics=[topic], **fields
        )
        return broker.ask(request, version)

    commit(9, 1)
    commit(4, 2, retention_time_ms=3_600_000)
    protocol = m.JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"\x00\x01\x00\x00\x00\x00")
    join = m.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[protocol],
    )
    member: Any = broker.ask(join, 3)
    given = m.SyncGroupRequest.SyncGroupRequestAssignment(member_id=member.member_id, assignment=b"\x00\x01")
    sync = m.SyncGroupRequest(
        group_id=group, generation_id=member.generation_id, member_id=member.member_id, assignments=[given]
    )
    broker.ask(sync, 3)
    commit(8, 3, member.member_id, member.generation_id)
    broker.ask(m.LeaveGroupRequest(group_id=group, member_id=member.member_id), 2)
    asked = m.OffsetDeleteRequest.OffsetDeleteRequestTopic(
        name=TOPIC, partitions=[m.OffsetDeleteRequest.OffsetDeleteRequestPartition(partition_index=0)]
    )
    broker.ask(m.OffsetDeleteRequest(group_id=group, topics=[asked]), 0)
    commit(9, 4)
    broker.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)


def written(data_dir: Path, group: str) -> Iterator[Any]:
    """The records of a group, without the values that a broker chooses."""
    for path in sorted((data_dir / "__consumer_offsets-0").glob("*.log")):
        for batch in read_batches(path.read_bytes()):
            for record in batch.records():
                key, value = bytes(record.key or b""), None if record.value is None else bytes(record.value)
                kind = int.from_bytes(key[:2], "big")
                if kind not in (OFFSET, GROUP):
                    continue
                of_key, of_value = (
                    (m.OffsetCommitKey, m.OffsetCommitValue)
                    if kind == OFFSET
                    else (m.GroupMetadataKey, m.GroupMetadataValue)
                )
                about = of_key.decode(key[2:], 0).to_json(version=0)
                if about["group"] == group:
                    if value is None:
                        yield about, None, None
                        continue
                    version = int.from_bytes(value[:2], "big")
                    yield about, version, _without_choices(of_value.decode(value[2:], version).to_json(version=version))


def _without_choices(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: each not in (None, "", -1) if name in CHOSEN else _without_choices(each)
            for name, each in value.items()
        }
    return [_without_choices(each) for each in value] if isinstance(value, list) else value


def test_records_of_a_group(each_kafka: ApacheBroker, our_twin: OurBroker) -> None:
    if each_kafka.release is PREVIOUS:
        pytest.skip("OffsetCommitValue v4 came later")
    for running in (our_twin, each_kafka):
        with Asked(running) as broker:
            create_topic(broker, TOPIC, 1)
            until(lambda broker=broker: has_coordinator(broker, TOPIC))  # type: ignore[misc]
            live(broker, "same-records")
    ours, theirs = (list(written(running.data_dir, "same-records")) for running in (our_twin, each_kafka))
    assert ours == theirs
    assert {version for _, version, _ in ours} == {None, 1, 3, 4}
