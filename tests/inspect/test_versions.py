"""Fields of a version on the wire, and what changed between two: checked against the published list of changes."""

from __future__ import annotations

import pytest

from kafkawire.inspect._explain.versions import changes_between, fields_of
from kafkawire.messages import FetchRequest, MetadataRequest, ProduceRequest, RequestHeader, UnsupportedVersionError


def test_types_are_those_of_the_version() -> None:
    old, new = ({field.path: field.type for field in fields_of(ProduceRequest.__schema__, v)} for v in (8, 9))
    assert (old["topic_data"], old["topic_data.name"]) == ("[]TopicProduceData", "string")
    assert (new["topic_data"], new["topic_data.name"]) == ("compact []TopicProduceData", "compact string")


def test_a_client_id_is_never_compact() -> None:
    assert fields_of(RequestHeader.__schema__, 2)[-1].type == "string?"


def test_tags_and_defaults_are_listed() -> None:
    fields = {field.path: field for field in fields_of(FetchRequest.__schema__, 15)}
    assert (fields["cluster_id"].tag, fields["cluster_id"].default) == (0, "null")
    assert (fields["replica_state.replica_id"].depth, fields["replica_state.replica_id"].default) == (1, "-1")
    assert "replica_id" not in fields


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (5, 6, []),
        (2, 3, [("added", "transactional_id", "", "string?, default null")]),
        (12, 13, [("removed", "topic_data.name", "compact string", ""), ("added", "topic_data.topic_id", "", "uuid")]),
        (13, 12, [("added", "topic_data.name", "", "compact string"), ("removed", "topic_data.topic_id", "uuid", "")]),
    ],
)
def test_changes_are_listed_in_wire_order(before: int, after: int, expected: list[tuple[str, ...]]) -> None:
    found = changes_between(ProduceRequest.__schema__, before, after)
    assert [(each.kind, each.path, each.before, each.after) for each in found] == expected


def test_becoming_flexible_is_one_change() -> None:
    (change,) = changes_between(ProduceRequest.__schema__, 8, 9)
    assert change.kind == "flexible"


def test_becoming_nullable_is_a_change_of_type() -> None:
    (change,) = changes_between(MetadataRequest.__schema__, 0, 1)
    assert (change.kind, change.path, change.after) == ("changed", "topics", "[]MetadataRequestTopic?")


def test_a_version_that_is_not_there_is_refused() -> None:
    with pytest.raises(UnsupportedVersionError, match="ProduceRequest: expected a version of 0-13, found 14"):
        fields_of(ProduceRequest.__schema__, 14)
