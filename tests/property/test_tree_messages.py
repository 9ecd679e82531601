"""The tree of every message in every version: its leaves tile the bytes, and it sees what the engine sees."""

from __future__ import annotations

import json
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.inspect.tree_values import assert_tiles, struct_value
from tests.messages.samples import random_message

from kafkawire.inspect._explain.embedded import plan_of
from kafkawire.inspect._explain.explain import explain_message, explain_request, explain_response
from kafkawire.messages import DecodeError, api, apis, message_class, message_names
from kafkawire.wire import encode_request, encode_response


@pytest.mark.parametrize("name", message_names())
def test_the_tree_tiles_and_agrees_with_the_engine(name: str) -> None:
    @settings(max_examples=8)
    @given(st.sampled_from(list(message_class(name).__schema__.versions)), st.integers(0, 1 << 32))
    def check(version: int, seed: int) -> None:
        compare(name, version, seed)

    for version in message_class(name).__schema__.versions:
        compare(name, version, version)
    check()


def compare(name: str, version: int, seed: int) -> None:
    dice = Random(seed)
    encoded = random_message(message_class(name), version, dice).encode(version)
    compare_verdicts(name, version, encoded)
    compare_verdicts(name, version, encoded[: dice.randrange(len(encoded) + 1)])
    if encoded:
        corrupt = bytearray(encoded)
        corrupt[dice.randrange(len(corrupt))] ^= dice.randrange(1, 256)
        compare_verdicts(name, version, bytes(corrupt))


def compare_verdicts(name: str, version: int, data: bytes) -> None:
    """Tree and engine see the same values, or refuse the same bytes at the same place for the same reason."""
    cls = message_class(name)
    explained = explain_message(data, name, version)
    assert_tiles(explained.space)
    if explained.whole:
        shown, decoded = struct_value(plan_of(cls, version), explained.space.root), cls.decode(data, version)
        # A float that is not a number does not equal itself; its text does.
        assert shown == decoded or json.dumps(shown.to_json(version)) == json.dumps(decoded.to_json(version))
        return
    last = list(explained.space.leaves())[-1]
    assert last.fault is not None
    assert last.offset + last.length == len(data)
    with pytest.raises(DecodeError) as caught:
        cls.decode(data, version)
    error = caught.value
    assert (last.fault.offset, last.fault.expected, last.fault.found) == (error.offset, error.expected, error.found)


@pytest.mark.parametrize("key", [each.key for each in apis()])
def test_whole_frames_tile_in_both_directions(key: int) -> None:
    which, dice = api(key), Random(key)
    for version in which.versions:
        request = random_message(which.request, version, dice)
        explained = explain_request(encode_request(request, version=version, correlation_id=1, client_id="c"))
        assert explained.whole, version
        assert_tiles(explained.space)
        response = random_message(which.response, version, dice)
        frame = encode_response(response, api_key=key, version=version, correlation_id=1)
        explained = explain_response(frame, key, version)
        assert explained.whole, version
        assert_tiles(explained.space)
