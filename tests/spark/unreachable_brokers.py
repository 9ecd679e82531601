"""Addresses that look like brokers and never become one, each for another reason."""

from __future__ import annotations

import socket
import struct
import threading
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from typing import TYPE_CHECKING

from kafkawire.messages import ApiVersionsRequest
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def refused() -> Iterator[str]:
    """A port that nobody listens on."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{bound.getsockname()[1]}"


@contextmanager
def silent() -> Iterator[str]:
    """A listener that accepts connections and never answers, as a process that is stopped does."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def dropped() -> Iterator[str]:
    """A listener whose queue is full, so that the system drops every packet of a new connection."""
    with ExitStack() as stack:
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=0))
        for _ in range(8):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            with suppress(BlockingIOError):
                filler.connect(server.getsockname())
        yield f"127.0.0.1:{server.getsockname()[1]}"


@contextmanager
def unknown_name() -> Iterator[str]:
    """A name that no server of names knows."""
    yield "no-such-broker.invalid:9092"


@contextmanager
def without_metadata() -> Iterator[str]:
    """A broker that answers ApiVersions, and no other request."""
    with RunningBroker() as real, ExitStack() as stack:
        host, _, port = real.bootstrap_servers.partition(":")
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=100))
        over = threading.Event()
        stack.callback(over.set)
        threading.Thread(target=_answer_versions, args=(server, (host, int(port)), over), daemon=True).start()
        yield f"127.0.0.1:{server.getsockname()[1]}"


def _answer_versions(server: socket.socket, real: tuple[str, int], over: threading.Event) -> None:
    server.settimeout(0.1)
    while not over.is_set():
        try:
            client, _ = server.accept()
        except TimeoutError:
            continue
        except OSError:
            return
        threading.Thread(target=_serve, args=(client, real, over), daemon=True).start()


def _serve(client: socket.socket, real: tuple[str, int], over: threading.Event) -> None:
    with client, socket.create_connection(real) as upstream, suppress(OSError):
        while frame := _frame(client):
            if struct.unpack_from(">h", frame, 4)[0] == ApiVersionsRequest.api_key:
                upstream.sendall(frame)
                client.sendall(_frame(upstream))
        over.wait()


def _frame(wire: socket.socket) -> bytes:
    head = wire.recv(4, socket.MSG_WAITALL)
    return head + wire.recv(struct.unpack(">i", head)[0], socket.MSG_WAITALL) if len(head) == 4 else b""


KINDS: dict[str, Callable[[], AbstractContextManager[str]]] = {
    "refused": refused,
    "silent": silent,
    "dropped": dropped,
    "unknown name": unknown_name,
    "without metadata": without_metadata,
}
