"""Streams that write to topics exactly once, while drivers, executors, workers and brokers are killed, and tasks fail.

Rules:
- A campaign is one broker directory, one checkpoint, and one driver process after the other. Each driver streams from a
  topic to another one. Its tasks fail now and then; Spark retries them.
- Some drivers have executors in processes of their own, and run slow tasks twice at a time (speculation).
- While a driver works, its executors and Python processes and the broker are killed. Then the driver is killed: at any
  moment, or as soon as it has stored a decision, which is before it has committed the transactions of its tasks.
- The last driver is left alone. Then readers of committed records must find every record once, and no transaction may
  be open.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, sleep
from typing import TYPE_CHECKING, Final, Protocol

import pyarrow as pa

from kafkawire.client import BulkReader, BulkWriter, NewTopic
from kafkawire.client.blocking import Admin
from kafkawire.exceptions import KafkaWireError
from kafkawire.messages.errors import UnknownTopicOrPartitionError
from torture.scenario import BrokenPromiseError
from torture.victim import Victim

if TYPE_CHECKING:
    from collections.abc import Iterator

    from torture.scenario import Budget, Stage

DRIVER: Final = """
import random, sys, time
from pathlib import Path
from pyspark.sql import functions as F
from kafkawire.spark import build_session
from kafkawire.spark.session import LITTLE_DATA

servers, work, master, most, failing, java_options = sys.argv[1:]
settings = {
    **LITTLE_DATA,
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.task.maxFailures": "8",
    "spark.speculation": str(master.startswith("local-cluster")).lower(),
    "spark.speculation.interval": "50ms",
    "spark.speculation.quantile": "0.3",
    "spark.speculation.multiplier": "1.2",
    "spark.speculation.minTaskRuntime": "50ms",
    "spark.driver.extraJavaOptions": java_options,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "20",
}
spark = build_session(master, settings=settings, log_file=Path(work, "spark.log"))
rows = (
    spark.readStream.format("kafkawire")
    .option("kafka.bootstrap.servers", servers)
    .options(subscribe="in", startingOffsets="earliest", maxOffsetsPerTrigger=most)
    .load()
)
def dawdle(value):
    if random.random() < 0.003:
        time.sleep(random.random())
    return bytes(value)

