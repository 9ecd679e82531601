"""Kafka's own programs that rely on transactions, on our broker: killed, started again, and exact.

Each program runs in a JVM that is killed while it works, and the broker restarts too. Readers of committed records must
find the result of every input exactly once.
"""

from __future__ import annotations

import json
import threading
import time
import urllib.request
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

import pytest
from tests.interop.our_broker import OurBroker
from tests.interop.programs.jvm import JARS, Program, compile_programs, newest_clients
from tests.interop.programs.topics import committed, create, produce
from tests.interop.releases import CLIENTS, MODULES
from tests.interop.waiting import until

from kafkawire.testing._running import claim_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]
COUNT = 600
PATIENCE = 120.0
COMMITTED = "\ncommitted "
"""A line of the program. The settings that clients log contain `read_committed`."""
WORDS = "a broker stores records and a client reads records and commits offsets"


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    compile_programs()


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[OurBroker]:
    running = OurBroker(tmp_path / "broker")
    running.start()
    yield running
    running.stop()


def values(broker: OurBroker, topic: str) -> list[str]:
    return [value for _, value in committed(broker.bootstrap, topic)]


def has(broker: OurBroker, topic: str, count: int) -> bool:
    return len(values(broker, topic)) >= count


@pytest.mark.parametrize(("release", "version"), [(MODULES, 5), (CLIENTS, 6)])
def test_java_transactions_copy_every_record_once(
    broker: OurBroker, tmp_path: Path, release: str, version: int
) -> None:
    """The newest clients commit offsets by topic id (KIP-1319)."""
    jars = JARS if release == MODULES else newest_clients()
    create(broker.bootstrap, "input", "output")
    wanted = [f"value {number}" for number in range(COUNT)]
    produce(broker.bootstrap, "input", wanted[: COUNT // 2])
    arguments = (broker.bootstrap, "input", "output")
    with Program("Copy", (*arguments, "first", "group"), tmp_path / "first.out", jars) as first:
        first.await_output(COMMITTED)
        first.kill()
    assert {each.version for each in broker.requests if each.api == "TxnOffsetCommit"} == {version}
    with Program("Copy", (*arguments, "second", "group"), tmp_path / "second.out", jars) as second:
        second.await_output(COMMITTED)
        broker.restart()
        produce(broker.bootstrap, "input", wanted[COUNT // 2 :])
        until(lambda: has(broker, "output", COUNT), PATIENCE)
    assert sorted(values(broker, "output")) == sorted(wanted)


def test_a_second_java_producer_fences_the_first(broker: OurBroker, tmp_path: Path) -> None:
    create(broker.bootstrap, "input", "output")
    arguments = (broker.bootstrap, "input", "output", "same")
    with Program("Copy", (*arguments, "group"), tmp_path / "first.out") as first:
        produce(broker.bootstrap, "input", ["one"] * 100)
        first.await_output(COMMITTED)
        with Program("Copy", (*arguments, "group"), tmp_path / "second.out"):
            until(lambda: _fed_until_fenced(broker, first), PATIENCE)


def _fed_until_fenced(broker: OurBroker, program: Program) -> bool:
    produce(broker.bootstrap, "input", ["more"] * 10)
    return "fenced" in program.output or "ProducerFenced" in program.output


def test_streams_counts_every_word_once(broker: OurBroker, tmp_path: Path) -> None:
    create(broker.bootstrap, "lines", "counts")
    settings = {
        "application.id": "words",
        "bootstrap.servers": broker.bootstrap,
        "processing.guarantee": "exactly_once_v2",
        "commit.interval.ms": "100",
        "num.stream.threads": "2",
        "state.dir": str(tmp_path / "state"),
        "consumer.session.timeout.ms": "6000",
        "transaction.timeout.ms": "10000",
        "auto.offset.reset": "earliest",
        "input": "lines",
        "output": "counts",
    }
    arguments = [f"{name}={value}" for name, value in settings.items()]
    produce(broker.bootstrap, "lines", [WORDS] * 50)
    with Program("WordCount", arguments, tmp_path / "first.out") as first:
        until(lambda: has(broker, "counts", 100), PATIENCE)
        first.kill()
    produce(broker.bootstrap, "lines", [WORDS] * 50)
    with Program("WordCount", arguments, tmp_path / "second.out") as second:
        second.await_output("state RUNNING")
        broker.restart()
        produce(broker.bootstrap, "lines", [WORDS] * 50)
        expected = {word: 150 * times for word, times in Counter(WORDS.split()).items()}
        until(lambda: _last_counts(broker) == expected, PATIENCE)
        second.stop()
    updates = defaultdict(list)
    for word, count in committed(broker.bootstrap, "counts"):
        updates[word].append(int(count))
    assert updates == {word: list(range(1, count + 1)) for word, count in expected.items()}


def _last_counts(broker: OurBroker) -> dict[str | None, int]:
    return {word: int(count) for word, count in committed(broker.bootstrap, "counts")}


CONNECT = {
    "group.id": "connect",
    "exactly.once.source.support": "enabled",
    "config.storage.topic": "connect-configs",
    "offset.storage.topic": "connect-offsets",
    "status.storage.topic": "connect-status",
    "config.storage.replication.factor": "1",
    "offset.storage.replication.factor": "1",
    "status.storage.replication.factor": "1",
    "offset.storage.partitions": "3",
    "key.converter": "org.apache.kafka.connect.storage.StringConverter",
    "value.converter": "org.apache.kafka.connect.storage.StringConverter",
    "offset.flush.interval.ms": "500",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "500",
    "scheduled.rebalance.max.delay.ms": "0",
}


def test_connect_imports_every_line_once(broker: OurBroker, tmp_path: Path) -> None:
    create(broker.bootstrap, "lines")
    port = claim_port(broker)
    text, properties = tmp_path / "lines.txt", tmp_path / "connect.properties"
    settings = {**CONNECT, "bootstrap.servers": broker.bootstrap, "listeners": f"http://127.0.0.1:{port}"}
    properties.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    lines = [f"line {number}" for number in range(COUNT)]
    connector = {
        "connector.class": "org.apache.kafka.connect.file.FileStreamSourceConnector",
        "tasks.max": "1",
        "file": str(text),
        "topic": "lines",
        "exactly.once.support": "required",
        "transaction.boundary": "poll",
    }
    text.touch()
    main = "org.apache.kafka.connect.cli.ConnectDistributed"
    with Program(main, [str(properties)], tmp_path / "first.out") as first:
        until(lambda: _put(port, "/connectors/file/config", connector), PATIENCE)
        writing = threading.Thread(target=_append_slowly, args=(text, lines))
        writing.start()
        until(lambda: has(broker, "lines", 20), PATIENCE)
        first.kill()
    with Program(main, [str(properties)], tmp_path / "second.out"):
        until(lambda: has(broker, "lines", COUNT // 2), PATIENCE)
        broker.restart()
        until(lambda: has(broker, "lines", COUNT), PATIENCE)
    writing.join()
    assert sorted(values(broker, "lines")) == sorted(lines)


def _append_slowly(text: Path, lines: list[str]) -> None:
    for start in range(0, len(lines), 5):
        with text.open("a") as file:
            file.write("".join(f"{line}\n" for line in lines[start : start + 5]))
        time.sleep(0.2)


def _put(port: int, path: str, body: dict[str, Any]) -> bool:
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}{path}",
        json.dumps(body).encode(),
        {"Content-Type": "application/json"},
        method="PUT",
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return int(answer.status) in (200, 201)
    except OSError:
        return False


def test_mirror_maker_copies_every_record_once(broker: OurBroker, tmp_path: Path) -> None:
    other = OurBroker(tmp_path / "other")
    other.start()
    try:
        _mirror(broker, other, tmp_path)
    finally:
        other.stop()


def _mirror(source: OurBroker, target: OurBroker, tmp_path: Path) -> None:
    create(source.bootstrap, "orders")
    settings = {
        "clusters": "source, target",
        "source.bootstrap.servers": source.bootstrap,
        "target.bootstrap.servers": target.bootstrap,
        "source->target.enabled": "true",
        "source->target.topics": "orders",
        "target->source.enabled": "false",
        "target.exactly.once.source.support": "enabled",
        "dedicated.mode.enable.internal.rest": "true",
        "listeners": f"http://127.0.0.1:{claim_port(target)}",
        "replication.factor": "1",
        "checkpoints.topic.replication.factor": "1",
        "heartbeats.topic.replication.factor": "1",
        "offset-syncs.topic.replication.factor": "1",
        "config.storage.replication.factor": "1",
        "offset.storage.replication.factor": "1",
        "status.storage.replication.factor": "1",
        "refresh.topics.interval.seconds": "2",
        "offset.flush.interval.ms": "500",
        "session.timeout.ms": "6000",
        "heartbeat.interval.ms": "500",
        "scheduled.rebalance.max.delay.ms": "0",
        "source->target.consumer.auto.offset.reset": "earliest",
    }
    properties = tmp_path / "mirror.properties"
    properties.write_text("".join(f"{name} = {value}\n" for name, value in settings.items()))
    wanted = [f"order {number}" for number in range(COUNT)]
    produce(source.bootstrap, "orders", wanted[: COUNT // 2])
    main = "org.apache.kafka.connect.mirror.MirrorMaker"
    with Program(main, [str(properties)], tmp_path / "first.out") as first:
        until(lambda: _is_mirrored(target, 1), PATIENCE)
        first.kill()
    produce(source.bootstrap, "orders", wanted[COUNT // 2 :])
    with Program(main, [str(properties)], tmp_path / "second.out"):
        time.sleep(3)
        target.restart()
        until(lambda: _is_mirrored(target, COUNT), PATIENCE)
    assert sorted(values(target, "source.orders")) == sorted(wanted)


def _is_mirrored(target: OurBroker, count: int) -> bool:
    try:
        return has(target, "source.orders", count)
    except KeyError:
        return False
