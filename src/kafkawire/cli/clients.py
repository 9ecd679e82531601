"""What the commands that talk to a cluster share: where it is, and the options of the client.

Rules:
- The cluster is -b, else KAFKAWIRE_BOOTSTRAP_SERVERS, else localhost:9092.
- -X takes any client option by Kafka's name or ours; -F takes a file of them; the command line wins.
- Who is told to end (SIGTERM) sends what it took, commits, and leaves its group first.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli.commands import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

_ENVIRONMENT: Final = "KAFKAWIRE_BOOTSTRAP_SERVERS"


def add_client_options(parser: argparse.ArgumentParser) -> None:
    """Give a command -b, -X and -F."""
    servers = os.environ.get(_ENVIRONMENT, "localhost:9092")
    parser.add_argument(
        "-b",
        "--bootstrap-server",
        "--bootstrap-servers",
        dest="bootstrap",
        default=servers,
        metavar="HOST:PORT,...",
        help=f"brokers to begin with (default {servers}; {_ENVIRONMENT} sets it)",
    )
    parser.add_argument(
        "-X", dest="options", action="append", default=[], metavar="NAME=VALUE", help="any option of the client"
    )
    parser.add_argument("-F", dest="options_file", metavar="FILE", help="a properties file with options of the client")


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let SIGTERM end what runs here as an interrupt would, with the code that shells give it."""

    def end(number: int, _: object) -> None:
        raise SystemExit(128 + number)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def client_config(args: argparse.Namespace, **more: Any) -> dict[str, Any]:
    """The options that were given, and those of the command, as a client takes them."""
    from kafkawire.client.options import option_named

    given = _read_properties(Path(args.options_file)) if args.options_file else {}
    config: dict[str, Any] = {"bootstrap_servers": args.bootstrap}
    config.update((name, value) for name, value in more.items() if value is not None)
    config.update((option_named(name), value) for name, value in given.items())
    config.update((option_named(name), value) for name, value in (pair(option, "-X") for option in args.options))
    return config


def pair(text: str, option: str) -> tuple[str, str]:
    """A NAME=VALUE of the command line."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} {text!r}: expected NAME=VALUE")
    return name.strip(), value


def _read_properties(path: Path) -> dict[str, str]:
    found = {}
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        text = line.strip()
        if text and not text.startswith(("#", "!")):
            name, equals, value = text.partition("=")
            if not equals:
                raise UsageError(f"{path}, line {number}: expected name=value, found {text!r}")
            found[name.strip()] = value.strip()
    return found
