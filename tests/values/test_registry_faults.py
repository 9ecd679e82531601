"""The registry client at servers that are slow, dead, or answer what a registry would not."""

from __future__ import annotations

import json
import socket
import threading
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafkawire.values import RegistryError, SchemaRegistry, ValuesError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TIMEOUT = 0.3


@contextmanager
def server(serve: Callable[[socket.socket], None]) -> Iterator[tuple[str, list[float]]]:
    """A server that gives each connection to a function; its URL, and when connections came."""
    listening = socket.create_server(("127.0.0.1", 0))
    times: list[float] = []

    def accept() -> None:
        while True:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            times.append(time.monotonic())
            threading.Thread(target=run, args=(connection,), daemon=True).start()

    def run(connection: socket.socket) -> None:
        with connection:
            try:
                serve(connection)
            except OSError:
                return

    thread = threading.Thread(target=accept, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", times
    finally:
        listening.shutdown(socket.SHUT_RDWR)
        listening.close()
        thread.join()


def silent(connection: socket.socket) -> None:
    while connection.recv(1000):
        pass


def dripping(connection: socket.socket) -> None:
    """A byte of the body each 50 ms, without a length: the answer ends when the connection does."""
    connection.recv(1000)
    connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
    for _ in range(200):
        connection.sendall(b"[")
        time.sleep(0.05)


def dripping_head(connection: socket.socket) -> None:
    connection.recv(1000)
    for each in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200:
        connection.sendall(bytes([each]))
        time.sleep(0.05)


def answering(body: bytes, status: str = "200 OK") -> Callable[[socket.socket], None]:
    def serve(connection: socket.socket) -> None:
        while connection.recv(10_000):
            head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
            connection.sendall(head.encode() + body)

    return serve


@pytest.mark.parametrize("serve", [silent, dripping, dripping_head])
def test_a_slow_registry_fails_within_the_timeout_and_is_asked_once(serve: Callable[[socket.socket], None]) -> None:
    with server(serve) as (url, times), SchemaRegistry(url, timeout=TIMEOUT) as registry:
        began = time.monotonic()
        with pytest.raises(RegistryError, match=r"does not answer: http://127\.0\.0\.1"):
            registry.schema(7)
        assert TIMEOUT <= time.monotonic() - began < 5
        assert len(times) == 1


@pytest.mark.parametrize("serve", [silent, dripping])
def test_the_next_url_answers_when_the_first_is_slow(serve: Callable[[socket.socket], None]) -> None:
    with (
        server(serve) as (slow, times),
        server(answering(b'["orders-value"]')) as (good, _),
        SchemaRegistry(f"{slow},{good}", timeout=TIMEOUT) as registry,
    ):
        assert registry.subjects() == ["orders-value"]
        assert registry.subjects() == ["orders-value"]
        assert len(times) == 1


def test_a_failing_registry_is_asked_in_three_rounds_beside_a_slow_one() -> None:
    with (
        server(silent) as (slow, waiting),
        server(answering(b"{}", "503 Busy")) as (busy, times),
        SchemaRegistry(f"{slow},{busy}", timeout=TIMEOUT) as registry,
    ):
        with pytest.raises(RegistryError, match=r"timed out.*HTTP 503|no whole answer.*HTTP 503"):
            registry.subjects()
        assert (len(waiting), len(times)) == (1, 1), "a connection that is kept serves all rounds"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)
answers = st.fixed_dictionaries(
    {},
    optional={
        **dict.fromkeys(("id", "version", "schemaType", "references", "subject"), json_values),
        "schema": json_values | st.just('"string"'),
        "error_code": json_values,
    },
)


@given(document=answers | json_values)
def test_a_strange_answer_is_an_error_of_values(document: Any) -> None:
    with SchemaRegistry("http://127.0.0.1:9") as registry:
        registry._connection.request = lambda *_: json.loads(json.dumps(document))  # type: ignore[method-assign]
        for call in (registry.subjects, lambda: registry.schema(7), lambda: registry.latest("orders-value")):
            with suppress(ValuesError):
                call()
