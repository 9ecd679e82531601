"""Every record that Kafka stores in its own topics is explained and decoded, as its schema says that it is stored."""

from __future__ import annotations

import struct
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.inspect.tree_values import assert_tiles
from tests.messages.samples import random_message

from kafkawire.inspect._explain.explain import explain_message, explain_records
from kafkawire.inspect._explain.tree import walk
from kafkawire.log.internal_topics import (
    COORDINATOR_TOPICS,
    FRAMED_TOPICS,
    InternalMessage,
    decode_record,
    record_names,
)
from kafkawire.messages import message_class, message_names
from kafkawire.records import BatchBuilder, read_batches

if TYPE_CHECKING:
    from kafkawire.messages.schema import MessageSchema

TOPICS = {folder: topic for topic, folder in (*COORDINATOR_TOPICS.items(), *FRAMED_TOPICS.items())}
STORED = [name for name in message_names() if message_class(name).__schema__.stored]
# Numbers and bytes of these are shown by name.
SHOWN_BY_NAME = ("TransactionLogValue", "GroupMetadataValue")


def stored_bytes(schema: MessageSchema, version: int, seed: int) -> bytes:
    """A random message as it is in the log, with what precedes it there."""
    assert schema.key is not None
    body: bytes = random_message(message_class(schema.name), version, Random(seed), unknown_tags=False).encode(version)
    if schema.stored == "id":
        return bytes([1, schema.key, version]) + body
    return struct.pack(">h", schema.key if schema.stored == "key" else version) + body


def record_of(schema: MessageSchema, data: bytes) -> tuple[bytes | None, bytes | None]:
    """The key and the value of a record with a stored message."""
    if schema.stored == "id":
        return None, data
    if schema.stored == "key":
        return data, None
    key = message_class(record_names(schema.place.split("/")[1], "key")[schema.key or 0]).__schema__
    return stored_bytes(key, 0, 1), data


@pytest.mark.parametrize("name", STORED)
def test_a_stored_message_is_explained_by_its_name(name: str) -> None:
    schema = message_class(name).__schema__
    for version in schema.versions:
        explained = explain_message(stored_bytes(schema, version, version), name)
        assert (explained.whole, explained.title) == (True, f"{name} v{version}")
        assert_tiles(explained.space)


@pytest.mark.parametrize("name", STORED)
def test_a_record_of_its_topic_is_explained_and_decoded(name: str) -> None:
    schema = message_class(name).__schema__
    topic = TOPICS[schema.place.split("/")[1]]
    for version in schema.versions:
        key, value = record_of(schema, stored_bytes(schema, version, version))
        builder = BatchBuilder()
        builder.append(key, value)
        data = builder.build()
        notes = {visit.path: visit.node.note for visit in walk(explain_records(data, topic=topic).space)}
        part = "key" if schema.stored == "key" else "value"
        assert notes[f"[0].records[0].{part}"].split(" ")[0] == name
        (record,) = next(iter(read_batches(data))).records()
        shown = decode_record(topic, record, is_control=False)[0 if part == "key" else 1]
        assert isinstance(shown, InternalMessage)
        assert (shown.name, shown.version) == (name, version)
        body = stored_bytes(schema, version, version)[3 if schema.stored == "id" else 2 :]
        if name not in SHOWN_BY_NAME:
            assert shown.fields == message_class(name).decode(body, version).to_json(version)


@pytest.mark.parametrize("name", STORED)
def test_a_type_or_version_that_nobody_knows_stays_bytes(name: str) -> None:
    schema = message_class(name).__schema__
    data = stored_bytes(schema, schema.versions.last, 0)
    unknown = b"\x01\x7e" + data[2:] if schema.stored == "id" else b"\x7f\xfe" + data[2:]
    if schema.stored != "value":
        explained = explain_message(unknown, name)
        assert not explained.whole
        assert_tiles(explained.space)
    topic = TOPICS[schema.place.split("/")[1]]
    builder = BatchBuilder()
    builder.append(*record_of(schema, unknown))
    space = explain_records(builder.build(), topic=topic).space
    assert_tiles(space)
    assert not list(space.faults())
