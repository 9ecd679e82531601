"""`kafkawire proxy`: a proxy between clients and brokers that prints and records every exchange."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire import _platforms as platforms
from kafkawire.cli._support import output
from kafkawire.cli._support.pages import add_ui_option, live_page, serving
from kafkawire.cli.registry import UsageError
from kafkawire.inspect import Proxy, Recording, api_name, body_columns
from kafkawire.messages.errors import error

if TYPE_CHECKING:
    import argparse

    from kafkawire.inspect import ProxyExchange, ProxyObserver
    from kafkawire.web import PageServer

HELP = "record and print the traffic between clients and brokers; does not need root"
EXAMPLES = (
    "kafkawire proxy --listen 9093 --upstream localhost:9092",
    "kafkawire proxy --listen 9093 --upstream broker:9092 --record traffic.pcapng",
    "kafkawire proxy --listen 0.0.0.0:9093 --advertise myhost --upstream broker:9093 --tls",
)


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--listen", required=True, metavar="[HOST:]PORT", help="address for clients")
    parser.add_argument("--upstream", required=True, metavar="HOST:PORT", help="a broker of the cluster")
    parser.add_argument("--advertise", metavar="HOST", help="host name of the proxy for clients")
    parser.add_argument("--record", type=Path, metavar="FILE.pcapng", help="write all traffic to this capture (pcapng)")
    parser.add_argument("--tls", action="store_true", help="use TLS to the brokers; clients connect in plaintext")
    parser.add_argument("--cafile", type=Path, metavar="FILE", help="trusted certificates for --tls")
    parser.add_argument("--quiet", action="store_true", help="do not print exchanges")
    add_ui_option(parser)
    output.add_json_option(parser)


def run(args: argparse.Namespace) -> int:
    listen = _endpoint(args.listen, "127.0.0.1")
    upstream = _endpoint(args.upstream, None)
    context = _tls(args.cafile) if args.tls else None
    with contextlib.ExitStack() as stack:
        recording = Recording(stack.enter_context(args.record.open("wb"))) if args.record is not None else None
        page, watch = _page(args) if args.ui else (None, printer(args))
        proxy = Proxy(listen, upstream, args.advertise, context, recording, watch)
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(_serve(proxy, page))
    return 0


def _page(args: argparse.Namespace) -> tuple[PageServer, ProxyObserver]:
    """The page of this proxy, and the observer that feeds it."""
    from kafkawire._extras import naming_extras

    with naming_extras("kafkawire proxy --ui"):
        from kafkawire.web import LiveSource, ProxyWatch, Workspace
    source = LiveSource(f"proxy to {args.upstream}", empty=f"Point a client to port {args.listen.rpartition(':')[2]}.")
    workspace = Workspace()
    workspace.start = f"/{workspace.add_source(source)}/exchanges"
    return live_page(workspace, args), ProxyWatch(source, args.upstream, printer(args))


class Printer:
    """Prints one line per exchange."""

    def __init__(self, *, quiet: bool, as_json: bool) -> None:
        self._quiet, self._json = quiet, as_json

    def exchange(self, client: tuple[str, int], seen: ProxyExchange) -> None:
        """Print an exchange when it is complete, or when the broker closes the connection instead of answering."""
        if self._quiet:
            return
        asked = seen.asked
        row = body_columns(asked.request, seen.response)
        code = row.get("error_code")
        shown = {
            "time": f"{datetime.fromtimestamp(asked.at / 1e9, UTC):%H:%M:%S.%f}",
            "client": asked.client_id or f"{client[0]}:{client[1]}",
            "api": (api_name(asked.key) or str(asked.key)) if asked.key >= 0 else None,
            "version": asked.version if asked.version >= 0 else None,
            "wait_ms": round((seen.at - asked.at) / 1e6, 3) if seen.size else None,
            "request": asked.size,
            "response": seen.size or None,
            "error": error(code).name if isinstance(code, int) and code else None,
            "group": row.get("group_id"),
            "state": "unanswered" if seen.is_unanswered else None,
        }
        if self._json:
            output.print_json([shown])
        else:
            print(
                "  ".join(output.visible(str("-" if value is None else value)) for value in shown.values()), flush=True
            )

    def complain(self, text: str) -> None:
        """Print an error, and continue."""
        print(f"kafkawire: {text}", file=sys.stderr, flush=True)


def printer(args: argparse.Namespace) -> Printer:
    return Printer(quiet=args.quiet, as_json=args.json)


def _tls(cafile: Path | None) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=cafile)
    except OSError as refusal:
        raise UsageError(f"--cafile {cafile}: {refusal}") from refusal


async def _serve(proxy: Proxy, page: PageServer | None) -> None:
    stopped = asyncio.Event()
    platforms.call_on_signals(asyncio.get_running_loop(), stopped.set)
    await proxy.start()
    print(f"kafkawire: listening on port {proxy.port}; press Ctrl-C to stop", file=sys.stderr, flush=True)
    async with serving(page, browser=True):
        await stopped.wait()
    await proxy.stop()


def _endpoint(text: str, host: str | None) -> tuple[str, int]:
    name, _, port = text.rpartition(":")
    name = name.strip("[]") or (host or "")
    if not name or not port.isdecimal() or not 0 <= int(port) <= 65535:
        raise UsageError(f"{text!r}: expected {'HOST:PORT' if host is None else '[HOST:]PORT'}")
    return name, int(port)
