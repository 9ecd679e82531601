"""Commands that show their result in the page: its server in the foreground, and the options of that server.

Rules:
- The address is printed, and the browser is started unless --no-browser is given.
- `kafkawire ui` runs until it is interrupted. With `--web` on another command the server ends with the last tab.
- Many commands import this module for its options. asyncio is imported when a page is served, because it takes as long
  as a small command.
"""

from __future__ import annotations

import contextlib
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire._extras import naming_extras
from kafkawire.cli._support.numbers import count
from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import AsyncIterator, Callable, Sequence

    from kafkawire.inspect import Explanation
    from kafkawire.web import PageServer, Workspace


def add_page_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of `kafkawire ui`."""
    parser.add_argument("--port", type=count, default=0, metavar="PORT", help="port to listen on; 0 chooses a free one")
    parser.add_argument("--no-browser", action="store_true", help="print the address, and do not start the browser")
    parser.add_argument("--host", help="address to listen on (127.0.0.1 and ::1); others need --certificate")
    parser.add_argument("--certificate", type=Path, metavar="FILE", help="certificate in PEM, to serve https")
    parser.add_argument("--key", type=Path, metavar="FILE", help="key of the certificate in PEM")
    parser.add_argument("--insecure", action="store_true", help="allow another --host without encryption")
    parser.add_argument("--write", action="store_true", help="let the page change the broker: produce, create, delete")
    parser.add_argument("--no-export", action="store_true", help="disable downloads from the page")
    from kafkawire.cli._support.output import add_json_option

    add_json_option(parser)


def add_ui_option(parser: argparse.ArgumentParser) -> None:
    """Add --ui to a command that runs in the foreground."""
    parser.add_argument("--ui", action="store_true", help="also show the traffic in the browser, while it passes")
    parser.add_argument(
        "--ui-port", type=count, default=0, metavar="PORT", help="port of the page; 0 chooses a free one"
    )
    parser.add_argument("--no-browser", action="store_true", help="with --ui, print the address only")


def live_page(workspace: Workspace, args: argparse.Namespace) -> PageServer:
    """The page of a command that runs in the foreground."""
    from kafkawire.web import PageServer

    server = PageServer(workspace, port=args.ui_port)
    server.wants_browser = not args.no_browser
    return server


@asynccontextmanager
async def serving(server: PageServer | None, *, browser: bool) -> AsyncIterator[None]:
    """Serve a page while the block runs; its address is printed on standard error."""
    if server is None:
        yield
        return
    import asyncio

    task = asyncio.ensure_future(server.serve())
    print(f"kafkawire: the page is at {server.address}", file=sys.stderr, flush=True)
    if browser and server.wants_browser:
        await asyncio.to_thread(server.open_browser)
    try:
        yield
    finally:
        server.stop()
        await task


def show_frames(frames: Sequence[Explanation], note: str) -> int:
    """Show frames in the browser."""
    with naming_extras("--web"):
        from kafkawire.web import Document, Origin, PageServer, Workspace  # noqa: F401  # the server needs the extra
    from kafkawire.inspect import Asked

    workspace = Workspace(start="/bytes/given")
    workspace.given = Document(frames, Asked(), note=note, origin=Origin("command line"))
    workspace.keep(workspace.given)
    return show_in_browser(workspace)


def show_source(source: Callable[[], Any], view: str) -> int:
    """Show a source in the browser; `view` follows its name in the address."""
    with naming_extras("--web"):
        from kafkawire.web import PageServer, Workspace  # noqa: F401  # the server needs the extra
    workspace = Workspace()
    workspace.start = f"/{workspace.add_source(source())}{view}"
    return show_in_browser(workspace)


def show_view(view: str) -> int:
    """Show a view without a source in the browser."""
    with naming_extras("--web"):
        from kafkawire.web import PageServer, Workspace  # noqa: F401  # the server needs the extra
    return show_in_browser(Workspace(start=view))


def show_in_browser(workspace: Workspace) -> int:
    """Serve a workspace for a command with --web: until the last tab is closed, or it is interrupted."""
    from kafkawire.web import PageServer

    return _run(PageServer(workspace, until_closed=True), as_json=False, browser=True)


def serve_page(args: argparse.Namespace, workspace: Workspace) -> int:
    """Serve a workspace until the command is interrupted."""
    from kafkawire.web import PageServer

    if (args.certificate is None) != (args.key is None):
        raise UsageError("--certificate and --key belong together")
    server = PageServer(
        workspace,
        host=args.host,
        port=args.port,
        certificate=None if args.certificate is None else (args.certificate, args.key),
        insecure=args.insecure,
    )
    return _run(server, as_json=args.json, browser=not args.no_browser)


def _run(server: object, *, as_json: bool, browser: bool) -> int:
    import asyncio

    from kafkawire import _platforms as platforms
    from kafkawire.cli._support.output import print_json
    from kafkawire.web import PageServer

    assert isinstance(server, PageServer)

    async def run() -> None:
        platforms.call_on_signals(asyncio.get_running_loop(), server.stop)
        serving = asyncio.ensure_future(server.serve())
        await asyncio.sleep(0)
        if as_json:
            print_json([{"address": server.address, "port": server.port}])
            sys.stdout.flush()
        else:
            print(f"kafkawire: {server.address}", flush=True)
            print("press Ctrl-C to stop", file=sys.stderr, flush=True)
        if browser:
            await asyncio.to_thread(server.open_browser)
        await serving

    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run())
    return 0
