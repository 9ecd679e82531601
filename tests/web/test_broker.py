"""A broker on the page: lists, a search that streams, a tail, the bytes of a record, and writes only if allowed."""

from __future__ import annotations

import json
import operator
import socket
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import pytest
from tests.web.page_client import RunningPage

from kafkawire.client import TraceEvent, partition_of_key
from kafkawire.client.blocking import Consumer, Producer
from kafkawire.inspect import Asked
from kafkawire.testing import RunningBroker
from kafkawire.web import BrokerSource, PageOptions, Workspace
from kafkawire.web._broker.messages import pretty
from kafkawire.web._broker.source import MOST_BYTES, MOST_SENT
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator

LARGE = 2**53 + 1
RECORDS = 60


@pytest.fixture(scope="module")
def broker() -> Iterator[RunningBroker]:
    with RunningBroker() as running:
        running.create_topic("orders", partitions=2)
        running.create_topic("empty")
        with Producer(bootstrap_servers=running.bootstrap_servers) as producer:
            for number in range(RECORDS):
                value = {"order": number, "user": {"id": LARGE + number}, "total": 1.5}
                producer.send(
                    "orders",
                    json.dumps(value).encode(),
                    key=b"user-%d" % number,
                    partition=number % 2,
                    headers=[("trace", b"t-%d" % number)],
                )
            producer.send("orders", b"\xff\xfe not text", key=None, partition=0)
            producer.send("orders", None, key=b"gone", partition=1)
            producer.flush()
        with Consumer(
            "orders", group_id="billing", bootstrap_servers=running.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            for _ in range(10):
                consumer.getone()
            consumer.commit()
        yield running


@pytest.fixture(scope="module")
def shown(broker: RunningBroker) -> Iterator[RunningPage]:
    with opened(broker) as page:
        yield page


def opened(broker: RunningBroker, **options: Any) -> RunningPage:
    workspace = Workspace(PageOptions(**options))
    workspace.add_source(BrokerSource({"bootstrap_servers": broker.bootstrap_servers}))
    return RunningPage(workspace)


def events(page: RunningPage, path: str, body: dict[str, Any]) -> list[Any]:
    headers = {**page.token, "content-type": "application/json"}
    status, _, answer = page.ask("POST", f"/api/brokers/b1/topics/{path}", headers, json.dumps(body).encode())
    assert status == 200, answer
    return [json.loads(line) for line in answer.splitlines()]


def found(page: RunningPage, text: str, **more: Any) -> list[tuple[int, str]]:
    every = events(page, "orders/search", {"filter": text, "from": "start", **more})
    assert every[-1]["end"] == "all"
    return sorted((row["p"], row["o"]) for event in every for row in event.get("rows", ()))


def test_topics_and_their_records(shown: RunningPage) -> None:
    answer = shown.get("/api/brokers/b1/topics")
    assert [(row["name"], row["partitions"]) for row in answer["rows"]] == [("empty", 1), ("orders", 2)]
    assert answer["total"] > answer["matched"]  # those of the broker itself
    assert shown.post("/api/brokers/b1/counts", {"topics": ["orders"]}) == {"orders": {"records": RECORDS + 2}}
    topic = shown.get("/api/brokers/b1/topics/orders")
    assert [(row["first"], row["last"]) for row in topic["partitions"]] == [("0", "31"), ("0", "31")]
    assert topic["configs"] == sorted(topic["configs"], key=lambda row: (row["default"], row["name"]))


def test_a_group_has_its_lag_and_members(shown: RunningPage) -> None:
    assert [row["name"] for row in shown.get("/api/brokers/b1/groups")["rows"]] == ["billing"]
    group = shown.get("/api/brokers/b1/groups/billing")
    assert sum(row["lag"] for row in group["offsets"]) == RECORDS + 2 - 10
    assert group["type"] == "classic"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("user-7", [(1, "3")]),
        ("key = user-8", [(0, "4")]),
        ("t-9", [(1, "4")]),
        ("header.trace = t-10", [(0, "5")]),
        (f"value.user.id = {LARGE + 2}", [(0, "1")]),
        (f"value.user.id = {LARGE + 2}.0", None),
        ("value.order < 2", [(0, "0"), (1, "0")]),
        ("value.order in (4, 5)", [(0, "2"), (1, "2")]),
        ("value.nothing = 1", []),
        ("value = null", [(1, "30")]),
        ("key = null", [(0, "30")]),
        ('"not text"', [(0, "30")]),
        ("offset = 3 and partition = 1", [(1, "3")]),
        ('value ~ "order\\": 1[0-1],"', [(0, "5"), (1, "5")]),
    ],
)
def test_a_search_finds_records(shown: RunningPage, text: str, expected: list[tuple[int, str]] | None) -> None:
    rows = found(shown, text)
    assert rows == expected if expected is not None else len(rows) > 1  # a float cannot tell 64-bit numbers apart


