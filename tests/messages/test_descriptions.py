"""Every field has a description, and every API a route."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from kafkawire.messages import apis, message_class, message_names
from kafkawire.messages._notation import parse
from kafkawire.messages.schema import ApiSchema, MessageSchema, SchemaError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.messages.schema import Field, Struct

_LONGEST = 130
_API = """api 12 Heartbeat
versions 0
flexible none
listeners broker
{more}

request
  Text: string = "a # b"  # The description, which may have a # in it
  Plain: int8

response
  Struct: Inner  # Of the struct
    Child: int8  # Of the child
"""


def fields(struct: Struct, path: str) -> Iterator[tuple[str, Field]]:
    for field in struct.fields:
        yield f"{path}.{field.name}", field
        if field.struct is not None:
            yield from fields(field.struct, f"{path}.{field.name}")


def schemas() -> list[MessageSchema]:
    return [message_class(name).__schema__ for name in message_names()]


def test_every_field_of_every_message_is_described_in_one_line() -> None:
    every = [found for schema in schemas() for found in fields(schema.root, schema.name)]
    assert len(every) > 2000
    assert [path for path, field in every if not field.description] == []
    assert [path for path, field in every if len(field.description) > _LONGEST] == []
    assert [
        path for path, field in every if not field.description[0].isupper() and field.description[0] not in "01"
    ] == []
    assert [path for path, field in every if field.description.endswith(".") or "|" in field.description] == []


def test_every_api_has_senders_receivers_and_listeners() -> None:
    for each in apis():
        assert each.schema.senders, each.name
        assert each.schema.receivers, each.name
        assert each.schema.listeners, each.name


def test_apis_of_the_controller_are_forwarded_and_those_between_brokers_are_cluster_actions() -> None:
    forwarded = {each.name for each in apis() if each.schema.forwarded}
    assert forwarded >= {
        "CreateTopics",
        "DeleteTopics",
        "CreateAcls",
        "AlterConfigs",
        "AlterClientQuotas",
        "ElectLeaders",
    }
    assert forwarded.isdisjoint({"Produce", "Fetch", "JoinGroup", "DescribeAcls", "DescribeConfigs"})
    actions = {each.name for each in apis() if each.schema.cluster_action}
    assert actions >= {"WriteTxnMarkers", "Vote", "BrokerRegistration", "AlterPartition", "WriteShareGroupState"}
    assert actions.isdisjoint({"Produce", "Metadata", "CreateTopics", "SaslAuthenticate"})


def parsed(more: str = "sent by members to group coordinator") -> ApiSchema:
    schema = parse(_API.format(more=more), "api/012_heartbeat.api")
    assert isinstance(schema, ApiSchema)
    return schema


def test_the_comment_behind_a_field_is_its_description() -> None:
    schema = parsed()
    text, plain = schema.request.root.fields
    (struct,) = schema.response.root.fields
    assert text.description == "The description, which may have a # in it"
    assert text.default == "a # b"
    assert plain.description == ""
    assert struct.description == "Of the struct"
    assert struct.struct is not None
    assert struct.struct.fields[0].description == "Of the child"


def test_the_route_of_an_api() -> None:
    schema = parsed("sent by members to group coordinator, or to any broker\nforwarded to controller\ncluster action")
    assert (schema.senders, schema.receivers) == ("members", "group coordinator, or to any broker")
    assert schema.forwarded
    assert schema.cluster_action
    assert not parsed().forwarded
    assert not parsed().cluster_action


@pytest.mark.parametrize(
    ("more", "rule"),
    [
        ("sent to brokers", "5: expected `sent by SENDERS to RECEIVERS`"),
        ("sent by clients", "5: expected `sent by SENDERS to RECEIVERS`"),
        ("forwarded", "5: expected `forwarded to controller`"),
        ("cluster", "5: expected `cluster action`"),
    ],
)
def test_a_wrong_route_is_refused(more: str, rule: str) -> None:
    with pytest.raises(SchemaError, match=rule):
        parsed(more)


def test_a_message_has_no_route() -> None:
    text = "message EndTxnMarker\nversions 0\nflexible none\ncluster action\n\nfields\n  A: int8\n"
    with pytest.raises(SchemaError, match="cluster belongs to an api"):
        parse(text, "data/clients/end_txn_marker.msg")
