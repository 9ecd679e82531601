"""The Schema Registry: restarts, its records in Kafka, wrong requests and hostile ones."""

from __future__ import annotations

import http.client
import json
import socket
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest

from kafkawire.testing import RunningBroker, RunningRegistry

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
WIDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'
PROTO = 'syntax = "proto3"; message A { int32 a = 1; }'


def call(registry: RunningRegistry, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    place = urlsplit(registry.url)
    connection = http.client.HTTPConnection(str(place.hostname), place.port, timeout=10)
    try:
        connection.request(method, path, None if body is None else json.dumps(body))
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def register(registry: RunningRegistry, subject: str, text: str, **more: Any) -> tuple[int, Any]:
    status, found = call(registry, "POST", f"/subjects/{subject}/versions", {"schema": text, **more})
    return status, found.get("id", found.get("error_code"))


def test_everything_survives_a_restart_of_the_broker(tmp_path: Path) -> None:
    with RunningBroker(data_dir=tmp_path) as broker:
        with RunningRegistry(broker) as registry:
            register(registry, "a", ORDER)
            register(registry, "b", ORDER)
            register(registry, "a", WIDER)
            call(registry, "PUT", "/config/b", {"compatibility": "FULL"})
            call(registry, "PUT", "/mode/b", {"mode": "READONLY"})
            call(registry, "DELETE", "/subjects/a/versions/1")
        broker.restart()
        with RunningRegistry(broker) as registry:
            assert call(registry, "GET", "/subjects") == (200, ["a", "b"])
            assert call(registry, "GET", "/subjects/a/versions") == (200, [2])
            assert call(registry, "GET", "/subjects/a/versions?deleted=true") == (200, [1, 2])
            assert call(registry, "GET", "/config/b") == (200, {"compatibilityLevel": "FULL"})
            assert register(registry, "b", WIDER) == (422, 42205)
            assert register(registry, "c", '"string"') == (200, 3)


def test_records_have_the_form_of_confluents_registry(
    kafka_broker: RunningBroker, schema_registry: RunningRegistry
) -> None:
    register(schema_registry, "a", ORDER)
    call(schema_registry, "DELETE", "/subjects/a")
    found = [(json.loads(r.key or b""), json.loads(r.value or b"")) for r in kafka_broker.records("_schemas")]
    assert found == [
        (
            {"keytype": "SCHEMA", "subject": "a", "version": 1, "magic": 1},
            {"subject": "a", "version": 1, "id": 1, "schema": ORDER, "deleted": False},
        ),
        ({"keytype": "DELETE_SUBJECT", "subject": "a", "magic": 0}, {"subject": "a", "version": 1}),
    ]


def test_a_schema_has_one_id_in_all_subjects_and_one_version_in_each(schema_registry: RunningRegistry) -> None:
    assert register(schema_registry, "a", ORDER) == (200, 1)
    assert register(schema_registry, "a", ORDER.replace(":", " : ")) == (200, 1)
    assert register(schema_registry, "b", ORDER) == (200, 1)
    assert register(schema_registry, "a", WIDER) == (200, 2)
    assert call(schema_registry, "GET", "/schemas/ids/1/versions") == (
        200,
        [{"subject": "a", "version": 1}, {"subject": "b", "version": 1}],
    )


LEVELS = {
    "NONE": (True, True, True),
    "BACKWARD": (True, False, True),
    "FORWARD": (False, True, True),
    "FULL": (False, False, True),
}


@pytest.mark.parametrize("level", LEVELS)
def test_a_level_decides_which_change_is_accepted(schema_registry: RunningRegistry, level: str) -> None:
    optional = ORDER.replace("]}", ',{"name":"note","type":"string","default":""}]}')
    call(schema_registry, "PUT", "/config", {"compatibility": level})
    for number, (old, new) in enumerate([(ORDER, WIDER), (WIDER, ORDER), (ORDER, optional)]):
        register(schema_registry, f"s{number}", old)
        assert (register(schema_registry, f"s{number}", new)[0] == 200) is LEVELS[level][number], (old, new)


def test_transitive_levels_compare_with_every_version(schema_registry: RunningRegistry) -> None:
    texts = [ORDER.replace("]}", f',{{"name":"b","type":"{kind}","default":0}}]}}') for kind in ("int", "double")]
    for subject, level in (("last", "BACKWARD"), ("all", "BACKWARD_TRANSITIVE")):
        call(schema_registry, "PUT", f"/config/{subject}", {"compatibility": level})
        register(schema_registry, subject, texts[1])
        register(schema_registry, subject, ORDER)
    assert register(schema_registry, "last", texts[0])[0] == 200
    status, found = call(schema_registry, "POST", "/subjects/all/versions", {"schema": texts[0]})
    assert (status, found["error_code"]) == (409, 409)
    assert "oldSchemaVersion: 1" in found["message"]


ERRORS: list[tuple[str, str, Any, int, int]] = [
    ("GET", "/subjects/none/versions", None, 404, 40401),
    ("GET", "/subjects/a/versions/9", None, 404, 40402),
    ("GET", "/schemas/ids/99", None, 404, 40403),
    ("GET", "/schemas/ids/99999999999999999999", None, 404, 404),
    ("GET", "/subjects/a/versions/0", None, 422, 42202),
    ("GET", "/subjects/a/versions/x", None, 422, 42202),
    ("POST", "/subjects/a", {"schema": WIDER}, 404, 40403),
    ("POST", "/subjects/a/versions", {"schema": "{"}, 422, 42201),
    ("POST", "/subjects/a/versions", {"schema": '{"type":"foo"}'}, 422, 42201),
    ("POST", "/subjects/a/versions", {"schema": '"int"', "schemaType": "XML"}, 422, 42201),
    ("POST", "/subjects/a/versions", {"schema": '"int"', "references": [{"name": "x"}]}, 422, 42201),
    ("POST", "/subjects/a/versions", {"schema": "message A { int32 a = 0; }", "schemaType": "PROTOBUF"}, 422, 42201),
    ("POST", "/subjects/a/versions", {"schema": '{"type": 5}', "schemaType": "JSON"}, 422, 42201),
    ("POST", "/subjects/a/versions", {}, 422, 42201),
    ("POST", "/subjects/a/versions", [], 400, 400),
    ("PUT", "/config", {"compatibility": "SOME"}, 422, 42203),
    ("PUT", "/mode", {"mode": "SOME"}, 422, 42204),
    ("GET", "/config/a", None, 404, 40408),
    ("DELETE", "/subjects/a?permanent=true", None, 404, 40405),
    ("DELETE", "/subjects/a/versions/1?permanent=true", None, 404, 40407),
    ("DELETE", "/subjects/none", None, 404, 40401),
    ("POST", "/subjects/a/versions", {"schema": '"int"', "id": 7}, 422, 42205),
    ("GET", "/nothing", None, 404, 404),
    ("BREW", "/subjects", None, 405, 405),
]


@pytest.mark.parametrize(("method", "path", "body", "status", "code"), ERRORS)
def test_a_wrong_request_has_the_code_of_confluents_registry(
    schema_registry: RunningRegistry, method: str, path: str, body: Any, status: int, code: int
) -> None:
    register(schema_registry, "a", ORDER)
    answer = call(schema_registry, method, path, body)
    assert (answer[0], answer[1]["error_code"]) == (status, code), answer


def nested(count: int) -> str:
    return '{"type":"array","items":' * count + '"int"' + "}" * count


HOSTILE: dict[str, Callable[[], dict[str, Any]]] = {
    "deep JSON": lambda: {"schema": "[" * 100_000},
    "deep Avro": lambda: {"schema": nested(1000)},
    "deep Protobuf": lambda: {"schema": "message A {" * 5000 + "}" * 5000, "schemaType": "PROTOBUF"},
    "deep JSON Schema": lambda: {"schema": '{"items":' * 1000 + "{}" + "}" * 1000, "schemaType": "JSON"},
    "half of a surrogate pair": lambda: {"schema": '{"type":"enum","name":"E","symbols":["A"],"doc":"\ud800"}'},
    "half of an escaped pair": lambda: {"schema": '{"type":"enum","name":"E","symbols":["A"],"doc":"\\uD800"}'},
    "a reference to half of a pair": lambda: {
        "schema": '"string"',
        "references": [{"name": "\ud800", "subject": "\ud800", "version": 1}],
    },
    "a number that JSON does not have": lambda: {"schema": '{"type":"array","items":"int","default":NaN}'},
    "a file of the system": lambda: {
        "schema": 'import "google/protobuf/../../os.proto";',
        "schemaType": "PROTOBUF",
    },
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_schema_is_refused(schema_registry: RunningRegistry, name: str) -> None:
    status, found = call(schema_registry, "POST", "/subjects/a/versions", HOSTILE[name]())
    assert (status, found["error_code"]) == (422, 42201), found


RAW = {
    b"POST /subjects/a/versions HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n": b"413",
    b"POST /subjects/a/versions HTTP/1.1\r\nContent-Length: -1\r\n\r\n": b"400",
    b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nfffffffff\r\n": b"413",
    b"POST /a HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n-5\r\n": b"400",
    b"nonsense\r\n\r\n": b"400",
    b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000 + b"\r\n": b"431",
}


@pytest.mark.parametrize("data", RAW, ids=range(len(RAW)))
def test_bytes_that_are_no_request_are_answered_and_do_not_stay(schema_registry: RunningRegistry, data: bytes) -> None:
    place = urlsplit(schema_registry.url)
    with socket.create_connection((str(place.hostname), place.port or 0), timeout=10) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert answer.split(b" ")[1] == RAW[data], answer
    assert call(schema_registry, "GET", "/subjects") == (200, [])


def test_a_protobuf_schema_is_served_as_text_and_as_descriptor(schema_registry: RunningRegistry) -> None:
    register(schema_registry, "p", PROTO, schemaType="PROTOBUF")
    _, as_text = call(schema_registry, "GET", "/schemas/ids/1")
    _, serialized = call(schema_registry, "GET", "/schemas/ids/1?format=serialized")
    assert as_text["schema"].strip() == PROTO
    assert register(schema_registry, "q", serialized["schema"], schemaType="PROTOBUF")[0] == 200
    _, again = call(schema_registry, "GET", "/subjects/q/versions/latest")
    assert "int32 a = 1;" in again["schema"]


def test_changes_of_protobuf_and_json_schemas_are_checked(schema_registry: RunningRegistry) -> None:
    register(schema_registry, "p", PROTO, schemaType="PROTOBUF")
    assert register(schema_registry, "p", PROTO.replace("int32", "string"), schemaType="PROTOBUF") == (409, 409)
    assert register(schema_registry, "p", PROTO.replace("int32", "int64"), schemaType="PROTOBUF")[0] == 200
    register(schema_registry, "j", '{"type":"object","properties":{"a":{"type":"integer"}}}', schemaType="JSON")
    worse = '{"type":"object","properties":{"a":{"type":"string"}}}'
    assert register(schema_registry, "j", worse, schemaType="JSON") == (409, 409)
    wider = '{"type":"object","properties":{"a":{"type":"number"}}}'
    assert register(schema_registry, "j", wider, schemaType="JSON")[0] == 200