def test_a_search_reports_how_far_it_is(shown: RunningPage) -> None:
    last = [
        event for event in events(shown, "orders/search", {"filter": "nothing", "from": "start"}) if "scanned" in event
    ]
    assert (last[-1]["scanned"], last[-1]["of"], last[-1]["matched"]) == (RECORDS + 2, RECORDS + 2, 0)


def test_a_search_stops_at_its_limit_and_goes_on(shown: RunningPage) -> None:
    seen: list[tuple[int, str]] = []
    starts: dict[str, str] = {}
    for _ in range(20):
        every = events(shown, "orders/search", {"filter": "user", "from": "start", "limit": 7, "starts": starts})
        seen += [(row["p"], row["o"]) for event in every for row in event.get("rows", ())]
        if every[-1]["end"] == "all":
            break
        starts = every[-1]["next"]
    assert len(seen) == len(set(seen)) == RECORDS


def test_a_search_in_one_partition_reads_only_that(shown: RunningPage) -> None:
    assert {row[0] for row in found(shown, "", partition=1)} == {1}


def test_the_latest_messages_are_the_default(shown: RunningPage) -> None:
    every = events(shown, "orders/search", {"from": "end-2"})
    assert sorted((row["p"], row["o"]) for event in every for row in event.get("rows", ())) == [
        (0, "29"),
        (0, "30"),
        (1, "29"),
        (1, "30"),
    ]


@pytest.mark.parametrize("body", [{"from": "yesterday"}, {"filter": "value ="}, {"partition": 99}])
def test_a_search_that_cannot_start_says_why(shown: RunningPage, body: dict[str, Any]) -> None:
    headers = {**shown.token, "content-type": "application/json"}
    path = "/api/brokers/b1/topics/orders/search"
    status, _, answer = shown.ask("POST", path, headers, json.dumps(body).encode())
    assert status in (400, 404, 422)
    assert json.loads(answer)["error"]


def test_a_tail_sends_what_is_written_and_ends_with_its_reader(shown: RunningPage, broker: RunningBroker) -> None:
    connection = HTTPConnection("127.0.0.1", shown.server.port, timeout=30)
    headers = {**shown.token, "content-type": "application/json"}
    connection.request("POST", "/api/brokers/b1/topics/empty/tail", b'{"filter":"wanted"}', headers)
    answer = connection.getresponse()
    assert json.loads(answer.readline())["from"] == {"0": "0"}
    broker.produce("empty", b"other")
    broker.produce("empty", b"wanted one")
    rows: list[Any] = []
    while not rows:
        rows = json.loads(answer.readline()).get("rows", [])
    assert [row["v"] for row in rows] == ["wanted one"]
    connection.close()


def test_a_record_has_its_value_with_every_digit(shown: RunningPage) -> None:
    record = shown.get("/api/brokers/b1/topics/orders/0/record?offset=1")
    assert f'"id": {LARGE + 2}' in record["value"]["text"]
    assert record["headers"] == [{"name": "trace", "value": "t-2"}]
    assert (record["key"], record["value"]["kind"]) == ("user-2", "JSON")


def test_a_record_leads_to_the_bytes_of_its_batch(shown: RunningPage) -> None:
    document = shown.get("/api/brokers/b1/topics/orders/1/batch?offset=3")
    assert document["faults"] == []
    chain = shown.get(f"/api/bytes/{document['doc']}/reveal?frame=0&path=[0].base_offset")["chain"]
    assert int(chain[-1]["v"]) <= 3
    assert shown.ask("GET", "/api/brokers/b1/topics/orders/1/batch?offset=999", shown.token)[0] in (404, 422)


def test_the_requests_of_the_page_itself_are_shown_with_their_frames(shown: RunningPage) -> None:
    shown.get("/api/brokers/b1/cluster")
    rows = shown.get("/api/brokers/b1/sent")["rows"]
    assert "DescribeCluster" in {row["api"] for row in rows}
    document = shown.post("/api/bytes", {"source": "b1", "item": f"sent/{rows[0]['number']}"})
    assert [frame["kind"] for frame in document["frames"]] == ["request", "response"]
    assert document["faults"] == []


