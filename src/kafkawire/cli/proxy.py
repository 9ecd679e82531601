"""`kafkawire proxy`: stand between clients and brokers, print every exchange, record what passes."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import ssl
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.cli import output
from kafkawire.cli.commands import UsageError
from kafkawire.inspect.details import details
from kafkawire.inspect.sources.proxy import Relay, Seen
from kafkawire.inspect.sources.recording import RecordedConnection, Recording
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    import argparse

HELP = "record and print what passes between clients and brokers; needs no root"
EXAMPLES = (
    "kafkawire proxy --listen 9093 --upstream localhost:9092",
    "kafkawire proxy --listen 9093 --upstream broker:9092 --record traffic.pcapng",
    "kafkawire proxy --listen 0.0.0.0:9093 --advertise myhost --upstream broker:9093 --tls",
)
_CHUNK = 1 << 16


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", required=True, metavar="[HOST:]PORT", help="where clients connect")
    parser.add_argument("--upstream", required=True, metavar="HOST:PORT", help="the broker to start from")
    parser.add_argument("--advertise", metavar="HOST", help="the name under which clients reach the proxy")
    parser.add_argument("--record", type=Path, metavar="FILE.pcapng", help="write everything as a capture")
    parser.add_argument("--tls", action="store_true", help="speak TLS to the brokers; clients stay in plaintext")
    parser.add_argument("--cafile", type=Path, metavar="FILE", help="certificates to trust with --tls")
    parser.add_argument("--quiet", action="store_true", help="print no exchanges")
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    listen = _endpoint(args.listen, "127.0.0.1")
    upstream = _endpoint(args.upstream, None)
    context = _tls(args.cafile) if args.tls else None
    with contextlib.ExitStack() as stack:
        recording = Recording(stack.enter_context(args.record.open("wb"))) if args.record is not None else None
        proxy = Proxy(listen, upstream, args.advertise, context, recording, printer(args))
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(proxy))
    return 0


class Proxy:
    """Listeners, one for each broker that was heard of, and the relays between."""

    def __init__(
        self,
        listen: tuple[str, int],
        upstream: tuple[str, int],
        advertised: str | None,
        context: ssl.SSLContext | None,
        recording: Recording | None,
        report: Printer,
    ) -> None:
        self._host = listen[0]
        self._advertised = advertised or ("localhost" if listen[0] in ("0.0.0.0", "::", "127.0.0.1") else listen[0])
        self._context, self._recording, self._report = context, recording, report
        self._ports: dict[tuple[str, int], int] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._servers: list[asyncio.Server] = []
        self._wanted = listen[1]
        self._first = upstream

    @property
    def port(self) -> int:
        """The port of the listener for the broker to start from."""
        return self._ports[self._first]

    async def start(self) -> None:
        """Listen for the first broker."""
        self.advertise(*self._first, port=self._wanted)
        await asyncio.sleep(0)

    async def stop(self) -> None:
        """Close listeners and connections."""
        for server in self._servers:
            server.close()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def advertise(self, host: str, port_of_broker: int, *, port: int = 0) -> tuple[str, int]:
        """The proxy's address for a broker; a listener is opened when a broker is heard of first."""
        broker = (host, port_of_broker)
        if broker not in self._ports:
            family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
            listener = socket.socket(family, socket.SOCK_STREAM)
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((self._host, port))
            listener.listen(128)
            listener.setblocking(False)
            self._ports[broker] = listener.getsockname()[1]
            self._keep(self._listen(listener, broker))
        return self._advertised, self._ports[broker]

    async def _listen(self, listener: socket.socket, broker: tuple[str, int]) -> None:
        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            if task is not None:
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
            try:
                with contextlib.suppress(asyncio.CancelledError):
                    await self._relay(reader, writer, broker)
            finally:
                await _close(writer)

        self._servers.append(await asyncio.start_server(accept, sock=listener))

    def _keep(self, work: object) -> None:
        task = asyncio.ensure_future(work)  # type: ignore[call-overload]  # a coroutine
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, broker: tuple[str, int]) -> None:
        client: tuple[str, int] = writer.get_extra_info("peername")[:2]
        name = broker[0] if self._context is not None else None
        try:
            up_reader, up_writer = await asyncio.open_connection(*broker, ssl=self._context, server_hostname=name)
        except OSError as refusal:
            self._report.complain(f"{broker[0]}:{broker[1]}: {refusal}")
            return
        recorded = None
        if self._recording is not None:
            recorded = self._recording.connection(client, up_writer.get_extra_info("peername")[:2])
            recorded.open(time.time_ns())
        relay = Relay(self.advertise)
        up = asyncio.ensure_future(self._pump(reader, up_writer, relay, recorded, client, from_client=True))
        down = asyncio.ensure_future(self._pump(up_reader, writer, relay, recorded, client, from_client=False))
        try:
            done, _ = await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            if recorded is not None:
                recorded.close(time.time_ns(), by_client=up in done)
        finally:
            for task in (up, down):
                task.cancel()
            await asyncio.gather(up, down, return_exceptions=True)
            await _close(up_writer)

    async def _pump(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        relay: Relay,
        recorded: RecordedConnection | None,
        client: tuple[str, int],
        *,
        from_client: bool,
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while chunk := await reader.read(_CHUNK):
                now = time.time_ns()
                if recorded is not None:
                    recorded.sent(chunk, now, from_client=from_client)
                if from_client:
                    passed, seen = chunk, relay.from_client(chunk, now)
                else:
                    passed, seen = relay.from_broker(chunk, now)
                writer.write(passed)
                for each in seen:
                    self._report.exchange(client, each)
                await writer.drain()


class Printer:
    """One line an exchange."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._json = quiet, as_json

    def exchange(self, client: tuple[str, int], seen: Seen) -> None:
        """Print an exchange that is over."""
        if self._quiet:
            return
        asked = seen.asked
        row = details(asked.request, seen.response)
        code = row.get("error_code")
        shown = {
            "time": f"{datetime.fromtimestamp(asked.at / 1e9, UTC):%H:%M:%S.%f}",
            "client": asked.client_id or f"{client[0]}:{client[1]}",
            "api": asked.which.name if asked.which is not None else None,
            "version": asked.version if asked.version >= 0 else None,
            "wait_ms": round((seen.at - asked.at) / 1e6, 3) if seen.size else None,
            "request": asked.size,
            "response": seen.size or None,
            "error": error(code).name if isinstance(code, int) and code else None,
            "group": row.get("group_id"),
        }
        if self._json:
            output.print_json([shown])
        else:
            print(
                "  ".join(output.visible(str("-" if value is None else value)) for value in shown.values()), flush=True
            )

    def complain(self, text: str) -> None:
        """Tell of something that failed, without stopping."""
        print(f"kafkawire: {text}", file=sys.stderr, flush=True)


def printer(args: argparse.Namespace) -> Printer:
    return Printer(quiet=args.quiet, as_json=args.json)


def _tls(cafile: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=cafile)
    except OSError as refusal:
        raise UsageError(f"--cafile {cafile}: {refusal}") from refusal


async def _close(writer: asyncio.StreamWriter) -> None:
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


async def _serve(proxy: Proxy) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, stopped.set)
    await proxy.start()
    print(f"kafkawire: listening on port {proxy.port}; press Ctrl-C to stop", file=sys.stderr, flush=True)
    await stopped.wait()
    await proxy.stop()


def _endpoint(text: str, host: str | None) -> tuple[str, int]:
    name, _, port = text.rpartition(":")
    name = name.strip("[]") or (host or "")
    if not name or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise UsageError(f"{text!r}: expected {'HOST:PORT' if host is None else '[HOST:]PORT'}")
    return name, int(port)
