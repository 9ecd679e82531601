"""The JSON form: what is refused, and how the error reads. That it round-trips is shown by the vectors."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from kafkawire.messages import EncodeError, MetadataRequest, ProduceRequest
from kafkawire.messages._uuids import parse_uuid, uuid_text

pytestmark = pytest.mark.twin


def test_uuids_are_22_characters_and_payloads_base64() -> None:
    partition = ProduceRequest.PartitionProduceData(index=1, records=memoryview(b"\xff\xfe"))
    topic = ProduceRequest.TopicProduceData(topic_id=UUID(int=255), partition_data=[partition])
    shown = ProduceRequest(topic_data=[topic]).to_json(13)["topicData"][0]
    assert shown == {"topicId": "AAAAAAAAAAAAAAAAAAAA_w", "partitionData": [{"index": 1, "records": "//4="}]}
    assert parse_uuid(uuid_text(UUID(int=255))) == UUID(int=255)


@pytest.mark.parametrize(
    ("changes", "problem"),
    [
        ({"topic": []}, "MetadataRequest v12 as JSON: expected fields of this version .*, found 'topic'"),
        ({"topics": 5}, "topics: expected an array, found 5"),
        ({"topics": [5]}, r"topics\[0\]: expected an object, found 5"),
        ({"topics": [{"name": "a"}]}, r"topics\[0\].topic_id: expected a value, found none given"),
        ({"topics": [{"name": "a", "topicId": 5}]}, r"topics\[0\].topic_id: expected uuid in base64, found 5"),
        ({"topics": [{"name": 1, "topicId": "AAAAAAAAAAAAAAAAAAAAAA"}]}, r"name: expected string, found 1"),
        ({"allowAutoTopicCreation": None}, "allow_auto_topic_creation: expected bool, found null"),
        ({"allowAutoTopicCreation": 1}, "allow_auto_topic_creation: expected bool, found 1"),
    ],
)
def test_a_value_that_does_not_fit_is_refused_with_its_path(changes: dict[str, Any], problem: str) -> None:
    good = MetadataRequest().to_json(12)
    with pytest.raises(EncodeError, match=problem):
        MetadataRequest.from_json({**good, **changes}, 12)
    with pytest.raises(EncodeError, match="expected an object"):
        MetadataRequest.from_json([], 12)  # type: ignore[arg-type]  # the mistake is the test
