"""The login of the registry client, basic and bearer, at a registry behind a gate that wants exactly that header."""

from __future__ import annotations

import base64
import http.client
import pickle
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pytest
from confluent_kafka.schema_registry import SchemaRegistryClient

from kafkawire.testing import RunningBroker, RunningRegistry
from kafkawire.values import RegistryError, SchemaRegistry

if TYPE_CHECKING:
    from collections.abc import Iterator

ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"int"}]}'
USER = "ann:s3:cret\u00e9"  # a password may contain a colon and letters beyond ASCII
BASIC = "Basic " + base64.b64encode(USER.encode()).decode()
BEARER = "Bearer abc.def"


@contextmanager
def gate(registry: RunningRegistry, wanted: str) -> Iterator[str]:
    """A server that passes a request on if its Authorization is the wanted one; its URL."""
    place = urlsplit(registry.url)

    class Gate(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _pass_on(self) -> None:
            if self.headers.get("Authorization") != wanted:
                self._answer(401, b'{"error_code":401,"message":"Unauthorized"}')
                return
            inner = http.client.HTTPConnection(str(place.hostname), place.port, timeout=10)
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            inner.request(self.command, self.path, body or None)
            response = inner.getresponse()
            self._answer(response.status, response.read())
            inner.close()

        do_GET = do_POST = _pass_on  # noqa: N815 - the names of http.server

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Gate)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def registry() -> Iterator[RunningRegistry]:
    with RunningBroker() as broker, RunningRegistry(broker) as registry:
        from confluent_kafka.schema_registry import Schema

        with SchemaRegistryClient({"url": registry.url}) as client:
            client.register_schema("orders", Schema(ORDER, "AVRO"))
        yield registry


def with_user(url: str, text: str) -> str:
    from urllib.parse import quote

    user, _, password = text.partition(":")
    return url.replace("http://", f"http://{quote(user)}:{quote(password)}@")


def test_a_user_logs_in_by_argument_by_option_and_by_url(registry: RunningRegistry) -> None:
    user, _, password = USER.partition(":")
    with gate(registry, BASIC) as url:
        clients = [
            SchemaRegistry(url, auth=(user, password)),
            SchemaRegistry.from_options(
                url, {"basic.auth.user.info": USER, "basic.auth.credentials.source": "USER_INFO"}
            ),
            SchemaRegistry(with_user(url, USER)),
        ]
        for client in [*clients, *(pickle.loads(pickle.dumps(client)) for client in clients)]:
            assert client.subjects() == ["orders"]
            assert client.latest("orders").schema.text == ORDER


def test_a_token_logs_in_by_argument_and_by_option(registry: RunningRegistry) -> None:
    with gate(registry, BEARER) as url:
        options = {"bearer.auth.token": "abc.def", "bearer.auth.credentials.source": "STATIC_TOKEN"}
        for client in (SchemaRegistry(url, token="abc.def"), SchemaRegistry.from_options(url, options)):
            assert client.subjects() == ["orders"]


def test_the_headers_are_those_of_confluents_client(registry: RunningRegistry) -> None:
    plain = "ann:secret"
    header = "Basic " + base64.b64encode(plain.encode()).decode()
    with (
        gate(registry, header) as url,
        SchemaRegistryClient({"url": url, "basic.auth.user.info": plain}) as theirs,
    ):
        ours = SchemaRegistry.from_options(url, {"basic.auth.user.info": plain})
        assert theirs.get_subjects() == ours.subjects() == ["orders"]


@pytest.mark.parametrize(
    "options",
    [{}, {"basic.auth.user.info": "ann:wrong-pass"}, {"bearer.auth.token": "wrong-token"}],
    ids=["none", "password", "token"],
)
@pytest.mark.parametrize("wanted", [BASIC, BEARER], ids=["basic", "bearer"])
def test_a_wrong_login_is_an_error_that_says_so_and_has_no_secret(
    registry: RunningRegistry, wanted: str, options: dict[str, str]
) -> None:
    with gate(registry, wanted) as url, pytest.raises(RegistryError, match="HTTP 401; check the user") as failure:
        SchemaRegistry.from_options(url, options).subjects()
    assert failure.value.status == 401
    for secret in options.values():
        assert secret not in str(failure.value)
        assert secret not in repr(failure.value)


def test_a_user_in_the_url_is_not_in_errors(registry: RunningRegistry) -> None:
    with gate(registry, BEARER) as url, pytest.raises(RegistryError, match="HTTP 401") as failure:
        SchemaRegistry(with_user(url, "ann:planted")).subjects()
    assert "planted" not in str(failure.value)


def test_user_info_without_a_colon_is_refused_without_showing_it() -> None:
    with pytest.raises(RegistryError, match=r"basic\.auth\.user\.info: expected USER:PASSWORD") as failure:
        SchemaRegistry.from_options("http://r:8081", {"basic.auth.user.info": "planted"})
    assert "planted" not in str(failure.value)
