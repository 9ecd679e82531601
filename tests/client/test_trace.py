"""The trace of the protocol: requests, answers and ends of connections, over asyncio and over blocking sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
from functools import wraps
from typing import TYPE_CHECKING, Any

import pytest
from tests.client.scripted_broker import HANG_UP, ScriptedBroker
from tests.client.test_security import LOGIN, broker_with_scram

from kafkawire.client import Admin, Consumer, Producer, TopicPartition, TraceEvent, blocking
from kafkawire.client._cluster.blocking_connection import SocketConnection
from kafkawire.client._cluster.connection import Connection
from kafkawire.client._trace import forms
from kafkawire.client._trace.events import ConnectionTrace, first_error
from kafkawire.client.errors import ConnectionLostError, OptionError
from kafkawire.client.option_names import read_options
from kafkawire.client.options import ClientOptions
from kafkawire.inspect import explain_request, render_text
from kafkawire.messages import (
    AlterUserScramCredentialsRequest,
    ExpireDelegationTokenRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    IncrementalAlterConfigsRequest,
    Message,
    MetadataRequest,
    MetadataResponse,
    ProduceRequest,
)
from kafkawire.records import BatchBuilder
from kafkawire.wire import encode_request

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from pathlib import Path

    from tests.client.topics import Topics


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that runs in an event loop of its own."""

    @wraps(test)
    def run(*args: Any, **keywords: Any) -> None:
        asyncio.run(test(*args, **keywords))

    return run


async def heartbeat_on_both(broker: ScriptedBroker, **options: Any) -> None:
    """One Heartbeat over asyncio and one over a blocking socket; errors of the broker's hanging up are expected."""
    chosen = read_options(ClientOptions, None, options)

    def blockingly() -> None:
        connection = SocketConnection("127.0.0.1", broker.port, chosen)
        try:
            connection.request(HeartbeatRequest(group_id="g"), HeartbeatResponse)
        finally:
            connection.close()

    connection = await Connection.open("127.0.0.1", broker.port, chosen)
    for work in (connection.request(HeartbeatRequest(group_id="g"), HeartbeatResponse), asyncio.to_thread(blockingly)):
        with contextlib.suppress(ConnectionLostError):
            await work
    connection.close()


def of_connection(events: list[TraceEvent], number: int) -> list[TraceEvent]:
    numbers = sorted({each.connection for each in events})
    return [each for each in events if each.connection == numbers[number]]


@in_loop
async def test_both_drivers_report_requests_answers_and_the_end() -> None:
    events: list[TraceEvent] = []
    async with ScriptedBroker({"Heartbeat": lambda *_: HeartbeatResponse(error_code=27)}) as broker:
        await heartbeat_on_both(broker, trace=events.append, client_id="me")
    for number in (0, 1):
        found = of_connection(events, number)
        assert [(each.kind, each.api) for each in found] == [
            ("request", "ApiVersions"),
            ("response", "ApiVersions"),
            ("request", "Heartbeat"),
            ("response", "Heartbeat"),
            ("closed", None),
        ]
        asked, answered = found[2:4]
        assert asked.place == broker.bootstrap
        assert asked.client_id == "me"
        assert asked.version == answered.version == 4
        assert asked.correlation_id == answered.correlation_id == 2
        assert asked.size == 4 + len(HeartbeatRequest(group_id="g").encode(4)) + 8 + len(b"\0\2me") + 1
        assert answered.size == 4 + 4 + 1 + len(HeartbeatResponse().encode(4))
        assert answered.seconds is not None
        assert answered.seconds >= 0
        assert answered.error == "REBALANCE_IN_PROGRESS (27)"
        assert asked.message == HeartbeatRequest(group_id="g")
        assert found[4].error == "closed by this client"


@in_loop
async def test_the_end_of_a_connection_has_its_reason_and_the_requests_that_it_leaves() -> None:
    events: list[TraceEvent] = []
    async with ScriptedBroker({"Heartbeat": lambda *_: HANG_UP}) as broker:
        await heartbeat_on_both(broker, trace=events.append)
    for number in (0, 1):
        end = of_connection(events, number)[-1]
        assert end.kind == "closed"
        assert end.error == "the broker closed the connection; requests without an answer: 1"


