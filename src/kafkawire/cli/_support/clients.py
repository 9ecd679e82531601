"""Options of the commands that connect to a cluster.

Rules:
- The cluster is -b, else KAFKAWIRE_BOOTSTRAP_SERVERS, else localhost:9092.
- -X accepts any client option by Kafka's name or by kafkawire's. -F reads a file of options. The command line overrides
  the file.
- -v prints a line per request and response of the client to standard error, -vv their bytes and fields too,
  and -vvv every record.
- On SIGTERM a command sends the records that it read, commits, and leaves its group before it exits.
"""

from __future__ import annotations

import os
import signal
import threading
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from kafkawire.cli.registry import UsageError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator, Mapping

_TRACES: Final = ("lines", "trees", "full-trees")
_ENVIRONMENT: Final = "KAFKAWIRE_BOOTSTRAP_SERVERS"


def add_client_options(parser: argparse.ArgumentParser) -> None:
    """Add -b, -X, -F and -v to a command."""
    servers = os.environ.get(_ENVIRONMENT, "localhost:9092")
    parser.add_argument(
        "-b",
        "--bootstrap-server",
        "--bootstrap-servers",
        dest="bootstrap",
        default=servers,
        metavar="HOST:PORT,...",
        help=f"bootstrap servers (default {servers}; {_ENVIRONMENT} changes the default)",
    )
    add_setting_options(parser)
    parser.add_argument(
        "-v",
        dest="verbose",
        action="count",
        default=0,
        help="print each request and response to standard error; -vv also their bytes and fields, as decode does; -vvv "
        "also all records (-X trace=json: as JSON)",
    )


def add_setting_options(parser: argparse.ArgumentParser) -> None:
    """Add -X and -F to a command."""
    parser.add_argument(
        "-X",
        dest="options",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="set an option of the client; can be repeated",
    )
    parser.add_argument("-F", dest="options_file", metavar="FILE", help="properties file with options of the client")


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let SIGTERM raise SystemExit with the exit code of a shell, so that `with` blocks end in order."""

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
    """The configuration of a client, from the options of the user and `more` of the command."""
    config: dict[str, Any] = {"bootstrap_servers": args.bootstrap}
    if args.verbose:
        config["trace"] = _TRACES[min(args.verbose, len(_TRACES)) - 1]
    config.update((name, value) for name, value in more.items() if value is not None)
    return config | given_settings(args)


def given_settings(args: argparse.Namespace) -> dict[str, Any]:
    """The options of -F and -X, which overrides it, by kafkawire's names."""
    from kafkawire.client.option_names import option_named

    given = _read_properties(Path(args.options_file)) if args.options_file else {}
    pairs = [*given.items(), *(pair(option, "-X") for option in args.options)]
    return {option_named(name): value for name, value in pairs}


def admin_config(args: argparse.Namespace) -> dict[str, Any]:
    """The options of the user that every client has, for a command that also takes those of consumers."""
    return of_every_client(client_config(args))


def of_every_client(config: Mapping[str, Any]) -> dict[str, Any]:
    """The options that every client has."""
    from dataclasses import fields

    from kafkawire.client.options import ClientOptions

    known = {each.name for each in fields(ClientOptions)}
    return {name: value for name, value in config.items() if name in known}


def pair(text: str, option: str) -> tuple[str, str]:
    """Split NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise UsageError(f"{option} {text!r}: expected NAME=VALUE")
    return name.strip(), value


def _read_properties(path: Path) -> dict[str, str]:
    from kafkawire.wire.properties import PropertiesError, parse_properties

    try:
        return parse_properties(path.read_text(encoding="utf-8"), str(path))
    except PropertiesError as error:
        raise UsageError(str(error)) from None