def searched(page: RunningPage, text: str, **more: Any) -> list[dict[str, Any]]:
    body = {"filter": text, "from": "start", "limit": 500, **more}
    headers = {**page.token, "content-type": "application/json"}
    status, _, said = page.ask("POST", "/api/brokers/b1/topics/keyed/search", headers, json.dumps(body).encode())
    assert status == 200
    return [json.loads(line) for line in said.splitlines()]


def test_a_search_for_a_key_asks_only_its_partition_unless_told_otherwise() -> None:
    with RunningBroker() as broker, opened(broker) as page:
        broker.create_topic("keyed", partitions=8)
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for number in range(80):
                producer.send("keyed", b"v", key=b"key-%d" % number)
        for text in ("key = key-7", "value = v and key = key-7"):
            events = searched(page, text)
            (number,) = events[0]["keyed"]
            found = [row for event in events for row in event.get("rows", ())]
            assert [(row["p"], row["k"]) for row in found] == [(number, "key-7")]
            assert events[-2]["of"] < 80
        assert set(searched(page, "key in (key-1, key-2, key-3)")[0]["keyed"]) <= set(range(8))
        for text, more in (("key = key-7", {"everywhere": True}), ("key = null", {}), ("not key = key-7", {})):
            events = searched(page, text, **more)
            assert events[0]["keyed"] == []
            assert events[-2]["of"] == 80


def test_a_key_that_another_partitioner_placed_is_found_in_the_other_partitions() -> None:
    with RunningBroker() as broker, opened(broker) as page:
        broker.create_topic("keyed", partitions=4)
        elsewhere = (partition_of_key(b"key", 4) + 1) % 4
        with Producer(bootstrap_servers=broker.bootstrap_servers) as producer:
            for _ in range(7):
                producer.send("keyed", b"v", key=b"key", partition=elsewhere)
        events = searched(page, "key = key")
        assert [event["keyed"] for event in events if "keyed" in event] == [[partition_of_key(b"key", 4)], []]
        assert sum(len(event.get("rows", ())) for event in events) == 7
        first = searched(page, "key = key", limit=5)
        assert first[-1]["end"] == "limit"
        rest = searched(page, "key = key", limit=5, starts=first[-1]["next"])
        assert sum(len(event.get("rows", ())) for event in rest) == 2


def test_a_group_whose_name_has_slashes_is_shown_and_moved() -> None:
    with RunningBroker() as broker, opened(broker, write=True) as page:
        broker.create_topic("orders")
        broker.produce("orders", b"one")
        name, servers = "team/app 1", broker.bootstrap_servers
        with Consumer("orders", group_id=name, bootstrap_servers=servers, auto_offset_reset="earliest") as consumer:
            consumer.getone()
            consumer.commit()
        path = f"/api/brokers/b1/groups/{quote(name, safe='')}"
        assert page.get(path)["name"] == name
        page.post(f"{path}/offsets", {"to": "earliest", "execute": True})
        assert page.get(path)["offsets"][0]["offset"] == "0"


def test_the_cluster_names_the_apis_that_it_serves(shown: RunningPage) -> None:
    served = {row["name"]: (row["key"], row["versions"]) for row in shown.get("/api/brokers/b1/cluster")["apis"]}
    assert served["Fetch"] == (1, [0, 18])


def traced(kind: Any, number: int, size: int) -> TraceEvent:
    return TraceEvent(
        kind=kind,
        time=0.0,
        connection=1,
        place="here",
        client_id="c",
        api="ApiVersions",
        version=0,
        correlation_id=number,
        size=size,
        parts=(bytes(size),),
    )


def test_the_frames_that_are_kept_are_bounded() -> None:
    source = BrokerSource({"bootstrap_servers": "127.0.0.1:1"})
    size = MOST_BYTES // 8
    for number in range(20):
        source._note(traced("request", number, 100))
        source._note(traced("response", number, size))
    rows = source.sent()
    assert [row["number"] for row in rows] == list(range(20, 13, -1))
    assert (rows[0]["request"], rows[0]["response"]) == (100, size)
    with pytest.raises(Problem, match="sent/1 is not kept"):
        source.open_bytes("sent/1", Asked())
    for number in range(2 * MOST_SENT):
        source._note(traced("response", number, 10))
    assert len(source.sent()) == MOST_SENT


