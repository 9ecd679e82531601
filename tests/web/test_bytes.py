"""The bytes view: windows of trees and of hex, links both ways, versions, differences, copies."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest

from kafkawire.inspect import explain_request
from kafkawire.messages import MetadataRequest, MetadataResponse, ProduceRequest, message_names
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from tests.web.page_client import RunningPage

Topic = MetadataRequest.MetadataRequestTopic


def produce(records: int = 3, codec: str = "none", value: bytes = b"value") -> bytes:
    batch = BatchBuilder(compression=codec)
    for number in range(records):
        batch.append(b"k%d" % number, value)
    topic = ProduceRequest.TopicProduceData
    partition = ProduceRequest.PartitionProduceData(index=0, records=batch.build())
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic(name="orders", partition_data=[partition])])
    return bytes(encode_request(request, version=9, correlation_id=7, client_id="shop"))


def opened(page: RunningPage, data: bytes, **more: object) -> Any:
    return page.post("/api/bytes", {"text": data.hex(), **more})


def every_row(page: RunningPage, doc: str, rows: list[Any]) -> list[Any]:
    """All rows of a document, asking for the levels that were not sent."""
    found = []
    for row in rows:
        children = row.pop("c", [])
        while len(children) < row["k"]:
            more = page.get(f"/api/bytes/{doc}/rows?node={row['id']}&start={len(children)}&count=200")["rows"]
            assert more
            children += more
        found += [row, *every_row(page, doc, children)]
    return found


def test_rows_are_the_nodes_of_the_tree(page: RunningPage) -> None:
    frame = produce()
    answer = opened(page, frame)
    rows = every_row(page, answer["doc"], answer["rows"])
    space = explain_request(frame).space
    leaves = [(leaf.path, leaf.offset, leaf.length) for leaf in space.leaves()]
    assert [(row["p"], row["o"], row["l"]) for row in rows if not row["k"] and row["l"]] == leaves
    assert answer["frames"][0]["title"] == "ProduceRequest v9"
    assert (answer["faults"], answer["searched"]) == ([], True)


def test_every_byte_leads_to_its_leaf_and_back(page: RunningPage) -> None:
    frame = produce()
    doc = opened(page, frame)["doc"]
    for leaf in explain_request(frame).space.leaves():
        for offset in {leaf.offset, leaf.offset + leaf.length - 1}:
            chain = page.get(f"/api/bytes/{doc}/reveal?buffer=b0&offset={offset}")["chain"]
            assert chain[-1]["p"] == leaf.path
            again = page.get(f"/api/bytes/{doc}/reveal?frame=0&path={leaf.path}")["chain"]
            assert again[-1]["id"] == chain[-1]["id"]


def test_unpacked_records_have_a_buffer_of_their_own(page: RunningPage) -> None:
    answer = opened(page, produce(50, "zstd"))
    doc = answer["doc"]
    holder = next(row for row in every_row(page, doc, answer["rows"]) if "u" in row)
    inside = page.get(f"/api/bytes/{doc}/reveal?buffer={holder['id']}&offset=0")["chain"][-1]
    assert inside["b"] == holder["id"]
    unpacked = page.octets(f"/api/bytes/{doc}/raw?buffer={holder['id']}")
    assert len(unpacked) == holder["u"]
    assert unpacked.count(b"value") == 50


def test_a_tree_of_many_nodes_is_sent_in_windows(page: RunningPage) -> None:
    request = MetadataRequest(topics=[Topic(name=f"topic-{number}") for number in range(30_000)])
    frame = bytes(encode_request(request, version=8, correlation_id=1, client_id="c"))
    answer = opened(page, frame)
    topics = page.get(f"/api/bytes/{answer['doc']}/reveal?frame=0&path=body.topics")["chain"][-1]
    assert topics["k"] == 30_001
    window = page.get(f"/api/bytes/{answer['doc']}/rows?node={topics['id']}&start=29000&count=100000")
    assert len(window["rows"]) == 200
    assert window["rows"][0]["n"] == "[28999]"
    deep = page.get(f"/api/bytes/{answer['doc']}/reveal?buffer=b0&offset={len(frame) - 5}")["chain"]
    assert deep[-1]["v"] == '"topic-29999"'


def test_a_fault_is_named_with_its_place(page: RunningPage) -> None:
    frame = bytearray(produce())
    frame[27] = 0x7F  # the length of the topic name
    answer = opened(page, bytes(frame))
    assert answer["faults"] == page.events(f"/api/bytes/{answer['doc']}/faults", "faults")
    fault = answer["faults"][0]
    assert fault["path"] == "body.topic_data[0].name"
    chain = page.get(f"/api/bytes/{answer['doc']}/reveal?frame=0&path={fault['path']}")["chain"]
    assert chain[-1]["f"]["expected"]


def test_a_length_that_repairs_the_bytes_is_suggested(page: RunningPage) -> None:
    request = MetadataRequest(topics=[Topic(name="orders")])
    frame = bytearray(encode_request(request, version=8, correlation_id=1, client_id="c"))
    frame[frame.index(b"orders") - 1] = 9
    doc = opened(page, bytes(frame), kind="request")["doc"]
    assert "length of 6" in page.events(f"/api/bytes/{doc}/faults", "repairs")[0]["text"]


def test_the_same_bytes_are_read_as_another_version(page: RunningPage) -> None:
    answer = opened(page, produce(), kind="request", version=3)
    assert answer["frames"][0]["version"] == 3
    assert answer["faults"]


def test_versions_say_what_fits_and_how_long_the_message_is(page: RunningPage) -> None:
    frame = bytes(
        encode_request(MetadataRequest(topics=[Topic(name="orders")]), version=8, correlation_id=1, client_id="c")
    )
    doc = opened(page, frame)["doc"]
    rows = {row["version"]: row for row in page.get(f"/api/bytes/{doc}/versions?frame=0")["versions"]}
    assert rows[8]["fits"]
    assert not rows[9]["fits"]
    body = MetadataRequest(topics=[Topic(name="orders")])
    assert rows[8]["size"] == len(body.encode(8))
    assert rows[9]["size"] == len(body.encode(9))
    assert {"kind": "added", "path": "allow_auto_topic_creation"}.items() <= rows[4]["changes"][0].items()


def test_int64_values_keep_every_digit(page: RunningPage) -> None:
    batch = BatchBuilder(base_offset=2**62 + 1)
    batch.append(None, b"v")
    answer = page.post("/api/bytes", {"text": batch.build().hex(), "kind": "records"})
    rows = every_row(page, answer["doc"], answer["rows"])
    assert next(row["v"] for row in rows if row["n"] == "base_offset") == str(2**62 + 1)


def test_a_long_value_is_cut_and_comes_in_windows(page: RunningPage) -> None:
    answer = opened(page, produce(1, value=b"x" * 100_000))
    path = "body.topic_data[0].partition_data[0].records[0].records[0].value"
    row = page.get(f"/api/bytes/{answer['doc']}/reveal?frame=0&path={path}")["chain"][-1]
    assert len(row["v"]) <= 120
    first = page.get(f"/api/bytes/{answer['doc']}/node?node={row['id']}")["value"]
    assert (len(first["text"]), first["length"]) == (16_384, 100_003)
    last = page.get(f"/api/bytes/{answer['doc']}/node?node={row['id']}&start=98304")["value"]
    assert len(last["text"]) == 100_003 - 98_304


def test_differences_are_by_field(page: RunningPage) -> None:
    documents = []
    for name in ("orders", "a-longer-name"):
        request = MetadataRequest(topics=[Topic(name=name), Topic(name="same")])
        documents.append(
            opened(page, bytes(encode_request(request, version=8, correlation_id=1, client_id="c")))["doc"]
        )
    rows = page.post("/api/bytes/diff", {"before": documents[0], "after": documents[1]})["rows"]
    assert [(row["kind"], row["path"], row["before"]["text"], row["after"]["text"]) for row in rows] == [
        ("changed", "body.topics[0].name", '"orders"', '"a-longer-name"')
    ]


def test_copied_code_makes_the_same_bytes(page: RunningPage) -> None:
    frame = produce()
    doc = opened(page, frame)["doc"]
    made: dict[str, Any] = {}
    exec(page.get(f"/api/bytes/{doc}/copy?frame=0&form=code")["text"], made)
    assert frame.endswith(bytes(made["body"]))


def test_copied_json_is_that_of_the_command(page: RunningPage) -> None:
    import json

    from kafkawire.inspect import render_json

    frame = produce()
    doc = opened(page, frame)["doc"]
    assert json.loads(page.get(f"/api/bytes/{doc}/copy?frame=0&form=json")["text"]) == render_json(
        explain_request(frame)
    )


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"text": "00 1g"}, "line 1, column 5"),
        ({"text": ""}, "no hex"),
        ({"text": "00", "kind": "response"}, "choose both"),
        ({"text": "00", "kind": "message"}, "choose the message"),
        ({"text": "00", "kind": "response", "api": "Nonsense", "version": 1}, "Nonsense"),
        ({"text": "00", "kind": "message", "message": "FetchRequest", "version": 999}, "999"),
        ({"source": "c9", "item": "0/1"}, "not open any more"),
        ({"upload": "nothing"}, "open it again"),
        ({"given": True}, "paste some"),
    ],
)
def test_bytes_that_cannot_be_opened_say_what_to_do(page: RunningPage, body: dict[str, Any], words: str) -> None:
    headers = {**page.token, "content-type": "application/json"}
    import json

    status, _, answer = page.ask("POST", "/api/bytes", headers, json.dumps(body).encode())
    assert status in (404, 422)
    assert words in json.loads(answer)["error"]


@pytest.mark.parametrize("node", ["", "9", "0.999", "x", "0.-1", "0." + "9" * 30, "0.0.0.0.0.0", "i.i"])
def test_a_node_that_is_not_there_is_not_found(page: RunningPage, node: str) -> None:
    doc = opened(page, produce())["doc"]
    for path in (f"rows?node={node}", f"node?node={node}", f"raw?buffer={node}"):
        assert page.ask("GET", f"/api/bytes/{doc}/{path}", page.token)[0] == 404


def test_the_oldest_documents_make_room(page: RunningPage) -> None:
    first = opened(page, produce())["doc"]
    for number in range(70):
        opened(page, produce(1, value=b"%d" % number))
    assert page.ask("GET", f"/api/bytes/{first}/rows?node=0", page.token)[0] == 404


def test_the_protocol_lists_what_the_schemas_have(page: RunningPage) -> None:
    known = page.get("/api/protocol")
    fetch = next(each for each in known["apis"] if each["name"] == "Fetch")
    versions = MetadataResponse.__schema__.versions
    shown = page.get("/api/protocol/MetadataResponse?version=12&since=9")
    assert shown["versions"] == [versions.first, versions.last]
    assert fetch["key"] == 1
    assert any(change["kind"] == "added" for change in shown["changes"])
    sample = page.get("/api/protocol/MetadataRequest/sample")
    assert page.post("/api/bytes", {"text": sample["hex"]})["faults"] == []


def metadata(*names: str, version: int = 9) -> str:
    topics = [MetadataRequest.MetadataRequestTopic(name=name) for name in names]
    frame = encode_request(MetadataRequest(topics=topics), version=version, correlation_id=7, client_id="me")
    return bytes(frame).hex()


def node_at(page: RunningPage, doc: str, path: str) -> str:
    return str(page.get(f"/api/bytes/{doc}/reveal?path={quote(path)}")["chain"][-1]["id"])


@pytest.mark.parametrize(
    ("path", "text", "made"),
    [
        ("body.topics[0].name", "a much longer name", metadata("a much longer name", "b")),
        ("body.topics[1].name", "", metadata("a", "")),
        ("header.client_id", "me", metadata("a", "b")),
    ],
)
def test_a_field_is_changed_and_the_frame_encoded_again(page: RunningPage, path: str, text: str, made: str) -> None:
    doc = page.post("/api/bytes", {"text": metadata("a", "b")})["doc"]
    answer = page.post(f"/api/bytes/{doc}/edit", {"node": node_at(page, doc, path), "text": text})
    assert answer["hex"] == made


def test_a_number_and_null_are_changed(page: RunningPage) -> None:
    doc = page.post("/api/bytes", {"text": metadata("a")})["doc"]
    changed = page.post(f"/api/bytes/{doc}/edit", {"node": node_at(page, doc, "header.correlation_id"), "text": "0x10"})
    again = page.post("/api/bytes", {"text": changed["hex"]})
    assert again["frames"][0]["whole"]
    node = page.get(f"/api/bytes/{again['doc']}/reveal?path=header.correlation_id")["chain"][-1]
    assert node["v"] == "16"
    without = page.post(f"/api/bytes/{doc}/edit", {"node": node_at(page, doc, "header.client_id"), "null": True})
    assert bytes.fromhex(without["hex"])[12:14] == b"\xff\xff"


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("header.correlation_id", {"text": "many"}),
        ("header.correlation_id", {"text": str(2**40)}),
        ("header.correlation_id", {"null": True}),
        ("size", {"text": "5"}),
        ("body.topics", {"text": "x"}),
        ("body.topics[0].name", {"text": "x" * 40_000}),
    ],
)
def test_what_a_field_cannot_be_is_refused(page: RunningPage, path: str, body: dict[str, object]) -> None:
    doc = page.post("/api/bytes", {"text": metadata("a")})["doc"]
    page.post(f"/api/bytes/{doc}/edit", {"node": node_at(page, doc, path), **body}, status=422)


def test_a_frame_with_a_fault_is_not_changed(page: RunningPage) -> None:
    doc = page.post("/api/bytes", {"text": metadata("a")[:-2]})["doc"]
    page.post(f"/api/bytes/{doc}/edit", {"node": node_at(page, doc, "header.client_id"), "text": "x"}, status=422)


@pytest.mark.parametrize("name", message_names())
def test_every_message_has_a_sample_that_reads_whole(page: RunningPage, name: str) -> None:
    answer = page.get(f"/api/protocol/{name}/sample")
    opened = page.post("/api/bytes", {**answer, "text": answer["hex"]})
    assert (opened["frames"][0]["message"], opened["frames"][0]["whole"], opened["faults"]) == (name, True, [])
