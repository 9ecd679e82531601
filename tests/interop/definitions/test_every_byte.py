"""Kafka's generated classes and ours agree on the bytes and the JSON of random values, in every message and version.

Rules:
- Values are drawn from a seed of message and version. Half of the samples have unknown tags, which JSON does not have.
- Kafka decodes our bytes, encodes them again, and writes the JSON. It also encodes the message that our JSON describes.
- Kafka encodes each sample in another version too. Both refuse it, or both leave out the same ignorable fields.
- We refuse more than Kafka: lengths below -1, and tagged fields that are not as long as they say. We accept nothing
  that Kafka refuses, and read the rest as Kafka does.
- Kafka's JSON has no content of a records field. The other fields of that message are compared.
"""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.definitions import jars
from tests.interop.definitions.codec_process import KafkaCodec, Refused
from tests.interop.definitions.description import parse_versions
from tests.messages.samples import random_message

from kafkawire.messages import CodecError, message_class, message_names
from kafkawire.messages.errors import ErrorCode
from kafkawire.messages.schema import NO_VERSIONS, Versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.interop.definitions.codec_process import Answer, Outcome
    from tests.interop.definitions.jars import Jars

    from kafkawire.messages import Message
    from kafkawire.messages.schema import Struct

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
SAMPLES = 60
DAMAGED_SAMPLES = 20
SOURCES = ("clients", "modules", "removed")
MOST_SHOWN = 20


@pytest.fixture(scope="module", params=SOURCES)
def codec(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCodec]:
    """One process after the other, with the classes of one source."""
    found = KafkaCodec(getattr(jars, request.param)(), tmp_path_factory.mktemp("codec") / "errors.txt")
    yield found
    found.close()


def test_bytes_and_json_of_random_values_are_equal(codec: KafkaCodec) -> None:
    wrong: list[str] = []
    compared = 0
    for name, versions in covered(codec.jars):
        for version in versions:
            wrong += compare(codec, name, version, versions)
            compared += 1
    assert not wrong, f"{len(wrong)} samples differ:\n" + "\n".join(wrong[:MOST_SHOWN])
    assert compared > 50


def test_damaged_bytes_are_refused_or_read_as_kafka_reads_them(codec: KafkaCodec) -> None:
    wrong = []
    for name, versions in covered(codec.jars):
        cls, dice = message_class(name), Random(f"damaged {name}")
        for version in versions:
            samples = [
                damaged(random_message(cls, version, dice).encode(version), dice) for _ in range(DAMAGED_SAMPLES)
            ]
            theirs = kafka_version(codec.jars, name, version)
            for data, answer in zip(
                samples, codec.convert(name, theirs, theirs, [(data, {}) for data in samples]), strict=True
            ):
                ours = _read_again(cls, data, version)
                if not isinstance(ours, Refused) and ours != answer.encoded:
                    wrong.append(f"{name} v{version} {data.hex()}: {_shown(ours)}, Kafka's {_shown(answer.encoded)}")
    assert not wrong, f"{len(wrong)} samples differ:\n" + "\n".join(wrong[:MOST_SHOWN])


def test_every_version_of_every_schema_is_compared() -> None:
    found = {(name, version) for source in SOURCES for name, of in covered(getattr(jars, source)()) for version in of}
    every = {(name, version) for name in message_names() for version in message_class(name).__schema__.versions}
    assert found == every


@pytest.mark.parametrize("codec", ["clients"], indirect=True)
def test_error_codes_have_the_names_exceptions_and_retries_of_kafka(codec: KafkaCodec) -> None:
    ours = [
        {
            "code": error.value,
            "name": error.name,
            "exception": error.exception,
            "retriable": error.retriable,
            "refresh_metadata": error.refresh_metadata,
        }
        for error in ErrorCode
    ]
    assert sorted(codec.errors(), key=lambda row: row["code"]) == ours


def covered(source: Jars) -> Iterator[tuple[str, Versions]]:
    """The messages of a source and the versions that are compared with it, as our schemas number them."""
    for name in source.classes:
        if name not in message_names():
            continue
        schema = message_class(name).__schema__
        versions = parse_versions(source.definitions[name]["validVersions"])
        if source is jars.removed():
            newest = jars.newest_definitions().get(name)
            still = NO_VERSIONS if newest is None else parse_versions(newest["validVersions"])
            if schema.stored == "key":
                versions = Versions(0, 0)  # an older release numbers it by its type
            if still:
                versions = Versions(versions.first, still.first - 1)
        versions &= schema.versions
        if versions:
            yield name, versions