def test_an_answer_of_two_parts_does_not_wait_for_the_acknowledgement_of_the_first(shown: RunningPage) -> None:
    with socket.create_connection(("127.0.0.1", shown.server.port), 10) as made:
        made.sendall(f"GET / HTTP/1.1\r\nhost: {shown.host}\r\n\r\n".encode())
        assert made.recv(12) == b"HTTP/1.1 200"
        served = [each.transport.get_extra_info("socket") for each in shown.server._server.server_state.connections]
        assert served
        assert all(each.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) for each in served)


WRITES = (
    ("topics", {"name": "new"}),
    ("topics/orders/produce", {"value": "x"}),
    ("topics/orders/delete", {"name": "orders"}),
    ("topics/orders/configs", {"name": "retention.ms", "value": "1"}),
    ("groups/billing/offsets", {"to": "earliest", "execute": True}),
)


@pytest.mark.parametrize(("path", "body"), WRITES)
def test_without_write_nothing_is_changed(
    shown: RunningPage, broker: RunningBroker, path: str, body: dict[str, Any]
) -> None:
    assert "--write" in shown.post(f"/api/brokers/b1/{path}", body, status=403)["error"]
    assert not {each.api for each in broker.requests} & {"CreateTopics", "DeleteTopics", "IncrementalAlterConfigs"}


def test_with_write_a_topic_is_made_filled_configured_and_deleted() -> None:
    with RunningBroker() as broker, opened(broker, write=True) as page:
        page.post("/api/brokers/b1/topics", {"name": "new", "partitions": 3})
        sent = page.post(
            "/api/brokers/b1/topics/new/produce", {"key": "k", "value": "v", "headers": {"h": "1"}, "copies": 5}
        )
        assert sent["copies"] == 5
        assert len(broker.records("new")) == 5
        page.post("/api/brokers/b1/topics/new/configs", {"name": "retention.ms", "value": "1000"})
        configs = page.get("/api/brokers/b1/topics/new")["configs"]
        assert (configs[0]["name"], configs[0]["value"]) == ("retention.ms", "1000")
        page.post("/api/brokers/b1/topics/new/delete", {"name": "wrong"}, status=422)
        page.post("/api/brokers/b1/topics/new/delete", {"name": "new"})
        assert page.get("/api/brokers/b1/topics?filter=new")["matched"] == 0


def test_moving_offsets_is_a_plan_first() -> None:
    with RunningBroker() as broker, opened(broker, write=True) as page:
        broker.create_topic("orders")
        broker.produce("orders", b"one")
        with Consumer(
            "orders", group_id="g", bootstrap_servers=broker.bootstrap_servers, auto_offset_reset="earliest"
        ) as consumer:
            consumer.getone()
            consumer.commit()
        path = "/api/brokers/b1/groups/g/offsets"
        plan = page.post(path, {"to": "earliest"})
        assert plan["rows"] == [{"topic": "orders", "partition": 0, "before": "1", "after": "0"}]
        assert page.get("/api/brokers/b1/groups/g")["offsets"][0]["offset"] == "1"
        page.post(path, {"to": "earliest", "execute": True})
        assert page.get("/api/brokers/b1/groups/g")["offsets"][0]["offset"] == "0"


def test_a_broker_that_is_away_is_named_and_credentials_are_never_answered() -> None:
    secret = {"sasl_mechanism": "PLAIN", "sasl_username": "ann", "sasl_password": "hidden-secret"}
    workspace = Workspace()
    source = BrokerSource({"bootstrap_servers": "127.0.0.1:1", "default_api_timeout_ms": 300, **secret})
    workspace.add_source(source)
    with RunningPage(workspace) as page:
        status, _, body = page.ask("GET", "/api/brokers/b1/topics", page.token)
        assert status == 502
        assert b"127.0.0.1:1" in body
        for path in ("/api/about", "/api/brokers/b1/sent"):
            assert b"hidden-secret" not in page.ask("GET", path, page.token)[2]


@pytest.mark.parametrize(
    ("data", "text", "kind"),
    [
        (b'{"a":1.10,"b":[9007199254740993]}', '{\n  "a": 1.10,\n  "b": [\n    9007199254740993\n  ]\n}', "JSON"),
        (b"{not json", "{not json", "text"),
        (b"\xff", "ff", "bytes"),
        (None, "null", "null"),
        (b"[" * 5000, "[" * 5000, "text"),
    ],
)
def test_a_value_is_shown_as_what_it_is(data: bytes | None, text: str, kind: str) -> None:
    assert pretty(data) == (text, kind)


