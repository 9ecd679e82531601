"""A listener between clients and a broker that keeps what the broker sends."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kafkawire.testing import RunningBroker


class Wiretap:
    """Passes bytes between clients and a broker, and keeps everything that the broker sends."""

    def __init__(self, broker: RunningBroker) -> None:
        self._target = int(broker.bootstrap_servers.rpartition(":")[2])
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self.sent: list[bytearray] = []
        self._sockets: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client = self._listening.accept()[0]
                server = socket.create_connection(("127.0.0.1", self._target))
                self._sockets += [client, server]
                kept = bytearray()
                self.sent.append(kept)
                for source, sink, log in ((client, server, bytearray()), (server, client, kept)):
                    self._threads.append(threading.Thread(target=_pass, args=(source, sink, log)))
                    self._threads[-1].start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._threads[0].join(10)
        for each in self._sockets:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(10)
        for each in self._sockets:
            each.close()


def _pass(source: socket.socket, sink: socket.socket, log: bytearray) -> None:
    with suppress(OSError):
        while data := source.recv(65536):
            log += data
            sink.sendall(data)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
