"""The records of a streams group in `__consumer_offsets` are those of Apache Kafka: number, order and form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.test_same_streams_groups import FOUR, FULL, KEPT, StreamsTalk, Topic, owned, subtopology, topology
from tests.interop.test_same_streams_groups import both as both

from kafkawire import messages as m
from kafkawire.records import read_batches

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.interop.answers import Asked
    from tests.interop.apache_kafka import ApacheBroker
    from tests.interop.our_broker import OurBroker

pytestmark = [pytest.mark.interop, pytest.mark.timeout(300)]
GROUP = "streams-records"
RECORDS: dict[int, tuple[Any, Any]] = {
    17: (m.StreamsGroupMetadataKey, m.StreamsGroupMetadataValue),
    19: (m.StreamsGroupMemberMetadataKey, m.StreamsGroupMemberMetadataValue),
    20: (m.StreamsGroupTargetAssignmentMetadataKey, m.StreamsGroupTargetAssignmentMetadataValue),
    21: (m.StreamsGroupTargetAssignmentMemberKey, m.StreamsGroupTargetAssignmentMemberValue),
    22: (m.StreamsGroupCurrentMemberAssignmentKey, m.StreamsGroupCurrentMemberAssignmentValue),
    23: (m.StreamsGroupTopologyKey, m.StreamsGroupTopologyValue),
}
CHOSEN = ("metadataHash", "assignmentTimestamp", "clientHost")


def live(talk: StreamsTalk) -> None:
    """The life of a group: two members with standbys, reconciliation, departures, the end."""
    stated = topology(
        subtopology("0", FOUR, state_changelog_topics=[Topic(name=KEPT)]),
    )
    tag = m.StreamsGroupHeartbeatRequest.KeyValue(key="zone", value="one")
    endpoint = m.StreamsGroupHeartbeatRequest.Endpoint(host="here", port=80)
    said = {**FULL, "topology": stated}
    talk.start_at_once(GROUP)
    talk.configure(GROUP, "streams.num.standby.replicas", "1")
    talk.wait_until_ready("streams-records-probe", "p", said)
    first = talk.beat(GROUP, "a", 0, **{**said, "process_id": "p1", "client_tags": [tag]}).member_epoch
    talk.beat(GROUP, "b", 0, **{**said, "process_id": "p2", "user_endpoint": endpoint, "rack_id": "r"})
    kept = talk.beat(GROUP, "a", first, **owned(0, 1, 2, 3)).active_tasks[0].partitions
    talk.beat(GROUP, "a", first, **owned(*kept))
    talk.beat(GROUP, "a", -1)
    talk.beat(GROUP, "b", -1)
    talk.ask(m.DeleteGroupsRequest(groups_names=[GROUP]), 2)


def written(data_dir: Path) -> Iterator[Any]:
    """The records of the group, without the values that a broker chooses."""
    for path in sorted(data_dir.glob("__consumer_offsets-*/*.log")):
        for batch in read_batches(path.read_bytes()):
            for record in batch.records():
                key, value = bytes(record.key or b""), None if record.value is None else bytes(record.value)
                found = RECORDS.get(int.from_bytes(key[:2], "big"))
                if found is None:
                    continue
                about = found[0].decode(key[2:], 0).to_json(version=0)
                if about["groupId"] == GROUP:
                    stored = None if value is None else found[1].decode(value[2:], 0).to_json(version=0)
                    yield found[0].__name__, about, stored and _without_choices(stored)


def _without_choices(value: dict[str, Any]) -> dict[str, Any]:
    return {name: bool(each) if name in CHOSEN else each for name, each in value.items()}


def test_records_of_a_streams_group(
    both: tuple[Asked, Asked], apache_kafka: ApacheBroker, our_broker: OurBroker
) -> None:
    for broker in both:
        live(StreamsTalk(broker))
    ours, theirs = (list(written(running.data_dir)) for running in (our_broker, apache_kafka))
    assert ours == theirs
    assert {name for name, _, _ in ours} == {key.__name__ for key, _ in RECORDS.values()}
