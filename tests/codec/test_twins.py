"""The compiled engine and its Python twin: the same results and the same errors, to the letter."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from tests.messages.samples import random_message

from kafkawire._codec import CodecError, ElementLimitError
from kafkawire.messages import (
    ApiVersionsResponse,
    FetchRequest,
    FetchResponse,
    HeartbeatResponse,
    message_class,
    message_names,
)

if TYPE_CHECKING:
    from kafkawire._codec.plan import Plan

engine = import_module("kafkawire._codec.engine")
compiled = pytest.importorskip("kafkawire._codec._engine", reason="the compiled engine was not built")


def outcome(function: Any, *arguments: Any) -> Any:
    try:
        return function(*arguments)
    except CodecError as error:
        return type(error), str(error), getattr(error, "offset", None), error.path


def reread(form: Any, plan: Plan, data: bytearray) -> Any:
    """The bytes of what was read, which unlike a NaN equal themselves, and where it ended."""
    value, end = form.decode_prefix(plan, data)
    form.decode(plan, data, 0, True)
    return engine.encode(plan, value), end, repr(value)


def plan_of(name: str, version: int) -> Plan:
    cls = message_class(name)
    return cls.__plans__.get(version) or cls._compile(version)


@pytest.mark.parametrize("name", message_names())
def test_both_forms_read_the_same_and_fail_the_same(name: str) -> None:
    cls = message_class(name)
    dice = Random(name)
    for version in cls.__schema__.versions:
        plan = plan_of(name, version)
        value = random_message(cls, version, dice)
        encoded = engine.encode(plan, value)
        assert compiled.encode(plan, value) == encoded
        assert compiled.encode_parts(plan, value) == engine.encode_parts(plan, value)
        assert outcome(compiled.decode, plan, encoded + b"x") == outcome(engine.decode, plan, encoded + b"x")
        for _ in range(20):
            broken = bytearray(encoded[: dice.randrange(len(encoded) + 1)] + dice.randbytes(dice.randrange(4)))
            if broken:
                broken[dice.randrange(len(broken))] = dice.randrange(256)
            assert outcome(reread, compiled, plan, broken) == outcome(reread, engine, plan, broken)


@pytest.mark.parametrize(
    "value",
    [
        FetchResponse(throttle_time_ms="x"),  # type: ignore[arg-type]  # each mistake is the test
        FetchResponse(throttle_time_ms=1 << 33),
        FetchResponse(responses=None),  # type: ignore[arg-type]
        FetchResponse(responses=[None]),  # type: ignore[list-item]
        FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic_id="no")]),  # type: ignore[arg-type]
        FetchResponse(
            responses=[
                FetchResponse.FetchableTopicResponse(
                    partitions=[FetchResponse.PartitionData(records="text")]  # type: ignore[arg-type]
                )
            ]
        ),
        FetchResponse(unknown_tagged_fields=((0, b""),)),
        FetchResponse(unknown_tagged_fields=7),  # type: ignore[arg-type]
        FetchResponse(node_endpoints=[FetchResponse.NodeEndpoint(host=None)]),  # type: ignore[arg-type]
        ApiVersionsResponse(),
    ],
    ids=range(10),
)
def test_both_forms_refuse_the_same_values_with_the_same_words(value: object) -> None:
    for version in (3, 12, 16):
        plan = plan_of("FetchResponse", version)
        assert outcome(compiled.encode, plan, value) == outcome(engine.encode, plan, value)


def test_the_collector_is_as_it_was_after_reading() -> None:
    plan = plan_of("ApiVersionsResponse", 3)
    data = engine.encode(plan, ApiVersionsResponse())
    for read in (data, b"\x00"):
        assert gc.isenabled()
        outcome(compiled.decode, plan, read)
        assert gc.isenabled()
    gc.disable()
    try:
        compiled.decode(plan, data)
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_nothing_leaks_on_either_outcome() -> None:
    plan = plan_of("FetchResponse", 12)
    records = bytes(2000)
    partitions = [FetchResponse.PartitionData(records=records)]
    value = FetchResponse(responses=[FetchResponse.FetchableTopicResponse(topic="t", partitions=partitions)])
    data = compiled.encode(plan, value)
    counts = []
    for _ in range(3):
        for cut in range(60):
            outcome(compiled.decode, plan, data[:cut])
        for _ in range(50):
            compiled.encode_parts(plan, compiled.decode(plan, data))
        counts.append((sys.getrefcount(data), sys.getrefcount(records), sys.getrefcount(None) // 1000))
    assert counts[0][:2] == counts[2][:2]


@pytest.mark.parametrize("form", [engine, compiled])
def test_a_message_may_hold_so_many_elements_and_no_more(form: Any) -> None:
    plan = plan_of("FetchRequest", 12)
    topics = [FetchRequest.FetchTopic(topic="t", partitions=[FetchRequest.FetchPartition()] * 3)] * 4
    data = engine.encode(plan, FetchRequest(topics=topics))
    assert len(form.decode_prefix(plan, data, 0, 16)[0].topics) == 4
    with pytest.raises(
        ElementLimitError, match="expected at most 15 elements in the whole message, found 16"
    ) as caught:
        form.decode_prefix(plan, data, 0, 15)
    assert caught.value.path == "topics[3].partitions"


@pytest.mark.parametrize("form", [engine, compiled])
def test_unknown_tags_count_as_elements(form: Any) -> None:
    plan = plan_of("HeartbeatResponse", 4)
    value = HeartbeatResponse()
    value.unknown_tagged_fields = ((7, b""), (8, b""))
    data = engine.encode(plan, value)
    assert form.decode_prefix(plan, data, 0, 2)[0] == value
    with pytest.raises(ElementLimitError):
        form.decode_prefix(plan, data, 0, 1)
