"""`kafkawire serve`: a Kafka broker, in the foreground, until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from kafkawire.broker.broker import Broker

HELP = "run a Kafka broker: no set-up, data in a directory or in memory"
EXAMPLES = (
    "kafkawire serve",
    "kafkawire serve --port 9094 --data /var/lib/kafkawire -c num.partitions=3",
    "kafkawire serve --memory --port 0",
    "kafkawire serve --host 0.0.0.0 -c advertised.listeners=PLAINTEXT://kafka.example:9092 --metrics-port 9400",
)
LAST_PORT = 65535
LEAST_DESCRIPTORS = 64
_log = logging.getLogger("kafkawire.broker")


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--port", type=_port, help="where to listen (9092); 0 takes any free port")
    parser.add_argument("--host", help="on which address (127.0.0.1); 0.0.0.0 is all of them")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--data", type=Path, metavar="DIR", help="where the data is kept (log.dirs, or kafkawire-data)")
    where.add_argument("--memory", action="store_true", help="keep everything in memory, and nothing afterwards")
    parser.add_argument(
        "-c", "--set", action="append", default=[], metavar="NAME=VALUE", help="a setting, under Kafka's name"
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="settings in a properties file")
    parser.add_argument("--metrics-port", type=_port, metavar="PORT", help="serve /metrics for Prometheus there")
    parser.add_argument("--log-format", choices=("text", "json"), default="text", help="how log lines look")
    parser.add_argument("-v", "--verbose", action="store_true", help="log every request too")


def run(args: argparse.Namespace) -> int:
    from kafkawire.broker.broker import Broker
    from kafkawire.broker.listeners import DEFAULT_PORT
    from kafkawire.broker.loops import new_loop, own_process
    from kafkawire.broker.startup import from_environment, from_file, from_pairs
    from kafkawire.cli.commands import UsageError
    from kafkawire.messages.errors import InvalidConfigError

    _set_up_logging(args.log_format, verbose=args.verbose)
    own_process()
    _allow_descriptors()
    try:
        config = from_file(args.config) if args.config else {}
        config |= from_environment(os.environ) | from_pairs(args.set)
        data = None if args.memory else args.data or _directory(config)
        port = DEFAULT_PORT if args.port is None and "listeners" not in config else args.port
        broker = Broker(data, host=args.host, port=port, config=config)
    except InvalidConfigError as error:
        raise UsageError(error.message or str(error)) from error
    for name, near in broker.config.unknown().items():
        _log.warning("%s is no setting of this broker%s", name, f"; did you mean {near}?" if near else "")
    with asyncio.Runner(loop_factory=new_loop) as runner:
        return runner.run(_serve(broker, args.metrics_port, None if data is None else Path(data)))


def _port(text: str) -> int:
    from kafkawire.cli.commands import UsageError

    if not text.isdigit() or int(text) > LAST_PORT:
        raise UsageError(f"{text!r} is no port: expected 0 to {LAST_PORT}")
    return int(text)


def _allow_descriptors() -> None:
    """Use all descriptors that the system allows; without LEAST_DESCRIPTORS of them nothing can be served."""
    from kafkawire import platforms

    most = platforms.most_descriptors()
    if most < LEAST_DESCRIPTORS:
        words = f"the limit is {most} open files, a broker needs at least {LEAST_DESCRIPTORS}, and one per connection"
        raise KafkaWireError(f"{words}: raise the limit (ulimit -n)")
    platforms.raise_descriptor_limit()


def _directory(config: dict[str, str]) -> Path:
    return Path((config.get("log.dirs") or config.get("log.dir") or "kafkawire-data").split(",")[0].strip())


async def _serve(broker: Broker, metrics_port: int | None, data: Path | None) -> int:
    from kafkawire import platforms
    from kafkawire.broker.listeners import Endpoint
    from kafkawire.broker.metrics_page import MetricsPage

    stopping = asyncio.Event()
    platforms.call_on_signals(asyncio.get_running_loop(), stopping.set)
    async with broker:
        for line in _places(broker, "in memory" if data is None else f"data in {data}"):
            print(line, flush=True)
        page = MetricsPage(broker)
        if metrics_port is not None:
            host = next(iter(broker.listeners.values())).host
            place = Endpoint(host or "localhost", await page.listen(host, metrics_port))
            print(f"metrics on http://{place}/metrics", flush=True)
        await stopping.wait()
        await page.close()
    return 0


def _places(broker: Broker, data: str) -> Iterator[str]:
    for name, place in broker.listeners.items():
        known = broker.node.endpoints[name]
        words = f"kafkawire listens on {place if place.host else f'port {place.port} of every address'}"
        yield words + (f", known to clients as {known}" if known != place else "") + f" ({data})"


class _JsonLines(logging.Formatter):
    """A log line as one JSON object; what the broker names one by one has fields of its own."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S") + f".{int(record.msecs):03d}",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            fields["traceback"] = self.formatException(record.exc_info)
        return json.dumps(fields)


def _set_up_logging(form: str, *, verbose: bool) -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(
        _JsonLines() if form == "json" else logging.Formatter("%(asctime)s %(levelname)-7s %(message)s")
    )
    logging.basicConfig(level=logging.DEBUG if verbose else logging.INFO, handlers=[handler], force=True)
    logging.getLogger("asyncio").setLevel(logging.WARNING)
