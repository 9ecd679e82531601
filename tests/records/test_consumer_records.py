"""The record of a consumer as a value, in both forms."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
import weakref
from collections.abc import Sequence
from typing import Any

import pytest

from kafkawire.client import ConsumerRecord
from kafkawire.records import BatchBuilder, consumer_records, read_batches
from kafkawire.records._kernel import consumer_records as python_form

pytestmark = pytest.mark.twin

FIELDS: tuple[Any, ...] = ("orders", 3, 7, 1_700_000_000_000, 0, b"k", b"v", (("trace", b"1"), ("empty", None)), 5)
NAMES = (
    *("topic", "partition", "offset", "timestamp", "timestamp_type"),
    *("key", "value", "headers", "leader_epoch"),
)


def decoded(count: int = 1, **fields: Any) -> list[ConsumerRecord]:
    builder = BatchBuilder(base_offset=7, leader_epoch=5, **fields)
    for _ in range(count):
        builder.append(b"k", b"v", timestamp=1_700_000_000_000, headers=(("trace", b"1"), ("empty", None)))
    (batch,) = read_batches(builder.build())
    return consumer_records.build_records(batch.records(), "orders", 3, batch.timestamp_type, batch.leader_epoch)


def made() -> ConsumerRecord:
    return ConsumerRecord(*FIELDS)


@pytest.fixture(params=["decoded", "constructed"])
def record(request: pytest.FixtureRequest) -> ConsumerRecord:
    return decoded()[0] if request.param == "decoded" else made()


def test_fields_by_name_by_position_and_unpacked(record: ConsumerRecord) -> None:
    assert tuple(getattr(record, name) for name in NAMES) == FIELDS
    assert tuple(record) == FIELDS
    assert (len(record), record[2], record[-1], record[:2]) == (9, 7, 5, ("orders", 3))
    assert record._asdict() == dict(zip(NAMES, FIELDS, strict=True))
    topic, partition, offset, *_ = record
    assert (topic, partition, offset) == ("orders", 3, 7)
    with pytest.raises(IndexError):
        record[9]


def test_the_leader_epoch_is_unknown_unless_given() -> None:
    assert ConsumerRecord(*FIELDS[:-1]).leader_epoch == -1
    named: dict[str, Any] = dict(zip(NAMES, FIELDS, strict=True))
    assert ConsumerRecord(**named) == made()
    with pytest.raises(TypeError):
        ConsumerRecord(*FIELDS[:-2])
    with pytest.raises(TypeError):
        ConsumerRecord(*(*FIELDS, 1))


def test_equal_fields_make_equal_records_with_one_hash(record: ConsumerRecord) -> None:
    assert record == made()
    assert hash(record) == hash(made()) == hash(FIELDS)
    assert {record, made()} == {record}
    assert record != record._replace(offset=8)
    fields: object = tuple(record)
    assert record != fields
    assert record != None  # noqa: E711 - the operator is tested


def test_an_unhashable_value_makes_an_unhashable_record(record: ConsumerRecord) -> None:
    with pytest.raises(TypeError, match="unhashable"):
        hash(record._replace(value={}))


def test_records_sort_by_topic_partition_and_offset(record: ConsumerRecord) -> None:
    others = [record._replace(offset=9), record._replace(topic="a"), record._replace(partition=1), record]
    places = [(each.topic, each.partition, each.offset) for each in sorted(others)]
    assert places == sorted(places)
    assert record < record._replace(offset=8) <= record._replace(offset=8)
    with pytest.raises(TypeError):
        sorted([record, FIELDS])  # type: ignore[type-var]  # they have no common order


def test_a_record_is_read_only(record: ConsumerRecord) -> None:
    for name in NAMES:
        with pytest.raises(AttributeError):
            setattr(record, name, 1)
        with pytest.raises(AttributeError):
            delattr(record, name)
    with pytest.raises((AttributeError, TypeError)):
        record.other = 1  # type: ignore[attr-defined]  # it has no such attribute
    assert record == made()


def test_replacing_a_field_leaves_the_record_as_it_is(record: ConsumerRecord) -> None:
    changed = record._replace(key="decoded", value=[1])
    assert (changed.key, changed.value, changed.offset, changed.headers) == ("decoded", [1], 7, record.headers)
    assert record == made()
    with pytest.raises(TypeError):
        record._replace(size=1)


def test_the_text_of_a_record_names_its_fields(record: ConsumerRecord) -> None:
    fields = ", ".join(f"{name}={value!r}" for name, value in zip(NAMES, FIELDS, strict=True))
    assert repr(record) == f"ConsumerRecord({fields})"


def test_a_record_is_matched_by_position_and_name(record: ConsumerRecord) -> None:
    match record:
        case ConsumerRecord("orders", partition, offset=offset):
            assert (partition, offset) == (3, 7)
        case _:
            pytest.fail("not matched")


def test_a_record_is_a_sequence_as_a_named_tuple_is(record: ConsumerRecord) -> None:
    assert isinstance(record, Sequence)
    assert (record.index(7), record.count(0), record.count(8)) == (2, 1, 0)
    with pytest.raises(ValueError, match="not in tuple"):
        record.index("orders", 1)
    subject: object = record
    match subject:
        case [topic, partition, *_]:
            assert (topic, partition) == ("orders", 3)
        case _:
            pytest.fail("not matched")


def test_copies_are_equal(record: ConsumerRecord) -> None:
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(record, protocol)) == record
    assert copy.copy(record) == copy.deepcopy(record) == record


@pytest.mark.parametrize("form", ["python", ""])
def test_a_pickled_record_is_read_in_either_form(record: ConsumerRecord, form: str) -> None:
    code = "import pickle, sys; print(pickle.load(sys.stdin.buffer))"
    environment = {**os.environ, "KAFKAWIRE_IMPL": form}
    run = subprocess.run(
        [sys.executable, "-c", code], input=pickle.dumps(record), capture_output=True, check=True, env=environment
    )
    assert run.stdout.decode().strip() == repr(record)


class Refers:
    """A value that refers back to its record."""

    record: ConsumerRecord


def test_a_record_in_a_cycle_is_collected(record: ConsumerRecord) -> None:
    value = Refers()
    value.record = record._replace(value=value)
    watched = weakref.ref(value)
    del value
    gc.collect()
    assert watched() is None


def test_a_long_chain_of_records_is_freed() -> None:
    code = (
        "from kafkawire.client import ConsumerRecord\n"
        "chain = None\n"
        "for _ in range(1_000_000): chain = ConsumerRecord('orders', 0, 7, 0, 0, None, chain, ())\n"
        "del chain\n"
        "print('freed')"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert run.stdout == b"freed\n"


def test_many_records_are_made_and_freed_in_any_order() -> None:
    kept: list[ConsumerRecord] = []
    for turn in range(20):
        found = decoded(1_000)
        made_too = [each._replace(value=turn) for each in found]
        kept += found[turn::50]
        kept += made_too[turn::50]
        gc.collect(0)
    assert {each.value for each in kept} == {b"v", *range(20)}
    assert all(each[:2] == ("orders", 3) and each.headers[0] == ("trace", b"1") for each in kept)


def test_both_forms_of_the_class_have_the_same_names() -> None:
    forms: tuple[Any, Any] = (python_form.ConsumerRecord, type(decoded()[0]))
    first, second = ({name for name in dir(form) if not name.startswith("__")} for form in forms)
    assert first == second
    assert all(form._fields == form.__match_args__ == NAMES for form in forms)
