"""Power cuts: a disk that loses, tears and reorders what was not synced, with the power gone between any two changes.

Rules:
- A disk lives through several cuts and kills, so that each meets what the one before left.
- One cut is played several times, with other dice each: every outcome must start and keep its promises.
- With flush.on.ack every acknowledged batch, offset and topic is there afterwards. Without it a cut may take the end of
  a partition, and committed offsets; never a batch in the middle, and never a topic.
- A kill takes nothing that was acknowledged, with flush.on.ack or without.
"""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Final

from kafkawire.exceptions import KafkaWireError
from torture.application import Application, verify
from torture.disks import CONFIG, PLACES
from torture.inprocess import BrokerThread, FaultLog, empty_disk
from torture.ledger import Ledger
from torture.peer import Peer, check, create, list_offsets
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from kafkawire.testing.faulty_files import FaultyFiles
    from torture.scenario import Budget, Stage

LIVES: Final = 4
OUTCOMES: Final = 4
LATEST: Final = 400
PIPELINES: Final = 60


class Power:
    """Cut after cut."""

    name = "power"
    promises = (
        "with flush.on.ack every acknowledged batch, offset and topic is there after a power cut",
        "without it a power cut takes the end of a partition at most, whole batches, and never a topic",
        "a broker starts after any power cut",
        "a kill takes nothing that was acknowledged",
    )

    def run(self, budget: Budget, stage: Stage) -> None:
        rounds = 0
        while budget.take():
            rounds += 1
            stage.tell(f"disk {rounds}, {stage.figures.get('power cuts'):.0f} cuts")
            seed = stage.dice.getrandbits(32)
            try:
                run_disk(seed, stage)
            except BrokenPromiseError as broken:
                raise BrokenPromiseError(
                    broken.promised, f"{broken.found} (python -m torture.repeat power {seed})"
                ) from broken


def run_disk(seed: int, stage: Stage) -> None:
    """The lives of one disk."""
    dice = Random(seed)
    is_flushed = dice.random() < 0.5
    config = {**CONFIG, "flush.on.ack": "true"} if is_flushed else CONFIG
    disk = empty_disk(dice)
    ledger = Ledger(stage.figures)
    application = None
    for life in range(LIVES):
        if application is None:
            application = Application(f"life{life}", ledger, dice, PLACES)
        with FaultLog():
            was_cut = _live(disk, config, ledger, application, dice)
        application.close()
        if not was_cut:
            disk.thaw()
            stage.figures.add("kills")
            _check(disk, config, ledger, "a kill")
            disk.thaw()
            continue
        outcomes = [disk.unplugged(Random(dice.getrandbits(64))) for _ in range(OUTCOMES)]
        for number, outcome in enumerate(outcomes):
            stage.figures.add("power cuts")
            copy = ledger.copy()
            _check(outcome, config, copy, f"cut {number} of life {life}", is_whole=is_flushed)
            outcome.thaw()
        disk, ledger = outcomes[-1], copy
        if is_flushed:
            application.continue_with(ledger)
        else:
            application = None


def _live(disk: FaultyFiles, config: dict[str, str], ledger: Ledger, application: Application, dice: Random) -> bool:
    """Let a broker run until its power goes, or it is killed; whether the power went."""
    cut_at_start = dice.random() < 0.2
    is_cut = dice.random() < 0.8
    if is_cut and cut_at_start:
        disk.cut_after(dice.randrange(40))
    broker = BrokerThread(disk, config)
    try:
        broker.start()
        if not cut_at_start:
            _create(broker, ledger)
            if is_cut:
                disk.cut_after(dice.randrange(LATEST))
        for _ in range(dice.randint(1, PIPELINES)):
            application.pipeline(broker.port)
            if disk.power_gone.is_set():
                break
    except (OSError, EOFError, KafkaWireError):
        if not disk.power_gone.is_set():
            raise
    finally:
        if is_cut and not disk.power_gone.is_set():
            disk.cut_after(0)
        broker.abandon()
    return is_cut


def _create(broker: BrokerThread, ledger: Ledger) -> None:
    with Peer(broker.port) as peer:
        if "orders" not in peer.topics():
            check(peer.ask(create("orders", len(PLACES))).topics[0].error_code, "creating orders")
            ledger.topic_changed("orders", exists=True)


def _check(disk: FaultyFiles, config: dict[str, str], ledger: Ledger, after: str, *, is_whole: bool = True) -> None:
    """Start a broker on what is left, and check the promises."""
    with FaultLog() as log:
        broker = BrokerThread(disk, config)
        try:
            broker.start()
        except Exception as error:
            raise BrokenPromiseError("a broker starts after any stop", f"{error!r} after {after}") from error
        try:
            if not is_whole:
                ledger.forget_commits()
                _forget_ends(ledger, broker.port)
            ledger.begin_again()
            verify(ledger, broker.port)
        except BrokenPromiseError as broken:
            raise BrokenPromiseError(broken.promised, f"{broken.found} after {after}") from broken
        except (OSError, EOFError) as error:
            raise BrokenPromiseError("a broker answers after any stop", f"{error!r} after {after}") from error
        finally:
            broker.abandon()
    if log.faults:
        raise BrokenPromiseError("no stop makes a broker log a fault of its own", log.faults[0][-1500:])


def _forget_ends(ledger: Ledger, port: int) -> None:
    with Peer(port) as peer:
        for place in ledger.places:
            answered = peer.ask(list_offsets(*place)).topics[0].partitions[0]
            check(answered.error_code, f"the end of {place}")
            ledger.forget_after(place, answered.offset)