def compare(codec: KafkaCodec, name: str, version: int, versions: Versions) -> list[str]:
    """The differences in random values of one version."""
    cls, dice = message_class(name), Random(f"{name} v{version}")
    samples = [random_message(cls, version, dice, unknown_tags=number % 2 == 1) for number in range(SAMPLES)]
    other = dice.choice([*versions])
    pairs = [(sample.encode(version), sample.to_json(version)) for sample in samples]
    theirs = [kafka_version(codec.jars, name, each) for each in (version, other)]
    answers = codec.convert(name, theirs[0], theirs[1], pairs)
    with_json = name in codec.jars.converters
    return [
        f"{name} v{version}: {what} of {sample!r}"
        for sample, (data, obj), answer in zip(samples, pairs, answers, strict=True)
        for what in differences(sample, version, other, data, obj, answer, with_json=with_json)
    ]


def damaged(data: bytes, dice: Random) -> bytes:
    """The bytes cut off, with a byte changed, or with a byte inserted."""
    at = dice.randrange(len(data)) if data else 0
    kind = dice.choice(("cut", "change", "insert"))
    if kind == "cut":
        return data[:at]
    byte = bytes([dice.choice((0, 1, 2, 0x7F, 0x80, 0xFF, dice.randrange(256)))])
    return data[:at] + byte + data[at + (kind == "change") :]


def kafka_version(source: Jars, name: str, version: int) -> int:
    """The number that a release gives to one of our versions: releases before 4.1 number a key by its type."""
    schema = message_class(name).__schema__
    is_typed = schema.stored == "key" and version not in parse_versions(source.definitions[name]["validVersions"])
    return schema.key or 0 if is_typed else version


def differences(
    sample: Message, version: int, other: int, data: bytes, obj: dict[str, Any], answer: Answer, *, with_json: bool
) -> Iterator[str]:
    """The differences in one sample."""
    if answer.encoded != data:
        yield f"the bytes are {_shown(data)}, Kafka's {_shown(answer.encoded)}"
    if not _agree(_encoded(sample, other), answer.other_version):
        yield f"in version {other}: {_shown(_encoded(sample, other))}, Kafka's {_shown(answer.other_version)}"
    if not with_json:
        return
    if isinstance(answer.json, Refused):
        yield f"Kafka has no JSON: {answer.json}"
        return
    theirs = _with_records(json.loads(answer.json), obj, sample.__schema__.root)
    if theirs != obj:
        yield f"the JSON is {json.dumps(obj)}, Kafka's {answer.json!r}"
        return
    again = type(sample).from_json(theirs, version).encode(version)
    if answer.from_json != again:
        yield f"the bytes from JSON are {_shown(again)}, Kafka's {_shown(answer.from_json)}"


def _encoded(message: Message, version: int) -> Outcome:
    try:
        return message.encode(version)
    except CodecError as error:
        return Refused(str(error))


def _read_again(cls: type[Message], data: bytes, version: int) -> Outcome:
    try:
        return cls.decode(data, version).encode(version)
    except CodecError as error:
        return Refused(str(error))


def _agree(one: Outcome, two: Outcome) -> bool:
    return one == two or (isinstance(one, Refused) and isinstance(two, Refused))


def _shown(outcome: Outcome) -> str:
    return f"refused ({outcome})" if isinstance(outcome, Refused) else outcome.hex()


def _with_records(theirs: Any, ours: Any, struct: Struct) -> Any:
    """Kafka's JSON with the content of our records fields."""
    for field in struct.fields:
        name = field.json_name
        if name not in theirs or name not in ours:
            continue
        if field.type == "records" and theirs[name] == "":
            theirs[name] = ours[name]
        elif field.struct is not None and theirs[name] is not None and ours[name] is not None:
            both = zip(theirs[name], ours[name], strict=False) if field.is_array else [(theirs[name], ours[name])]
            for one, two in both:
                _with_records(one, two, field.struct)
    return theirs
