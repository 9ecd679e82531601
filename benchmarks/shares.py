"""Share consumption of 100-byte records beside Apache Kafka: the same Java client, implicit acknowledgement.

Rules:
- The client is Apache Kafka's own tool for this (`ShareConsumerPerformance`) with its default settings, in a process of
  its own. Its figure is the records per second from its start to its last record, the join of the group included.
- Every run is a new group that begins at the first record. The records are the same in both brokers.
- Both brokers have the same intervals of share groups, so that nobody waits for an assignment.
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Final
from uuid import uuid4

from tests.interop.apache_kafka import JARS, ApacheBroker, ApacheKafka
from tests.interop.maven import are_fetched

from benchmarks.apache import RECORDS, VIRTUAL_MACHINE, Contender, Work, compare, produce
from benchmarks.broker import broker, server
from benchmarks.report import Row
from kafkawire.client import ConfigResource, ResourceType
from kafkawire.client.blocking import Admin

if TYPE_CHECKING:
    from collections.abc import Iterator

TOPIC: Final = "shared"
QUICK: Final = {
    "group.share.heartbeat.interval.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "1000",
    "group.share.assignment.interval.ms": "0",
    "group.share.min.assignment.interval.ms": "0",
}
FIRST: Final[dict[str, str | None]] = {"share.auto.offset.reset": "earliest"}
RATE: Final = 4
"""The column of the tool's output with the records per second."""


def share(address: str) -> float:
    """Records per second that a new group consumes and accepts."""
    group = str(uuid4())
    with Admin(bootstrap_servers=address) as admin:
        admin.alter_configs(ConfigResource(ResourceType.GROUP, group), FIRST)
    command = ["java", "-Xmx512m", "-cp", f"{JARS}/*", "org.apache.kafka.tools.ShareConsumerPerformance"]
    command += ["--bootstrap-server", address, "--topic", TOPIC, "--group", group]
    command += ["--num-records", str(RECORDS), "--timeout", "60000", "--hide-header"]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300).stdout
    columns = [each.strip() for each in said.strip().splitlines()[-1].split(",")]
    return float(columns[RATE])


def rows() -> Iterator[Row]:
    if not are_fetched(JARS):
        yield Row("share groups beside Apache Kafka", "not fetched", float("nan"), note="make interop fetches it")
        return
    with tempfile.TemporaryDirectory() as directory:
        kafka = ApacheBroker(ApacheKafka(), Path(directory), settings=QUICK, virtual_machine=VIRTUAL_MACHINE)
        kafka.start()
        options = [word for name, value in QUICK.items() for word in ("-c", f"{name}={value}")]
        try:
            with server(*broker("--data", f"{directory}/ours", *options)) as running:
                ours = Contender(f"127.0.0.1:{running.port}", running.process.pid)
                theirs = Contender(kafka.bootstrap, kafka.process.pid)
                for contender in (ours, theirs):
                    produce(contender.address, TOPIC)
                yield from compare(Work("Java's share consumer, 100-byte records", share, processor=1.0), ours, theirs)
        finally:
            kafka.stop()
