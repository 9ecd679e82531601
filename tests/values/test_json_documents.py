"""JSON documents that are unusual: numbers, halves of surrogate pairs, and sets that are checked in linear time."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator

from kafkawire.values import Decoder, MalformedValueError, Schema, SchemaType

SET = Schema('{"type": "array", "uniqueItems": true}', SchemaType.JSON)
ITEMS = st.recursive(
    st.none() | st.booleans() | st.integers(0, 1) | st.sampled_from([0.0, 1.0, "0", "1", ""]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("ab"), inner, max_size=2),
    max_leaves=3,
)


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])
def test_a_number_that_json_does_not_have_is_refused(text: str) -> None:
    with pytest.raises(MalformedValueError, match=f"{text} is not a number of JSON"):
        Decoder("json")(b'{"a": ' + text.encode() + b"}")


def test_a_number_too_large_for_a_double_stays_json() -> None:
    decoder = Decoder("json")
    assert json.dumps(decoder.plain(b'{"a": 1e999}'), allow_nan=False) == '{"a": "Infinity"}'
    assert decoder.column([b'{"a": -1e999}']).values.to_pylist() == ['{"a":"-Infinity"}']


def test_half_of_a_surrogate_pair_stays_escaped_in_a_column() -> None:
    found = Decoder("json").column([b'{"a": "\\ud800"}', b'{"a": "\\ud83d\\ude00"}'])
    assert found.faults == {}
    assert [json.loads(str(each)) for each in found.values.to_pylist()] == [{"a": "\ud800"}, {"a": "\U0001f600"}]


@given(items=st.lists(ITEMS, max_size=6))
def test_unique_items_are_those_of_the_library(items: list[Any]) -> None:
    try:
        Decoder("json", schema=SET)(json.dumps(items).encode())
        accepted = True
    except MalformedValueError:
        accepted = False
    assert accepted == Draft7Validator({"uniqueItems": True}).is_valid(items)


def test_unique_items_are_checked_in_linear_time() -> None:
    decoder, spent = Decoder("json", schema=SET), []
    for count in (2_000, 20_000):
        data = json.dumps([{"a": number} for number in range(count)]).encode()
        times = []
        for _ in range(3):
            began = process_time()
            decoder(data)
            times.append(process_time() - began)
        spent.append(min(times))
    assert spent[1] < 40 * spent[0]
