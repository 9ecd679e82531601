"""The commands of `docs/guides/by-hand.md`, run where the page says: in a directory with its files, beside a broker.

Rules:
- A block that begins with ```console has commands after `$ `, each with its output: standard error first, then output.
- Values that differ between runs (times, ports, ids) are replaced by fixed ones, in the output of every run.
- `python -m tests.recipes` writes the outputs into the page.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import os
import re
import shlex
import sys
import tempfile
import threading
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

from tests.cli.test_compat import BrokerOfRelease
from tests.inspect.captures import merge, write_pcap
from tests.inspect.close_conversations import asking

from kafkawire.cli.main import main
from kafkawire.records import BatchBuilder, Codec
from kafkawire.testing import RunningBroker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

PAGE: Final = Path(__file__).parents[1] / "docs" / "guides" / "by-hand.md"
_BLOCK: Final = re.compile(r"```console\n(.*?)```", re.DOTALL)
_VARYING: Final = (
    (re.compile(r"127\.0\.0\.1:\d{4,5}"), "127.0.0.1:9092"),
    (re.compile(r"(?<=< ApiVersions v5 #1 )\d+"), "500"),  # it grows with the APIs that the broker serves
    (re.compile(r"\b\d\d:\d\d:\d\d\.\d{3}\b"), "12:00:00.000"),
    (re.compile(r"\[\d+\] (?=127)"), "[1] "),
    (re.compile(r"\b\d+\.\d ms"), "0.5 ms"),
)
_TIME: Final = 1_769_860_800_000
_OLDER: Final = "kafka-1:9092"
_SERVERS: Final = "KAFKAWIRE_BOOTSTRAP_SERVERS"


class Step(NamedTuple):
    """A command, and the output that the page has for it."""

    command: str
    output: str


def steps(text: str) -> Iterator[Step]:
    """The commands of a page, in order."""
    for block in _BLOCK.findall(text):
        for part in re.split(r"(?m)^\$ ", block)[1:]:
            command, _, output = part.partition("\n")
            yield Step(command, output)


@contextlib.contextmanager
def surroundings() -> Iterator[Callable[[str], str]]:
    """A function that runs a command where the page expects it, and returns its output.

    There is an embedded broker, and under the name kafka-1:9092 one with the versions of Kafka 3.6.
    """
    with (
        tempfile.TemporaryDirectory() as folder,
        RunningBroker() as running,
        _older_broker() as older,
        contextlib.chdir(folder),
        _quiet_broker(),
    ):
        _write_files(Path(folder))
        before = os.environ.get(_SERVERS)
        os.environ[_SERVERS] = running.bootstrap_servers
        try:
            yield partial(_run, {_OLDER: older})
        finally:
            os.environ.pop(_SERVERS)
            if before is not None:
                os.environ[_SERVERS] = before


@contextlib.contextmanager
def _quiet_broker() -> Iterator[None]:
    """Keep the log of the broker, which runs in this process, out of the output of the commands."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)


@contextlib.contextmanager
def _older_broker() -> Iterator[str]:
    """The address of a broker that lists the versions of an older release."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    broker = BrokerOfRelease("3.6")
    try:
        asyncio.run_coroutine_threadsafe(broker.__aenter__(), loop).result(30)
        yield broker.bootstrap
        asyncio.run_coroutine_threadsafe(broker.__aexit__(), loop).result(30)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(30)
        loop.close()


def _write_files(folder: Path) -> None:
    (folder / "closed.pcap").write_bytes(write_pcap(merge(asking(3, 13)())))
    log = folder / "orders-0"
    log.mkdir()
    old = BatchBuilder(magic=1, compression=Codec.NONE)
    new = BatchBuilder(magic=2, compression=Codec.NONE, base_offset=3)
    for number in range(3):
        old.append(b"order-%d" % number, b"value of an order", _TIME + number)
        new.append(b"order-%d" % number, b"value of an order", _TIME + 100 + number)
    (log / "00000000000000000000.log").write_bytes(old.build() + new.build())


def _run(hosts: Mapping[str, str], command: str) -> str:
    name, *arguments = (hosts.get(word, word) for word in shlex.split(command, comments=True))
    assert name == "kafkawire", command
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(arguments)
    text = err.getvalue() + out.getvalue()
    for host, address in hosts.items():
        text = text.replace(address, host)
    for pattern, fixed in _VARYING:
        text = pattern.sub(fixed, text)
    return text + (f"[exit code {code}]\n" if code else "")


def written(text: str, run: Callable[[str], str]) -> str:
    """The page with the outputs of its commands."""

    def block(match: re.Match[str]) -> str:
        parts = [f"$ {step.command}\n{run(step.command)}" for step in steps(match[0])]
        return f"```console\n{''.join(parts)}```"

    return _BLOCK.sub(block, text)


if __name__ == "__main__":
    with surroundings() as runner:
        PAGE.write_text(written(PAGE.read_text(encoding="utf-8"), runner), encoding="utf-8")
    sys.exit(0)