@in_loop
async def test_a_connection_that_cannot_be_opened_is_reported() -> None:
    events: list[TraceEvent] = []
    with pytest.raises(ConnectionLostError):
        await Admin(bootstrap_servers="127.0.0.1:1", trace=events.append).start()
    assert [(each.kind, each.place, each.error) for each in events] == [("failed", "127.0.0.1:1", "Connection refused")]


@pytest.mark.parametrize("form", ["lines", "trees", "full-trees", "json", "json-trees"])
@in_loop
async def test_credentials_are_in_no_form(form: str, tmp_path: Path) -> None:
    path = tmp_path / "trace"
    events: list[TraceEvent] = []
    async with broker_with_scram("SCRAM-SHA-256") as broker:
        for trace in (f"{form}:{path}", events.append):
            options = ClientOptions(**LOGIN, sasl_mechanism="SCRAM-SHA-256", trace=trace)
            (await Connection.open("127.0.0.1", broker.port, options)).close()
    text = path.read_text()
    assert "SaslAuthenticate" in text
    assert "auth_bytes" not in text
    for token in ("n=ada", "r=", "p=", "v=", "secret"):
        assert token not in text
        assert token.encode().hex() not in text
    assert [each.message for each in events if each.api == "SaslAuthenticate"] == [None] * 4


def event_of(message: Message, version: int) -> TraceEvent:
    frame = encode_request(message, version=version, correlation_id=1, client_id="c")
    return TraceEvent(
        kind="request",
        time=0,
        connection=1,
        place="k:1",
        client_id="c",
        api=message.__schema__.name.removesuffix("Request"),
        version=version,
        message=message,
        parts=[frame],
    )


@pytest.mark.parametrize("form", [forms.tree, forms.full_tree, forms.json_tree])
def test_secret_fields_and_settings_are_replaced_by_their_length(form: Any) -> None:
    secrets = AlterUserScramCredentialsRequest.ScramCredentialUpsertion(
        name="ada", mechanism=1, iterations=4096, salt=b"s4lt", salted_password=b"hunter2!"
    )
    settings = IncrementalAlterConfigsRequest.AlterConfigsResource
    setting = IncrementalAlterConfigsRequest.AlterableConfig
    configs = [setting(name="ssl.key.password", value="hunter2!"), setting(name="retention.ms", value="77")]
    events = [
        event_of(AlterUserScramCredentialsRequest(upsertions=[secrets]), 0),
        event_of(IncrementalAlterConfigsRequest(resources=[settings(configs=configs)]), 1),
        event_of(ExpireDelegationTokenRequest(hmac=b"hunter2!"), 2),
    ]
    text = "".join(map(form, events))
    assert "hunter2" not in text
    for secret in (b"hunter2!", b"s4lt"):
        assert secret.hex() not in text
        assert secret.hex(" ") not in text
        assert secret[:4].hex(" ") not in text
    assert "8 bytes, not shown" in text
    assert "8 characters, not shown" in text
    assert '"77"' in text


def test_a_tree_has_the_bytes_and_offsets_that_decode_prints() -> None:
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name="orders")])
    found = forms.tree(event_of(request, 4)).splitlines()[1:]
    explained = explain_request(encode_request(request, version=4, correlation_id=1, client_id="c"))
    assert found == [f"    {row}" for row in render_text(explained, paint=lambda text, _: text)]


def test_a_tree_has_counts_of_records_and_a_full_tree_has_the_records() -> None:
    builder = BatchBuilder()
    for number in range(30):
        builder.append(None, b"value %d" % number)
    data = ProduceRequest.TopicProduceData(
        name="orders", partition_data=[ProduceRequest.PartitionProduceData(index=0, records=builder.build())]
    )
    event = event_of(ProduceRequest(topic_data=[data]), 7)
    assert "(1 batch, 30 records, offsets 0 to 29, codec none)" in forms.tree(event)
    assert "value 29" not in forms.tree(event)
    assert "value 29" in forms.full_tree(event)


def test_a_tree_has_the_first_elements_of_a_long_array() -> None:
    request = MetadataRequest(topics=[MetadataRequest.MetadataRequestTopic(name=f"topic-{at}") for at in range(50)])
    text = forms.tree(event_of(request, 4))
    assert "topic-19" in text
    assert "topic-20" not in text
    assert re.search(r"\n +\d+ .* \.\.\. +30 more\n", text)
    assert "topic-49" in forms.full_tree(event_of(request, 4))


