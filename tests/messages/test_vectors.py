"""Bytes made by Kafka's own code: decode, compare as JSON, encode again."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest
from tests.messages.kafka_changes import current_json, stored_as

from kafkawire.messages import DecodeError, Message, message_class
from kafkawire.messages._compile import build_class
from kafkawire.messages._notation import parse
from kafkawire.messages.schema import MessageSchema, snake_case

pytestmark = pytest.mark.twin

VECTORS = Path(__file__).parents[1] / "vectors"
# Unreleased when the vectors were made; the released version 0 has more fields.
CHANGED_BEFORE_RELEASE = {
    "ReadShareGroupStateSummaryResponse",
    "ShareGroupMetadataValue",
    "ShareGroupStatePartitionMetadataValue",
    "ShareSnapshotValue",
    "ShareUpdateValue",
}
ROWS = [line.split("\t") for line in (VECTORS / "messages.tsv").read_text(encoding="utf-8").splitlines()]


@cache
def class_of(module: str, name: str) -> type[Message]:
    if module != "clients-test":
        return message_class(name)
    path = VECTORS / "schemas" / f"{snake_case(name)}.msg"
    schema = parse(path.read_text(encoding="utf-8"), path.name)
    assert isinstance(schema, MessageSchema)
    return build_class(schema)


def test_there_are_as_many_rows_as_were_published() -> None:
    assert len(ROWS) == 1544


@pytest.mark.parametrize("name", sorted({row[1] for row in ROWS} - CHANGED_BEFORE_RELEASE))
def test_every_row_decodes_to_its_json_and_encodes_to_its_bytes(name: str) -> None:
    for module, message, version_text, hexadecimal, text in ROWS:
        if message != name:
            continue
        if module == "clients-test":
            new_name, version = name, int(version_text)
        else:
            new_name, version = stored_as(name, int(version_text))
        cls, data = class_of(module, new_name), bytes.fromhex(hexadecimal)
        expected = current_json(new_name, json.loads(text))
        decoded = cls.decode(data, version)
        assert decoded.to_json(version) == expected
        assert decoded.encode(version) == data
        assert b"".join(decoded.encode_parts(version)) == data
        again = cls.from_json(expected, version)
        assert again == decoded
        assert again.encode(version) == data


def test_a_layout_that_changed_before_its_release_is_refused_not_misread() -> None:
    for module, name, version, hexadecimal, _ in ROWS:
        if name in CHANGED_BEFORE_RELEASE:
            with pytest.raises(DecodeError):
                class_of(module, name).decode(bytes.fromhex(hexadecimal), int(version))
