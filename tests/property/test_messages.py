"""Every message in every version: what is written is read back, and bad bytes raise nothing but DecodeError."""

from __future__ import annotations

import os
import tracemalloc
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.messages.samples import random_message

from kafkawire._codec import engine as chosen
from kafkawire.messages import DecodeError, Message, message_class, message_names

pytestmark = pytest.mark.twin


def check_round_trip(cls: type[Message], version: int, seed: int) -> None:
    value = random_message(cls, version, Random(seed))
    encoded = value.encode(version)
    decoded = cls.decode(encoded, version)
    assert decoded == value
    assert decoded.encode(version) == encoded
    assert b"".join(decoded.encode_parts(version)) == encoded
    assert cls.decode_prefix(b"\xff" + encoded + b"\xff", version, 1) == (value, len(encoded) + 1)
    plain = random_message(cls, version, Random(seed), unknown_tags=False)
    assert cls.from_json(plain.to_json(version), version) == plain


@pytest.mark.parametrize("name", message_names())
def test_a_random_value_survives_in_every_version(name: str) -> None:
    cls = message_class(name)

    @settings(max_examples=10)
    @given(st.sampled_from(list(cls.__schema__.versions)), st.integers(0, 1 << 32))
    def check(version: int, seed: int) -> None:
        check_round_trip(cls, version, seed)

    for version in cls.__schema__.versions:
        check_round_trip(cls, version, version)
    check()


@pytest.mark.parametrize("name", message_names())
def test_cut_and_corrupted_bytes_raise_only_decode_errors(name: str) -> None:
    cls = message_class(name)
    dice = Random(name)
    for version in cls.__schema__.versions:
        candidates = [random_message(cls, version, dice).encode(version) for _ in range(8)]
        data = max((each for each in candidates if len(each) < 500), key=len, default=min(candidates, key=len))[:2000]
        for end in range(len(data)):
            refuse(cls, data[:end], version)
        for place in range(len(data)):
            corrupt = bytearray(data)
            corrupt[place] ^= dice.randrange(1, 256)
            refuse(cls, corrupt, version)


def refuse(cls: type[Message], data: bytes | bytearray, version: int) -> None:
    """Reading either gives a message or a DecodeError that stands within the bytes."""
    try:
        cls.decode(data, version)
    except DecodeError as error:
        assert 0 <= error.offset <= len(data)  # noqa: PT017 - a message is as good an outcome
        assert error.title == f"{cls.__name__} v{version}"  # noqa: PT017


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchRequest", "ProduceRequest", "JoinGroupResponse"])
def test_every_cut_of_a_message_without_optional_ends_is_refused(name: str) -> None:
    cls = message_class(name)
    for version in cls.__schema__.versions:
        data = random_message(cls, version, Random(version)).encode(version)
        for end in range(len(data)):
            with pytest.raises(DecodeError):
                cls.decode(data[:end], version)


@pytest.mark.parametrize("name", ["MetadataResponse", "FetchResponse", "ApiVersionsResponse", "ProduceRequest"])
def test_a_promise_of_many_elements_allocates_nothing(name: str) -> None:
    cls = message_class(name)
    with pytest.raises(DecodeError):
        cls.decode(b"", cls.__schema__.versions.last)
    tracemalloc.start()
    try:
        for version in cls.__schema__.versions:
            for filling in (b"\xff\xff\xff\xff\x0f", b"\x7f\xff\xff\xff", b"\xff", b"\x80"):
                for repeat in (1, 50, 1000):
                    data = (filling * repeat)[:4000]
                    refuse(cls, b"", version)
                    tracemalloc.reset_peak()
                    before = tracemalloc.get_traced_memory()[0]
                    refuse(cls, data, version)
                    assert tracemalloc.get_traced_memory()[1] - before < 20_000 + 64 * len(data)
    finally:
        tracemalloc.stop()


def test_the_form_under_test_is_the_one_asked_for() -> None:
    wish = os.environ.get("KAFKAWIRE_IMPL")
    if wish is not None:
        assert chosen.__name__.rpartition(".")[2] == {"python": "engine", "compiled": "_engine"}[wish]