def test_the_first_error_of_an_answer_is_named_with_its_place() -> None:
    topic = MetadataResponse.MetadataResponseTopic
    partition = MetadataResponse.MetadataResponsePartition
    answer = MetadataResponse(
        topics=[topic(partitions=[partition(), partition(error_code=5)]), topic(error_code=3, partitions=[])]
    )
    assert first_error(answer) == "LEADER_NOT_AVAILABLE (5) at topics[0].partitions[1], and 1 more"
    assert first_error(MetadataResponse(topics=[topic(partitions=[partition()])])) is None
    later = MetadataResponse(topics=[topic(partitions=[partition()]) for _ in range(50)], error_code=7)
    later.topics[40].partitions[0].error_code = 9
    assert first_error(later) == "REQUEST_TIMED_OUT (7), and 1 more"
    later.error_code = 0
    assert first_error(later) == "REPLICA_NOT_AVAILABLE (9) at topics[40].partitions[0]"


def test_the_environment_traces_clients_that_do_not_ask_for_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, broker: Topics
) -> None:
    topic = broker.create_topic("traced")
    path = tmp_path / "trace.jsonl"
    monkeypatch.setenv("KAFKAWIRE_TRACE", f"json-trees:{path}")

    async def use() -> None:
        async with Producer(bootstrap_servers=broker.bootstrap) as producer:
            await producer.send_and_wait(topic, b"value")
        async with Consumer(bootstrap_servers=broker.bootstrap) as consumer:
            consumer.assign([TopicPartition(topic, 0)])
            await consumer.seek_to_beginning()
            await consumer.getone()

    asyncio.run(use())
    with blocking.Admin(bootstrap_servers=broker.bootstrap) as admin:
        admin.list_topics()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert {"Produce", "Fetch", "Metadata"} <= {row.get("api") for row in rows}
    fetched = next(row for row in rows if row.get("api") == "Fetch" and row["kind"] == "response")
    assert fetched["ms"] >= 0
    assert "1 batch, 1 record" in fetched["message"]["responses"][0]["partitions"][0]["records"]
    before = path.stat().st_size
    with blocking.Admin(bootstrap_servers=broker.bootstrap, trace="off") as quiet:
        quiet.list_topics()
    assert path.stat().st_size == before


@in_loop
async def test_a_sink_that_fails_ends_the_trace_and_not_the_connection(caplog: pytest.LogCaptureFixture) -> None:
    calls: list[TraceEvent] = []

    def fail(event: TraceEvent) -> None:
        calls.append(event)
        raise ValueError("no room")

    async with ScriptedBroker({"Heartbeat": lambda *_: HeartbeatResponse()}) as broker:
        options = ClientOptions(trace=fail)
        connection = await Connection.open("127.0.0.1", broker.port, options)
        await connection.request(HeartbeatRequest(group_id="g"), HeartbeatResponse)
        connection.close()
    assert len(calls) == 1
    assert "the trace of this connection ends" in caplog.text


@in_loop
async def test_a_connection_without_a_trace_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    for text in (None, "", "0", "off"):
        assert ClientOptions(trace=text).trace_of("k:1") is None
    monkeypatch.setattr(ConnectionTrace, "__init__", None)
    async with ScriptedBroker({"Heartbeat": lambda *_: HeartbeatResponse()}) as broker:
        await heartbeat_on_both(broker)


@pytest.mark.parametrize(
    ("wanted", "complaint"),
    [
        (
            "line",
            "option trace: expected one of lines, trees, full-trees, json, json-trees or off, or FORM:FILE, "
            "found 'line'",
        ),
        ("off:file", "found 'off:file'"),
        (5, "option trace: expected a text or a callable, found 5"),
        ("json:/nowhere/at/all", "option trace: file '/nowhere/at/all': No such file or directory"),
    ],
)
def test_a_wrong_trace_is_refused(wanted: object, complaint: str) -> None:
    with pytest.raises(OptionError) as caught:
        read_options(ClientOptions, None, {"trace": wanted})
    assert complaint in str(caught.value)


def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKAWIRE_TRACE", "all")
    with pytest.raises(OptionError, match="KAFKAWIRE_TRACE: expected one of"):
        read_options(ClientOptions, None, {})
