"""kio, written by others from the same protocol, reads what we write and writes the same bytes.

It turns error codes into an enumeration and times into dates, so those fields get values that it can hold.
"""

from __future__ import annotations

import io
from random import Random
from typing import Any

import pytest
from tests.messages.samples import random_message

from kafkawire._codec.defaults import is_default
from kafkawire.messages import message_class, message_names
from kafkawire.messages._model import StructBase
from kafkawire.messages.schema import snake_case

index = pytest.importorskip("kio.index", reason="kio is a development dependency")
serial = pytest.importorskip("kio.serial")
constants = pytest.importorskip("kio.static.constants")

KINDS = {"Request": "request", "Response": "response", "": "data"}


def peer_of(name: str, version: int) -> Any:
    """kio's class of a message, or None where it has none."""
    kind = next(suffix for suffix in KINDS if name.endswith(suffix))
    stem = snake_case(name.removesuffix(kind))
    if name.endswith("Header"):
        kind_name, stem = "header", snake_case(name)
    elif name in message_names() and message_class(name).__schema__.kind == "data":
        kind_name, stem = "data", snake_case(name)
    else:
        kind_name = KINDS[kind]
    try:
        return index.load_entity_schema(stem, version, constants.EntityType[kind_name])
    except index.UnknownEntity:
        return None


def soften(value: Any, dice: Random) -> None:
    """Give error codes and times values that kio can hold, at every depth."""
    for slot in value.__shape__.slots:
        held = getattr(value, slot.attribute)
        if isinstance(held, StructBase):
            soften(held, dice)
        elif isinstance(held, list):
            for element in held:
                if isinstance(element, StructBase):
                    soften(element, dice)
        elif isinstance(held, int) and not isinstance(held, bool) and not is_default(slot, held):
            if slot.attribute.endswith("error_code"):
                setattr(value, slot.attribute, dice.choice((0, 3, 35, -1)))
            elif any(word in slot.attribute for word in ("time", "_ms", "expir", "last_caught", "period")):
                setattr(value, slot.attribute, dice.choice((0, 1000, 1_700_000_000)))


COVERED = [name for name in message_names() if any(peer_of(name, v) for v in message_class(name).__schema__.versions)]


def test_kio_knows_most_of_the_protocol() -> None:
    assert len(COVERED) > 170


@pytest.mark.parametrize("name", COVERED)
def test_kio_reads_what_we_write_and_writes_the_same_bytes(name: str) -> None:
    cls = message_class(name)
    dice = Random(name)
    for version in cls.__schema__.versions:
        peer = peer_of(name, version)
        if peer is None:
            continue
        read, write = serial.entity_reader(peer), serial.entity_writer(peer)
        for _ in range(5):
            value = random_message(cls, version, dice, unknown_tags=False)
            soften(value, dice)
            encoded = value.encode(version)
            theirs, size = read(encoded, 0)
            assert size == len(encoded)
            out = io.BytesIO()
            write(out, theirs)
            assert out.getvalue() == encoded, f"v{version}"