VALUES = (
    *('{"a": {"b": 42}}', '{"a": {"b": 42.0}}', '{"a": {"b": 4.2e1}}', '{"a": {"b": 420e-1}}', '{"a": {"b": "42"}}'),
    *('{"a": {"b": -42}}', '{"a": {"b": 142}}', '{"a": {"b": true}}', '{"a": {"b": null}}', '{"a": {}}', "{}", "[1]"),
    *('{"a": 1}', "not json 42", "", '{"a": {"b": 43}} {"a": {"b": 42}}', '{"a": {"b": 9007199254740993}}'),
    *(
        '{"a": {"b": "x\\u0079z"}}',
        '{"a": {"b": "xyz"}}',
        '{"a": {"b": [42]}}',
        '{"a":\n {"b":\n 7}}',
        '{"a": {"b": 7}',
    ),
    '{"a": {"b": 1, "b": 42}}',
)


@pytest.mark.parametrize("block", ["all", "one by one", "those of whole numbers"])
@pytest.mark.parametrize(
    "text",
    [
        *("value.a.b = 42", "value.a.b = -42", "value.a.b = 007", "value.a.b in (7, 43)", "value.a.b = xyz"),
        *("value.a.b > 41", "value.a.b < 43", "value.a.b != 42", "value.a.b >= 9007199254740993", "value.a.b ~ 4"),
        "value.a.b = 42.0",
    ],
)
def test_json_fields_are_compared_as_the_json_module_reads_them(text: str, block: str) -> None:
    """The shortcuts, by bytes and by Arrow, have the same matches as reading each value by itself."""
    import pyarrow as pa

    from kafkawire.web._broker import messages
    from kafkawire.web._filter.language import parse

    values = VALUES if block != "those of whole numbers" else tuple(v for v in VALUES if '"b": 4' in v and "." not in v)
    term = parse(text)
    fields = messages.record_fields()

    def matches(chosen: tuple[str, ...]) -> list[bool]:
        rows = pa.record_batch({"value": pa.array([each.encode() for each in chosen], pa.binary())})
        return list(fields.mask(pa.Table.from_batches([rows]), term).to_pylist())

    found = [matches((each,))[0] for each in values] if block == "one by one" else matches(values)
    assert found == [expected(each, text) for each in values]


def expected(value: str, text: str) -> bool:
    """The meaning of a comparison, without any shortcut."""
    _, sign, wanted = text.split(" ", 2)
    try:
        held = json.loads(value)["a"]["b"]
    except (ValueError, TypeError, KeyError, IndexError):
        return sign == "!="
    texts = [each.strip() for each in wanted.strip("()").split(",")]
    if sign == "~":
        return texts[0] in (held if isinstance(held, str) else json.dumps(held))
    if not texts[0].lstrip("-").replace(".", "").isdecimal():
        return bool(held == texts[0])
    if isinstance(held, bool) or not isinstance(held, int | float):
        return sign == "!="
    numbers = [float(each) if "." in each else int(each) for each in texts]
    compare: Any = {"=": operator.eq, "in": operator.eq, "!=": operator.ne, ">": operator.gt, "<": operator.lt}.get(
        sign, operator.ge
    )
    return any(bool(compare(held, each)) for each in numbers)


@pytest.mark.parametrize("form", ["jsonl", "csv", "parquet"])
def test_the_messages_of_a_search_are_exported(shown: RunningPage, form: str) -> None:
    import io

    import pyarrow.parquet as pq

    answer = shown.octets(f"/api/brokers/b1/topics/orders/export?form={form}&filter=user-7&from=start")
    if form == "parquet":
        rows = pq.read_table(io.BytesIO(answer)).to_pylist()
        assert [(row["partition"], row["offset"], row["key"]) for row in rows] == [(1, 3, b"user-7")]
    elif form == "csv":
        assert [line.split(",")[0] for line in answer.decode().splitlines()] == ["offset", "3"]
    else:
        row = json.loads(answer)
        assert (row["partition"], row["offset"], row["key"]) == (1, 3, "user-7")
        assert json.loads(row["value"])["user"]["id"] == LARGE + 7


def test_without_export_no_messages_are_handed_out(broker: RunningBroker) -> None:
    with opened(broker, export=False) as page:
        status, _, _ = page.ask("GET", "/api/brokers/b1/topics/orders/export?form=jsonl", page.token)
        assert status == 403
        page.post("/api/ticket", {"path": "/api/brokers/b1/topics/orders/export?form=jsonl"}, status=403)
