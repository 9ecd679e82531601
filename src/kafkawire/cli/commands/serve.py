"""`kafkawire serve`: a Kafka broker in the foreground, until SIGINT or SIGTERM."""

from __future__ import annotations

import asyncio
import logging
import os
from contextlib import AsyncExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from kafkawire.cli._support.pages import add_ui_option, live_page, serving
from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kafkawire.broker import Broker, SecureStart
    from kafkawire.web import PageServer

HELP = "run a Kafka broker without set-up, with its data in a directory or in memory"
EXAMPLES = (
    "kafkawire serve",
    "kafkawire serve --port 9094 --data /var/lib/kafkawire -c num.partitions=3",
    "kafkawire serve --memory --port 0",
    "kafkawire serve --registry",
    "kafkawire serve --secure --host 0.0.0.0 -c advertised.listeners=SASL_SSL://kafka.example:9092",
    "kafkawire serve --host 0.0.0.0 -c advertised.listeners=PLAINTEXT://kafka.example:9092 --metrics-port 9400",
)
LAST_PORT = 65535
LEAST_DESCRIPTORS = 64
_log = logging.getLogger("kafkawire.broker")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, help="port to listen on (9092); 0 chooses a free port")
    parser.add_argument("--host", help="address to listen on (127.0.0.1); 0.0.0.0 for all addresses")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="DIR", help="data directory (default: log.dirs, or kafkawire-data)")
    where.add_argument("--memory", action="store_true", help="keep all data in memory; it is lost on exit")
    parser.add_argument(
        "-c",
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="setting by Kafka's name; can be repeated",
    )
    parser.add_argument(
        "--secure",
        nargs="?",
        const=Path("kafkawire-secure"),
        type=Path,
        metavar="DIR",
        help="listen with TLS and one SCRAM user; certificates and settings of clients go to DIR (kafkawire-secure)",
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="properties file with settings")
    parser.add_argument("--metrics-port", type=_port, metavar="PORT", help="serve /metrics for Prometheus on this port")
    parser.add_argument(
        "--registry",
        nargs="?",
        const=-1,
        type=_port,
        metavar="PORT",
        help="also run a Schema Registry for tests, without security, on this port (8081); 0 chooses a free port",
    )
    parser.add_argument(
        "--log-format", choices=("text", "json"), default="text", help="format of log lines (default: text)"
    )
    add_ui_option(parser)
    parser.add_argument("-v", "--verbose", action="store_true", help="also log every request")


def run(args: argparse.Namespace) -> int:
    from kafkawire.cli._support.log_output import log_to_stderr

    with log_to_stderr(args.log_format, verbose=args.verbose):
        return _run(args)


def _run(args: argparse.Namespace) -> int:
    from kafkawire.broker import (
        DEFAULT_PORT,
        Broker,
        BrokerConfig,
        from_environment,
        from_file,
        from_pairs,
        new_loop,
        own_process,
        secure_start,
    )
    from kafkawire.cli.registry import SettingError
    from kafkawire.messages.errors import InvalidConfigError

    own_process()
    _allow_descriptors()
    try:
        config = from_file(args.config) if args.config else {}
        config |= from_environment(os.environ) | from_pairs(args.set)
        data = None if args.memory else args.data or _directory(config)
        port = DEFAULT_PORT if args.port is None and "listeners" not in config else args.port
        secured = secure_start(args.secure, BrokerConfig(config), args.host) if args.secure else None
        broker = Broker(
            data,
            host=args.host,
            port=port,
            config=secured.settings if secured else config,
            users=secured.users if secured else None,
        )
    except InvalidConfigError as error:
        raise SettingError(error.message or str(error)) from error
    for name, near in broker.config.unknown().items():
        _log.warning("%s is not a setting of this broker%s", name, f"; did you mean {near}?" if near else "")
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_serve(broker, args, None if data is None else Path(data), secured))


def _port(text: str) -> int:
    from kafkawire.cli.registry import UsageError

    if not text.isdigit() or int(text) > LAST_PORT:
        raise UsageError(f"{text!r} is not a port: expected 0 to {LAST_PORT}")
    return int(text)


