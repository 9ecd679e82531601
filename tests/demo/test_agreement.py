"""Views that agree, and every way in which they do not."""

from __future__ import annotations

import pyarrow as pa
import pytest

from kafkawire._demo.agreement import compare, fetched_records, produced_records, sent_records
from kafkawire._demo.clients import RecordPlace
from kafkawire._demo.events import Event
from kafkawire.inspect._tables.schemas import EXCHANGE_PARTITIONS, RECORDS

SENT = [
    (Event("t", b"k", b"a", [("h", None)], 5), RecordPlace(0, 7)),
    (Event("t", None, None, [], 6), RecordPlace(1, 0)),
]
TOPIC = sent_records(SENT)


def changed(column: str, value: object) -> pa.Table:
    rows = TOPIC.to_pylist()
    rows[1][column] = value
    return pa.Table.from_pylist(rows, TOPIC.schema)


def test_the_same_records_in_another_order_agree() -> None:
    found = compare(TOPIC, TOPIC.take([1, 0]))
    assert (found.sights, found.records, found.difference) == (2, 2, None)


@pytest.mark.parametrize(
    ("view", "results"),
    [
        (TOPIC.slice(1), "1 are missing, first t-0 offset 7"),
        (changed("offset", 3), "t-1 offset 3 is not in the topic"),
        (changed("value", b""), "t-1 offset 0: value is b'', not None"),
        (changed("key", b"k"), "t-1 offset 0: key is b'k', not None"),
        (changed("headers", [{"key": "h", "value": b""}]), "t-1 offset 0: headers is [('h', b'')], not []"),
        (pa.concat_tables([TOPIC, TOPIC]), "t-0 offset 7 is there more than once"),
    ],
)
def test_differences_are_named(view: pa.Table, results: str) -> None:
    assert compare(TOPIC, view).difference == results


def test_a_column_that_a_view_cannot_know_is_left_out_where_it_is_named_only() -> None:
    other = changed("timestamp", 9)
    assert compare(TOPIC, other, unknown={"timestamp": ("t",)}).difference is None
    assert "timestamp is" in (compare(TOPIC, other, unknown={"timestamp": ("u",)}).difference or "")


def test_no_headers_are_an_empty_list_of_headers() -> None:
    assert compare(TOPIC, changed("headers", None)).difference is None


def test_on_the_wire_a_record_may_be_seen_twice_if_it_is_the_same_each_time() -> None:
    assert compare(TOPIC, pa.concat_tables([TOPIC, TOPIC]), again=True).sights == 4
    assert compare(TOPIC, pa.concat_tables([TOPIC, changed("key", b"x")]), again=True).difference is not None


def test_a_capture_places_what_was_produced_by_the_answers_that_accepted_it() -> None:
    rows = [
        {"source": "request", "conn_id": 1, "seq": seq, "topic": "t", "partition": partition, "offset": offset}
        | {"timestamp": ts * 1000, "key": key, "value": value, "headers": headers}
        for seq, partition, offset, ts, key, value, headers in (
            (1, 0, 2, 5, b"k", b"a", [{"key": "h", "value": None}]),
            (2, 1, 0, 6, None, None, []),
            (3, 1, 0, 6, None, b"refused", []),
        )
    ]
    answers = [
        {"conn_id": 1, "seq": seq, "api_key": 0, "topic": "t", "partition": part, "error_code": code, "base_offset": at}
        for seq, part, code, at in ((1, 0, 0, 5), (2, 1, 0, 0), (3, 1, 10, -1))
    ]
    records = pa.Table.from_pylist(rows, RECORDS)
    produced = produced_records(records, pa.Table.from_pylist(answers, EXCHANGE_PARTITIONS))
    assert compare(TOPIC, produced).difference is None
    assert fetched_records(records).num_rows == 0
