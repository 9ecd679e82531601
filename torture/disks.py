"""Disks that fail and disks that are full: every kind of operation, every occurrence, once and for good.

Rules:
- A case is one fault: a kind of operation, its n-th occurrence, once or until the disk heals, EIO or ENOSPC; for a
  write, how many of its bytes arrive. Half of the cases strike while the broker starts, half of them after the log has
  come to know the producers.
- Clients send pipelines of several APIs while the fault strikes. When the disk has healed they catch up, everything
  that was acknowledged is there, and it still is after a restart, clean or not.
"""

from __future__ import annotations

import errno
from itertools import product
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple

from kafkawire.exceptions import KafkaWireError
from kafkawire.testing.faulty_files import Fault
from torture.application import Application, verify
from torture.inprocess import BrokerThread, FaultLog, empty_disk
from torture.ledger import Ledger
from torture.peer import Peer, create
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from torture.scenario import Budget, Stage

KINDS: Final = ("write", "sync", "truncate", "create", "rename", "remove", "sync_directory", "list", "open")
OCCURRENCES: Final = 16
PIPELINES: Final = 4
PLACES: Final = [("orders", 0), ("orders", 1)]
CONFIG: Final = {
    "log.segment.bytes": "3000",
    "log.index.interval.bytes": "200",
    "log.flush.scheduler.interval.ms": "5",
    "log.flush.offset.checkpoint.interval.ms": "5",
    "log.cleaner.backoff.ms": "5",
    "log.retention.check.interval.ms": "20",
    "log.segment.delete.delay.ms": "0",
    "offsets.topic.segment.bytes": "2000",
}


class Case(NamedTuple):
    """One fault."""

    kind: str
    after: int
    sticky: bool
    error: int
    keep: int
    at_start: bool
    flush_on_ack: bool
    clean: bool
    known: bool

    def __str__(self) -> str:
        when = "at start" if self.at_start else "under load"
        how = "for good" if self.sticky else "once"
        part = f" after {self.keep} bytes" if self.kind == "write" else ""
        flush = ", flush.on.ack" if self.flush_on_ack else ""
        known = ", known producers" if self.known else ""
        end = "clean" if self.clean else "killed"
        return f"{errno.errorcode[self.error]} at {self.kind} {self.after} {how}{part}, {when}{flush}{known}, {end}"


class Disks:
    """Every fault, in an order that the dice give."""

    name = "disks"
    promises = (
        "records, offsets and topics that were acknowledged are there when the disk has healed, and after a restart",
        "a broker whose disk has healed takes records again",
        "a failing disk is an error for the client, never a fault of the broker",
    )

    def run(self, budget: Budget, stage: Stage) -> None:
        while True:
            cases = all_cases()
            stage.dice.shuffle(cases)
            for number, case in enumerate(cases):
                if not budget.take():
                    return
                stage.tell(f"case {number + 1} of {len(cases)}")
                seed = stage.dice.getrandbits(32)
                try:
                    run_case(case, seed, stage)
                except BrokenPromiseError as broken:
                    raise BrokenPromiseError(
                        broken.promised, f"{broken.found} (python -m torture.repeat disks {seed} '{case}')"
                    ) from broken


def all_cases() -> list[Case]:
    return [
        Case(kind, after, sticky, error, keep, at_start, flush, clean, known)
        for kind, after, sticky, error, at_start, flush, clean, known in product(
            KINDS,
            range(OCCURRENCES),
            (False, True),
            (errno.EIO, errno.ENOSPC),
            (False, True),
            (False, True),
            (False, True),
            (False, True),
        )
        for keep in ((0, 7, 70) if kind == "write" else (0,))
    ]


def run_case(case: Case, seed: int, stage: Stage) -> None:
    """Let one fault strike, heal the disk, and check what was promised."""
    dice = Random(seed)
    config = {**CONFIG, "flush.on.ack": "true"} if case.flush_on_ack else CONFIG
    disk = empty_disk(dice)
    ledger = Ledger(stage.figures)
    application = Application("raw", ledger, dice, PLACES)
    with FaultLog() as log:
        broker = BrokerThread(disk, config)
        broker.start()
        try:
            with Peer(broker.port) as peer:
                if peer.ask(create("orders", len(PLACES))).topics[0].error_code:
                    raise BrokenPromiseError("a topic can be created", "an error")
            ledger.topic_changed("orders", exists=True)
            if case.known:
                application.catch_up(broker.port)
            if case.at_start:
                broker = _restart(broker, application, config, clean=dice.random() < 0.5, fault=_fault(case))
            else:
                disk.arm(_fault(case))
            for _ in range(PIPELINES):
                application.pipeline(broker.port)
            disk.faults.clear()
            application.catch_up(broker.port)
            verify(ledger, broker.port)
            broker = _restart(broker, application, config, clean=case.clean)
            ledger.begin_again()
            verify(ledger, broker.port)
            application.catch_up(broker.port)
        finally:
            application.close()
            broker.abandon()
            stage.figures.add("faults injected", disk.struck)
    if log.faults:
        raise BrokenPromiseError("a failing disk is not a fault of the broker", log.faults[0][-1500:])


def _fault(case: Case) -> Fault:
    return Fault(case.kind, after=case.after, error=case.error, keep=case.keep, sticky=case.sticky)


def _restart(
    broker: BrokerThread, application: Application, config: dict[str, str], *, clean: bool, fault: Fault | None = None
) -> BrokerThread:
    """End a broker and start the next on its disk; a start that a fault refuses is tried again on the healed disk."""
    application.close()
    disk = broker.files
    if clean:
        broker.stop()
    else:
        broker.abandon()
        disk.thaw()
    if fault is not None:
        disk.arm(fault)
        following = BrokerThread(disk, config)
        try:
            following.start()
        except (OSError, KafkaWireError):
            disk.faults.clear()
        else:
            return following
    following = BrokerThread(disk, config)
    following.start()
    return following