def _allow_descriptors() -> None:
    """Raise the limit of file descriptors to its maximum, which must be LEAST_DESCRIPTORS or more."""
    from kafkawire import _platforms as platforms

    most = platforms.most_descriptors()
    if most < LEAST_DESCRIPTORS:
        words = (
            f"the limit is {most} open files, but a broker needs at least {LEAST_DESCRIPTORS}, and one per connection"
        )
        raise KafkaWireError(f"{words}: raise the limit (ulimit -n)")
    platforms.raise_descriptor_limit()


def _directory(config: dict[str, str]) -> Path:
    return Path((config.get("log.dirs") or config.get("log.dir") or "kafkawire-data").split(",")[0].strip())


async def _serve(broker: Broker, args: argparse.Namespace, data: Path | None, secured: SecureStart | None) -> int:
    from kafkawire import _platforms as platforms
    from kafkawire.broker import Endpoint, MetricsPage

    stopping = asyncio.Event()
    platforms.call_on_signals(asyncio.get_running_loop(), stopping.set)
    async with AsyncExitStack() as stack:
        await stack.enter_async_context(broker)
        for line in _places(broker, "in memory" if data is None else f"data in {data}"):
            print(line, flush=True)
        if secured is not None:
            for line in _client_settings(secured, broker.bootstrap):
                print(line, flush=True)
        page = MetricsPage(broker)
        host = next(iter(broker.listeners.values())).host
        if args.metrics_port is not None:
            place = Endpoint(host or "localhost", await page.listen(host, args.metrics_port))
            print(f"metrics on http://{place}/metrics", flush=True)
        if args.registry is not None:
            from kafkawire.registry import DEFAULT_PORT, RegistryServer

            port = DEFAULT_PORT if args.registry < 0 else args.registry
            registry = await stack.enter_async_context(RegistryServer(broker, host=host, port=port))
            print(f"Schema Registry on {registry.url}", flush=True)
        await stack.enter_async_context(serving(_page(broker, args) if args.ui else None, browser=True))
        await stopping.wait()
        await page.close()
    return 0


def _page(broker: Broker, args: argparse.Namespace) -> PageServer:
    """The page of this broker: what it is asked, faults, and its topics, which the page may change."""
    from kafkawire._extras import naming_extras

    with naming_extras("kafkawire serve --ui"):
        from kafkawire.testing import FaultCalls
        from kafkawire.web import BrokerSource, BrokerWatch, LiveSource, PageOptions, Workspace
    faults = FaultCalls()
    faults.attach(broker)
    source = LiveSource("requests", faults=faults, empty=f"Point a client to {broker.bootstrap}.")
    BrokerWatch(source, broker)
    workspace = Workspace(PageOptions(write=True))
    if not args.secure:
        name = workspace.add_source(BrokerSource({"bootstrap_servers": broker.bootstrap}))
        workspace.start = f"/{name}/topics"
    live = workspace.add_source(source)
    workspace.start = workspace.start or f"/{live}/exchanges"
    return live_page(workspace, args)


def _client_settings(secured: SecureStart, bootstrap: str) -> Iterator[str]:
    file, other = secured.write_client_files(bootstrap)
    yield f"\nfor Java clients (in {file}):"
    yield from (f"  {name}={value}" for name, value in secured.java(bootstrap).items())
    yield f"\nfor librdkafka, and for kafkawire's client (in {other}):"
    yield from (f"  {name}={value}" for name, value in secured.librdkafka(bootstrap).items())
    yield "\nfor the command line:"
    yield f"  kafkawire topics list -F {file}"
    yield f"  kafka-topics --list --bootstrap-server {bootstrap} --command-config {file}"
    yield f"  kcat -L -F {other}  # with librdkafka 2.6 or newer\n"


def _places(broker: Broker, data: str) -> Iterator[str]:
    for name, place in broker.listeners.items():
        known = broker.node.endpoints[name]
        words = f"kafkawire listens on {place if place.host else f'port {place.port} of every address'}"
        yield words + (f", known to clients as {known}" if known != place else "") + f" ({data})"