slow = F.udf(dawdle, "binary")("value") if master.startswith("local-cluster") else F.col("value")
value = F.when(F.rand() < float(failing), F.raise_error(F.lit("as arranged"))).otherwise(slow)
query = (
    rows.select("key", value.alias("value"))
    .writeStream.format("kafkawire")
    .option("kafka.bootstrap.servers", servers)
    .options(deliveryGuarantee="exactly-once", topic="out", checkpointLocation=work + "/checkpoint")
    .trigger(availableNow=True)
    .start()
)
query.awaitTermination()
"""
JAVA_OPTIONS: Final = "-XX:+UseSerialGC"
ONE_PROCESS: Final = "local[2,4]"
EXECUTORS: Final = "local-cluster[2,1,512]"
DECISIONS: Final = "kafkawire-sink-decisions"
PARTITIONS: Final = 4
RECORDS: Final = 6_000
A_TRIGGER: Final = 300
TRIGGERS_OF_FEW: Final = 60
"""A driver with few records has many short triggers, because it must not end before it is killed."""
KILLS: Final = 4
"""Drivers that a campaign kills."""
PROCESSES: Final = {"worker": b"pyspark.daemon", "executor": b"CoarseGrainedExecutorBackend"}
STARTS_WITHIN: Final = 180.0
ENDS_WITHIN: Final = 600.0
ATTEMPTS: Final = 5
LAST_TRIGGER: Final = 5_000


class Killable(Protocol):
    """A broker that keeps its address and its data when it is killed."""

    def kill(self) -> None: ...

    def start(self) -> None: ...


class Sinks:
    """Campaign after campaign."""

    name = "sinks"
    promises = (
        "a stream that is killed at any moment and restarted leaves every record once for readers of committed records",
        "no transaction of a stream that has ended is open",
    )

    def __init__(
        self, *, kills: int = KILLS, records: int = RECORDS, few: bool = False, java_options: str = JAVA_OPTIONS
    ) -> None:
        self._kills, self._records, self._few = kills, records, few
        self._java_options = java_options

    def run(self, budget: Budget, stage: Stage) -> None:
        number = 0
        while budget.take():
            number += 1
            seed = stage.dice.getrandbits(32)
            work = stage.work / f"sinks-{number}"
            try:
                self._campaign(work, Random(seed), stage)
            except BrokenPromiseError as broken:
                found = f"{broken.found} (campaign seed {seed}, data in {work})"
                raise BrokenPromiseError(broken.promised, found) from broken
            shutil.rmtree(work, ignore_errors=True)

    def _campaign(self, work: Path, dice: Random, stage: Stage) -> None:
        with Victim(work, {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}) as victim:
            victim.start()
            self.play(victim, f"127.0.0.1:{victim.port}", work, dice, stage)

    def play(self, broker: Killable, servers: str, work: Path, dice: Random, stage: Stage) -> None:
        """One campaign on a running broker."""
        with Admin(bootstrap_servers=servers) as admin:
            admin.create_topics([NewTopic("in", PARTITIONS, 1), NewTopic("out", 3, 1)])
        sent = 0
        for kill in range(self._kills):
            sent = self._fill(servers, sent)
            stage.tell(f"driver {kill + 1} of {self._kills}")
            self._hurt(broker, servers, work, dice, stage)
        self._finish(servers, work)
        self._verify(servers, sent, stage)

    def _fill(self, servers: str, first: int) -> int:
        with BulkWriter(servers) as writer:
            numbers = range(first, first + self._records)
            keys = pa.array([b"%d" % number for number in numbers], pa.binary())
            writer.write("in", pa.record_batch({"key": keys, "value": keys}))
        return first + self._records

    def _hurt(self, broker: Killable, servers: str, work: Path, dice: Random, stage: Stage) -> None:
        before = _log_end(servers)
        master = ONE_PROCESS if self._few else dice.choice((ONE_PROCESS, EXECUTORS))
        most = self._records // TRIGGERS_OF_FEW if self._few else A_TRIGGER
        driver = self._start_driver(servers, work, most, master=master, failing=dice.choice((0.0, 0.001, 0.003)))
        try:
            if not _await_decision(servers, driver, before):
                return
            possible = ("broker", "worker") if master == ONE_PROCESS else ("broker", "worker", "executor")
            harms = ["broker"] if self._few else dice.choices(possible, k=dice.randrange(4))
            for harm in harms:
                sleep(dice.uniform(0.0, 1.5))
                if harm == "broker":
                    stage.figures.add("kills")
                    broker.kill()
                    sleep(dice.uniform(0.0, 0.5))
                    broker.start()
                elif kill_process(driver.pid, PROCESSES[harm], dice):
                    stage.figures.add(f"{harm}s killed")
            if self._few or dice.random() < 0.6:
                _await_decision(servers, driver, _log_end(servers))
                sleep(dice.choice((0.0, 0.0, 0.002, 0.01)))
            else:
                sleep(dice.uniform(0.0, 2.0))
        finally:
            if kill_group(driver):
                stage.figures.add("drivers killed")

    def _start_driver(
        self, servers: str, work: Path, most: int, *, master: str, failing: float
    ) -> subprocess.Popen[bytes]:
        """A driver in a process group of its own."""
        settings = (servers, str(work), master, str(most), str(failing), self._java_options)
        with (work / "driver.log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-c", DRIVER, *settings], stdout=log, stderr=log, start_new_session=True
            )

    def _finish(self, servers: str, work: Path) -> None:
        for _ in range(ATTEMPTS):
            driver = self._start_driver(servers, work, LAST_TRIGGER, master=ONE_PROCESS, failing=0.0)
            try:
                if driver.wait(ENDS_WITHIN) == 0:
                    return
            except subprocess.TimeoutExpired:
                pass
            finally:
                kill_group(driver)
        raise BrokenPromiseError(
            "a stream that is restarted ends", f"it did not, {ATTEMPTS} times; see {work}/driver.log"
        )

    def _verify(self, servers: str, sent: int, stage: Stage) -> None:
        found: Counter[bytes] = Counter()
        with BulkReader(servers, isolation_level="read_committed") as reader:
            for partition in reader.partitions("out"):
                for batch in reader.read("out", partition, 0, columns=["value"]):
                    found.update(value for value in batch.column("value").to_pylist() if value is not None)
        expected = {b"%d" % number for number in range(sent)}
        twice = sorted(value for value, count in found.items() if count > 1)
        lost = sorted(expected - found.keys())
        stage.figures.add("records copied once", len(expected) - len(lost) - len(twice))
        stage.figures.add("records lost", len(lost))
        stage.figures.add("records duplicated (idempotent)", len(twice))
        if twice or lost:
            text = f"{len(lost)} lost, first {lost[:3]}; {len(twice)} twice, first {twice[:3]}"
            raise BrokenPromiseError(self.promises[0], text)
        with Admin(bootstrap_servers=servers) as admin:
            still_open = admin.list_transactions(states=["Ongoing"])
        if still_open:
            raise BrokenPromiseError(self.promises[1], str(still_open[:3]))


def kill_group(driver: subprocess.Popen[bytes]) -> bool:
    """Kill a driver with its Java and its Python processes; whether it still ran."""
    was_running = driver.poll() is None
    with suppress(ProcessLookupError):
        os.killpg(driver.pid, signal.SIGKILL)
    driver.wait(60)
    return was_running


def kill_process(session: int, named: bytes, dice: Random) -> bool:
    """Kill one of the processes of a driver, but not the driver; whether there was one."""
    found = sorted(pid for pid, command in _processes(session) if named in command)
    if not found:
        return False
    with suppress(ProcessLookupError):
        os.kill(dice.choice(found), signal.SIGKILL)
    return True


def _processes(session: int) -> Iterator[tuple[int, bytes]]:
    """The processes of a session but its first one, with their commands; workers leave the group of the driver."""
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if fields[3] == str(session) != place.name:
                yield int(place.name), (place / "cmdline").read_bytes()


def _log_end(servers: str) -> int:
    with BulkReader(servers) as reader:
        return _decisions(reader)


def _await_decision(servers: str, driver: subprocess.Popen[bytes], after: int) -> bool:
    """Wait until a driver writes a decision; whether it did so before it ended."""
    deadline = monotonic() + STARTS_WITHIN
    with BulkReader(servers, default_api_timeout_ms=5_000) as reader:
        while monotonic() < deadline and driver.poll() is None:
            with suppress(KafkaWireError):
                if _decisions(reader) > after:
                    return True
            sleep(0.002)
    return False


def _decisions(reader: BulkReader) -> int:
    """The end of the log of decisions; 0 if there is no topic yet."""
    try:
        reader.partitions(DECISIONS)
    except UnknownTopicOrPartitionError:
        return 0
    return reader.latest(DECISIONS, [0], isolation="read_uncommitted")[0]
