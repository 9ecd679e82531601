"""Files without a server: nothing external, nothing that data could run, and no values unless asked for."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from tests.inspect.captures import merge, write_pcap
from tests.inspect.incidents import INCIDENTS

from kafkawire.cli.main import main
from kafkawire.inspect import explain_records, explain_request
from kafkawire.messages import MetadataRequest, ProduceRequest
from kafkawire.records import BatchBuilder
from kafkawire.web import html_of_frames
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from pathlib import Path


def produce(codec: str) -> bytes:
    batch = BatchBuilder(compression=codec)
    batch.append(b"secret-key", b"secret-value", headers=[("trace", b"secret-header")])
    topic = ProduceRequest.TopicProduceData
    partition = ProduceRequest.PartitionProduceData(index=0, records=batch.build())
    request = ProduceRequest(acks=-1, topic_data=[topic(name="orders", partition_data=[partition])])
    return bytes(encode_request(request, version=9, correlation_id=7, client_id="shop"))


@pytest.mark.parametrize("codec", ["none", "gzip"])
def test_values_are_blanked_with_their_lengths_unless_asked_for(codec: str) -> None:
    frames = [("frame", explain_request(produce(codec)))]
    blanked, whole = html_of_frames(frames, "x"), html_of_frames(frames, "x", with_values=True)
    for word in ("secret-key", "secret-value", "secret-header"):
        assert word not in blanked
        assert word in whole
        assert word.encode().hex(" ") not in " ".join(blanked.split())
    assert "13 bytes, blanked" in blanked  # the value and its length
    assert "orders" in blanked


def readable(page: str) -> bytes:
    """The bytes that the hex of a page shows, those that are blanked as zeros."""
    lines = re.findall(r"^ *(?:<pre[^>]*>)? *\d+  ((?:[0-9a-f·]{2} ?)+)", page.replace("<pre", "\n<pre"), re.MULTILINE)
    return bytes.fromhex("".join(lines).replace(" ", "").replace("··", "00"))


@pytest.mark.parametrize("damage", ["checksum", "count", "length", "cut", "cut in the record"])
def test_the_values_of_a_damaged_batch_are_blanked(damage: str) -> None:
    builder = BatchBuilder()
    for _ in range(3):
        builder.append(b"secret-key", b"secret-value", headers=[("trace", b"secret-header")])
    data = bytearray(builder.build())
    if damage == "checksum":
        data[17] ^= 1
    elif damage == "count":
        data[57:61] = (1).to_bytes(4, "big")
    elif damage == "length":
        data[61] ^= 0x7E
    elif damage == "cut":
        del data[-5:]
    else:
        del data[90:]
    frames = [("frame", explain_records(bytes(data)))]
    whole, blanked = html_of_frames(frames, "x", with_values=True), html_of_frames(frames, "x")
    assert b"secret-key" in readable(whole)
    assert b"secret" not in readable(blanked)
    assert "secret" not in re.sub(r"\s", "", blanked)


def test_the_values_behind_the_end_of_the_tree_are_blanked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kafkawire.web._export.html_file.MOST_ROWS", 60)
    builder = BatchBuilder()
    for _ in range(50):
        builder.append(b"secret-key", b"secret-value")
    page = html_of_frames([("frame", explain_records(bytes(builder.build())))], "x")
    assert "The tree goes on" in page
    assert b"secret" not in readable(page)


def test_the_file_has_no_external_reference_and_one_script() -> None:
    page = html_of_frames([("frame", explain_request(produce("none")))], "x")
    assert re.findall(r"(?:src|href)=\"(?!#)", page) == []
    assert page.count("<script") == 1
    assert "default-src 'none'" in page


def test_hostile_names_stay_text() -> None:
    name = "<script>alert(1)</script>"
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=name)])
    frame = explain_request(bytes(encode_request(request, version=8, correlation_id=1, client_id=name)))
    page = html_of_frames([(name, frame)], name, with_values=True)
    assert name not in page
    assert "&lt;script&gt;" in page


def test_decode_writes_a_file(tmp_path: Path) -> None:
    target = tmp_path / "frame.html"
    assert main(["decode", produce("none").hex(), "--html", str(target)]) == 0
    assert "ProduceRequest v9" in target.read_text("utf-8")


def test_diagnose_writes_findings_that_link_to_their_frames(tmp_path: Path) -> None:
    capture, target = tmp_path / "x.pcap", tmp_path / "findings.html"
    capture.write_bytes(write_pcap(merge(INCIDENTS["hanging transaction"].shows()), nanoseconds=True))
    main(["diagnose", str(capture), "--html", str(target)])
    page = target.read_text("utf-8")
    links = re.findall(r'href="#(frame\d+)"', page)
    assert links
    assert all(f'id="{link}"' in page for link in links)
