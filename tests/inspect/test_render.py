"""Trees as text and as JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kafkawire.inspect._explain.explain import Explanation, explain_message, explain_records, explain_request
from kafkawire.inspect._render.json import render_json
from kafkawire.inspect._render.text import render_text
from kafkawire.inspect._render.values import value_text
from kafkawire.messages import AlterClientQuotasRequest, MetadataRequest, MetadataResponse
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request

FRAME = encode_request(
    MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")]),
    version=9,
    correlation_id=7,
    client_id="demo",
)


def lines(explained: Explanation, **options: Any) -> list[str]:
    return list(render_text(explained, paint=lambda text, style: text, **options))


def test_text_has_offset_bytes_field_type_and_value_of_everything() -> None:
    assert lines(explain_request(FRAME)) == [
        "offset  bytes                 field                                    type              value",
        "     0  00 00 00 1c           size                                     int32             28",
        "     4                        header                                   RequestHeader v2",
        "     4  00 03                   request_api_key                        int16             3 (Metadata)",
        "     6  00 09                   request_api_version                    int16             9",
        "     8  00 00 00 07             correlation_id                         int32             7",
        '    12  00 04 64 65 6d 6f       client_id                              string?           "demo"',
        "    18  00                      tagged_fields                          tags              none",
        "    19                        body                                     MetadataRequest v9",
        "    19  02                      topics                                 "
        "compact []MetadataRequestTopic?  1 element",
        "    20                            [0]                                  MetadataRequestTopic",
        '    20  07 6f 72 64 65 72 73        name                               compact string    "orders"',
        "    27  00                          tagged_fields                      tags              none",
        "    28  01                      allow_auto_topic_creation              bool              true",
        "    29  00                      include_cluster_authorized_operations  bool              false",
        "    30  00                      include_topic_authorized_operations    bool              false",
        "    31  00                      tagged_fields                          tags              none",
    ]


def test_a_fault_stands_below_its_bytes() -> None:
    text = lines(explain_request(FRAME[:24], sized=True))
    assert text[-2].split() == ["20", "07", "6f", "72", "64", "name", "compact", "string", "4", "bytes", "undecoded"]
    assert text[-1].strip() == "^ expected a length of at most the 3 bytes left, found length 6 at offset 20"


def partitions(count: int) -> Explanation:
    partition = MetadataResponse.MetadataResponsePartition(replica_nodes=list(range(count)))
    message = MetadataResponse(topics=[MetadataResponse.MetadataResponseTopic(name="t", partitions=[partition])])
    return explain_message(message.encode(0), "MetadataResponse", 0)


def test_numbers_of_an_array_share_a_line_unless_everything_is_wanted() -> None:
    assert any(line.endswith("[0, 1, 2]") for line in lines(partitions(3)))
    assert any(line.endswith("18, 19, … 80 more]") for line in lines(partitions(100)))
    assert sum(line.split()[-2:] == ["int32", "99"] for line in lines(partitions(100), full=True)) == 1


def test_long_bytes_are_cut_unless_everything_is_wanted() -> None:
    builder = BatchBuilder()
    builder.append(None, bytes(range(64)))
    short, full = (lines(explain_records(builder.build()), full=full) for full in (False, True))
    assert any("00 01 02 03 04 …" in line for line in short)
    assert any(line.strip().endswith("3e 3f") for line in full)
    assert not any("…" in line for line in full)


def test_on_a_terminal_lines_fit_its_width() -> None:
    builder = BatchBuilder()
    builder.append(b"k" * 50, b"value " * 50, timestamp=1700000000123)
    for width in (120, 160):
        assert max(len(line) for line in lines(explain_records(builder.build()), width=width)) <= width


@pytest.mark.parametrize(
    ("width", "heading", "left_out"),
    [
        (80, ["offset", "bytes", "field", "value"], "types"),
        (60, ["offset", "field", "value"], "types and bytes"),
        (40, ["offset", "field", "value"], "types and bytes"),
    ],
)
def test_a_narrow_terminal_has_fewer_columns(width: int, heading: list[str], left_out: str) -> None:
    shown = lines(explain_request(FRAME), width=width)
    assert shown[0].split() == heading
    assert max(map(len, shown)) <= width
    assert shown[-1] == f"(no room for {left_out})"
    assert any(line.endswith("3 (Metadata)") for line in shown)


def test_unpacked_bytes_have_offsets_of_their_own() -> None:
    builder = BatchBuilder(compression="gzip")
    builder.append(None, b"hello")
    text = lines(explain_records(builder.build()))
    assert any(line.split()[0] == ">0" for line in text)
    assert any(line.endswith('b"hello"') for line in text)


def test_json_has_the_whole_tree() -> None:
    rendered = json.loads(json.dumps(render_json(explain_request(FRAME))))
    assert (rendered["kind"], rendered["message"], rendered["version"]) == ("request", "MetadataRequest", 9)
    assert rendered["faults"] == []
    size, header, body = rendered["tree"]
    assert size == {"name": "size", "offset": 0, "length": 4, "type": "int32", "bytes": "0000001c", "value": 28}
    assert header["children"][0]["note"] == "Metadata"
    assert body["children"][0]["children"][1]["children"][0]["value"] == "orders"


def test_json_lists_faults_with_their_paths() -> None:
    rendered = render_json(explain_request(FRAME[:24], sized=True))
    assert [fault["path"] for fault in rendered["faults"]] == ["size", "body.topics[0].name"]
    assert rendered["faults"][1]["offset"] == 20


def test_json_has_unpacked_bytes_and_no_floats_that_json_lacks() -> None:
    builder = BatchBuilder(compression="gzip")
    builder.append(None, b"hello")
    batch = render_json(explain_records(builder.build()))["tree"][0]
    record = batch["children"][-1]["unpacked"]["children"][0]
    assert record["children"][5]["value"] == b"hello".hex()
    entry = AlterClientQuotasRequest.EntryData(ops=[AlterClientQuotasRequest.OpData(value=float("inf"))])
    data = AlterClientQuotasRequest(entries=[entry]).encode(0)
    json.dumps(render_json(explain_message(data, "AlterClientQuotasRequest", 0)), allow_nan=False)


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        ("tab\there", None, '"tab\\there"'),
        ("\u202e", None, '"\\u202e"'),
        ("x" * 30, 12, '"xxxxxxxxx…"'),
        (b"", None, "empty"),
        (b'{"a": 1}', None, 'b"{"a": 1}"'),
        (b"\xff\xfe", None, "2 bytes"),
        (b"text " * 20, 30, 'b"text text text…" (100 bytes)'),
        ("é".encode() * 10, 12, 'b"é…" (20 bytes)'),
    ],
)
def test_values_read_well_and_cannot_steer_a_terminal(value: object, limit: int | None, text: str) -> None:
    assert value_text(value, limit) == text
