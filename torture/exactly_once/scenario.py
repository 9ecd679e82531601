"""Campaigns of rounds: workers of several libraries, one broker, and one fault per round.

Rules:
- A campaign has its own topics on an empty broker. It ends when every input has been processed and all clients have
  ended. Then its history is checked.
- The faults of a round: the broker is killed, also while it starts, or stopped; a worker is killed; a worker stands
  still while its successor works (a zombie), or for longer than its transaction may last.
- Workers abort some transactions on their own.
- A worker that ends, whether killed or fenced, is followed by a new process.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import threading
from contextlib import suppress
from random import Random
from time import monotonic, sleep, time
from typing import TYPE_CHECKING, Any, Final, Protocol

import confluent_kafka

from torture.exactly_once.history import History
from torture.exactly_once.libraries import work
from torture.exactly_once.notes import ABORTING, BEGIN, COMMITTED, COMMITTING, fates
from torture.exactly_once.observers import Observer, administration, await_stable, read_all
from torture.exactly_once.worker import FATAL, GROUP, INPUT, OUTPUTS, PARTITIONS, Task
from torture.scenario import BrokenPromiseError
from torture.victim import DidNotStartError, Victim

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from torture.scenario import Budget, Stage

    class Broker(Protocol):
        """A broker that can be stopped and started again at its address."""

        @property
        def bootstrap(self) -> str: ...

        def start(self) -> None: ...

        def kill(self) -> None: ...

        def terminate(self) -> object: ...


SETTINGS: Final = {
    "offsets.topic.num.partitions": "2",
    "transaction.state.log.num.partitions": "2",
    "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200",
    "group.min.session.timeout.ms": "500",
}
TEAMS: Final = (
    ("confluent", "confluent"),
    ("confluent", "aiokafka"),
    ("kafka-python", "kafkawire"),
    ("kafkawire", "kafkawire"),
    ("kafkawire", "confluent", "kafkawire"),
)
ASSIGNED_ONLY: Final = frozenset({"aiokafka", "kafka-python"})
"""aiokafka does not wait for the open transactions of others, so it cannot share partitions exactly once. A poll of
kafka-python may end while it takes its assignment in, and it then has none."""
FAULTS_OF_WORKERS: Final = ("worker killed", "zombie", "stall", "quiet")
FAULTS: Final = ("broker killed", "broker stopped", *FAULTS_OF_WORKERS)
PLACES: Final = [(topic, index) for topic in OUTPUTS for index in range(PARTITIONS)]
ROUNDS: Final = 20
TIMEOUT_MS: Final = 3_000
PAUSE_SECONDS: Final = 0.01
ENDS_WITHIN: Final = 120.0
STUCK_SECONDS: Final = 15.0


class Feeder(threading.Thread):
    """Writes input records until it is stopped; the broker may be away meanwhile."""

    def __init__(self, bootstrap: str, seed: int) -> None:
        super().__init__(name="feeder", daemon=True)
        self.sent = dict.fromkeys(range(PARTITIONS), 0)
        self.failure: str | None = None
        self._is_stopping = threading.Event()
        self._dice = Random(seed)
        self._producer = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "message.timeout.ms": 300_000,
                "reconnect.backoff.ms": 10,
                "reconnect.backoff.max.ms": 100,
                "retry.backoff.ms": 20,
                "log_level": 0,
            }
        )

    def run(self) -> None:
        number = 0
        while not self._is_stopping.wait(PAUSE_SECONDS):
            partition = self._dice.randrange(PARTITIONS)
            self._producer.produce(INPUT, b"%d" % number, None, partition, on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1
        if self._producer.flush(ENDS_WITHIN):
            self.failure = "records were not delivered"

    def stop(self) -> dict[int, int]:
        """End, and return how many records each partition has."""
        self._is_stopping.set()
        self.join()
        if self.failure:
            raise BrokenPromiseError("an idempotent producer delivers every record", self.failure)
        return self.sent

    def _delivered(self, error: Any, message: Any) -> None:
        if error is not None:
            self.failure = str(error)
        else:
            self.sent[message.partition()] += 1


class Slot:
    """One worker: a process, and its successors."""

    def __init__(self, library: str, number: int, partitions: tuple[int, ...], campaign: Campaign) -> None:
        self.library, self.number, self.partitions = library, number, partitions
        self._campaign = campaign
        self._incarnation = 0
        self.process: Any = None

    def start(self) -> None:
        """Start a process; the former one may still be there, as a zombie."""
        self._incarnation += 1
        name = f"{self.library}{self.number}-{self._incarnation}"
        campaign = self._campaign
        self._journal = campaign.work / f"{name}.notes"
        # An assigned worker keeps its transactional id, so that it fences its predecessor.
        transactional_id = f"{self.library}{self.number}" if self.partitions else name
        task = Task(
            bootstrap=campaign.broker.bootstrap,
            name=name,
            transactional_id=transactional_id,
            journal=self._journal,
            seed=campaign.dice.getrandbits(32),
            partitions=self.partitions,
            timeout_ms=TIMEOUT_MS,
        )
        self.process = campaign.context.Process(target=work, args=(self.library, task), daemon=True)
        self.process.start()

    def keep_alive(self) -> None:
        """Start a successor if the process has ended by itself, or stands still within a transaction."""
        if self._is_stuck():
            self._campaign.stuck += 1
            self.signal(signal.SIGKILL)
            self.process.join()
        if not self.process.is_alive():
            self.check()
            self.start()

    def _is_stuck(self) -> bool:
        """Whether the last note is old and says that a transaction is open.

        librdkafka may wait forever for a coordinator that has restarted (confluentinc/librdkafka#5456).
        """
        try:
            age = time() - self._journal.stat().st_mtime
            lines = self._journal.read_text().splitlines()
        except FileNotFoundError:
            return False
        return age > STUCK_SECONDS and bool(lines) and lines[-1].split()[0] in (BEGIN, COMMITTING)

    def check(self) -> None:
        if self.process.exitcode not in (0, FATAL, -signal.SIGKILL, None):
            raise RuntimeError(f"{self.library} worker ended with {self.process.exitcode}")

    def signal(self, number: int) -> None:
        with suppress(ProcessLookupError):
            os.kill(self.process.pid, number)

    def stop(self, until: float) -> None:
        self.signal(signal.SIGTERM)
        self.process.join(max(0.1, until - monotonic()))
        if self.process.is_alive():
            self.signal(signal.SIGKILL)
            self.process.join()


class Campaign:
    """One history."""

    def __init__(
        self, broker: Broker, work: Path, dice: Random, libraries: tuple[str, ...], faults: tuple[str, ...] = FAULTS
    ) -> None:
        self.broker, self.work, self.dice = broker, work, dice
        self._faults = faults
        self.context = multiprocessing.get_context("forkserver")
        self.context.set_forkserver_preload(["torture.exactly_once.libraries"])
        self.zombies: list[tuple[float, Any]] = []
        self.stuck = 0
        self._admin: Any = administration.AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        is_group = dice.random() < 0.5
        self.slots: list[Slot] = []
        for number, library in enumerate(libraries):
            partitions = tuple(range(number, PARTITIONS, len(libraries)))
            shared = is_group and not ASSIGNED_ONLY & {*libraries}
            self.slots.append(Slot(library, number, () if shared else partitions, self))

    def run(self, rounds: Callable[[], bool], tell: Callable[[str], None]) -> tuple[int, History]:
        """Run rounds until there are no more; the number of rounds, and the history."""
        self._create_topics()
        feeder = Feeder(self.broker.bootstrap, self.dice.getrandbits(32))
        observer = Observer("a reader from the start", self.broker.bootstrap, PLACES)
        feeder.start()
        observer.start()
        for slot in self.slots:
            slot.start()
        number = 0
        try:
            while rounds():
                number += 1
                self._hurt(number, tell)
            sent = feeder.stop()
            self._drain(sent, tell)
        finally:
            self._end_workers()
        await_stable(self.broker.bootstrap, PLACES, TIMEOUT_MS / 1000 + 30)
        final = read_all(self.broker.bootstrap, PLACES)
        last = {place: records[-1][0] + 1 for place, records in final.seen.items()}
        live = observer.finish(last)
        notes = [line for path in sorted(self.work.glob("*.notes")) for line in path.read_text().splitlines()]
        return number, History(OUTPUTS, self._committed(stable=True), fates(notes), final, [live])

    def _hurt(self, number: int, tell: Callable[[str], None]) -> None:
        dice = self.dice
        sleep(dice.uniform(0.1, 0.8))
        slot = dice.choice(self.slots)
        fault = dice.choice(self._faults)
        tell(f"round {number}: {fault}")
        if fault.startswith("broker"):
            self.broker.kill() if fault == "broker killed" else self.broker.terminate()
            sleep(dice.choice((0.0, 0.0, 0.3, 1.0)))
            self._start_broker()
        elif fault == "worker killed":
            slot.signal(signal.SIGKILL)
            slot.process.join()
            sleep(dice.choice((0.0, 0.5)))
            slot.start()
        elif fault == "zombie":
            slot.signal(signal.SIGSTOP)
            self.zombies.append((monotonic() + dice.uniform(0.2, 2.0), slot.process))
            slot.start()
        elif fault == "stall":
            slot.signal(signal.SIGSTOP)
            sleep(dice.choice((0.3, TIMEOUT_MS / 1000 + 0.5)))
            slot.signal(signal.SIGCONT)
        self._wake_zombies(monotonic())
        for slot in self.slots:
            slot.keep_alive()

    def _start_broker(self) -> None:
        try:
            self.broker.start()
        except DidNotStartError as error:
            raise BrokenPromiseError("a broker starts after any kill", str(error)) from error

    def _wake_zombies(self, now: float) -> None:
        due = [process for at, process in self.zombies if at <= now]
        self.zombies = [(at, process) for at, process in self.zombies if at > now]
        for process in due:
            with suppress(ProcessLookupError):
                os.kill(process.pid, signal.SIGCONT)

    def _drain(self, sent: dict[int, int], tell: Callable[[str], None]) -> None:
        """Let the workers finish: everything that was sent is processed."""
        until = monotonic() + ENDS_WITHIN
        while (committed := self._committed(stable=False)) != sent:
            tell(f"{sum(sent.values()) - sum(committed.values())} inputs left")
            self._wake_zombies(monotonic())
            for slot in self.slots:
                slot.keep_alive()
            if monotonic() > until:
                raise BrokenPromiseError("the workers process every input", f"committed {committed} of {sent}")
            sleep(0.2)

    def _end_workers(self) -> None:
        self._wake_zombies(float("inf"))
        until = monotonic() + 20
        for slot in self.slots:
            slot.stop(until)
        for child in multiprocessing.active_children():
            child.kill()
            child.join()

    def _create_topics(self) -> None:
        new = [administration.NewTopic(name, PARTITIONS, 1) for name in (INPUT, *OUTPUTS)]
        for future in self._admin.create_topics(new).values():
            future.result()

    def _committed(self, *, stable: bool) -> dict[int, int]:
        wanted = [confluent_kafka.TopicPartition(INPUT, index) for index in range(PARTITIONS)]
        asked = confluent_kafka.ConsumerGroupTopicPartitions(GROUP, wanted)
        found = self._admin.list_consumer_group_offsets([asked], require_stable=stable, request_timeout=60)
        places = found[GROUP].result().topic_partitions
        return {each.partition: max(0, each.offset) for each in places}


class ExactlyOnce:
    """Campaign after campaign."""

    name = "exactly-once"
    promises = (
        "a transaction is visible as a whole or not at all",
        "no aborted record is visible, and no confirmed one is lost",
        "every input has one output, and offsets agree with it",
        "no transaction stays open when its producers have ended",
    )

    def __init__(self, broker: Callable[[Path], Any] | None = None, faults: tuple[str, ...] = FAULTS) -> None:
        self._faults = faults
        self._broker = broker or (lambda work: Victim(work, {**SETTINGS, "log.segment.bytes": "100000"}))

    def run(self, budget: Budget, stage: Stage) -> None:
        number = 0
        while budget.left > 0:
            number += 1
            seed = stage.dice.getrandbits(32)
            work = stage.work / f"exactly-once-{number}"
            work.mkdir(parents=True)
            try:
                self._campaign(work, Random(seed), budget, stage)
            except BrokenPromiseError as broken:
                found = f"{broken.found} (campaign seed {seed}, data in {work})"
                raise BrokenPromiseError(broken.promised, found) from broken
            shutil.rmtree(work)

    def _campaign(self, work: Path, dice: Random, budget: Budget, stage: Stage) -> None:
        libraries = dice.choice(TEAMS)
        left = ROUNDS

        def take() -> bool:
            nonlocal left
            left -= 1
            return left >= 0 and budget.take()

        with self._broker(work) as broker:
            if isinstance(broker, Victim):
                broker.settings["flush.on.ack"] = dice.choice(("true", "false"))
            broker.start()
            campaign = Campaign(broker, work, dice, libraries, self._faults)
            rounds, history = campaign.run(take, stage.tell)
            stage.figures.add("rounds of transactions", rounds)
            stage.figures.add("workers that stood still", campaign.stuck)
            counts = list(history.fates.values())
            stage.figures.add("transactions committed", counts.count(COMMITTED))
            stage.figures.add("transactions aborted", counts.count(ABORTING))
            stage.figures.add("transactions in doubt", len(counts) - counts.count(COMMITTED) - counts.count(ABORTING))
            stage.figures.add("inputs processed once", sum(history.committed.values()))
            history.check()
            if faults := getattr(broker, "faults", None):
                raise BrokenPromiseError("a broker logs no fault of its own", faults[0])
