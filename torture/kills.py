"""kill -9 and SIGTERM of a real broker process under the load of many real clients.

Rules:
- A campaign is one data directory, one crowd of clients and many restarts. Every fourth is a SIGTERM. Some kills come
  while the broker starts.
- After each restart everything that was acknowledged before it is read again; at the end everything is, from offset 0.
- flush.on.ack may differ from restart to restart: a kill takes nothing either way.
"""

from __future__ import annotations

import shutil
from random import Random
from time import sleep
from typing import TYPE_CHECKING, Final

from torture.application import verify
from torture.clients import PARTITIONS, TOPICS, Crowd
from torture.ledger import Ledger
from torture.peer import Peer, check, create
from torture.scenario import BrokenPromiseError
from torture.victim import DidNotStartError, Victim

if TYPE_CHECKING:
    from pathlib import Path

    from torture.scenario import Budget, Stage

RESTARTS: Final = 40
SETTINGS: Final = {"log.segment.bytes": "200000", "offsets.topic.num.partitions": "3"}


class Kills:
    """Campaign after campaign."""

    name = "kills"
    promises = (
        "acknowledged records are at their offsets after a kill, those of idempotent producers once and in order",
        "committed offsets never go back",
        "topics that were created exist, topics that were deleted do not",
        "an idempotent producer never gets a fatal error, and delivers every record",
        "SIGTERM ends a broker cleanly",
    )

    def __init__(self, *, few: bool = False) -> None:
        self._few = few

    def run(self, budget: Budget, stage: Stage) -> None:
        number = 0
        while budget.take():
            number += 1
            seed = stage.dice.getrandbits(32)
            work = stage.work / f"kills-{number}"
            try:
                self._campaign(work, Random(seed), budget, stage)
            except BrokenPromiseError as broken:
                found = f"{broken.found} (campaign seed {seed}, data in {work})"
                raise BrokenPromiseError(broken.promised, found) from broken
            shutil.rmtree(work)

    def _campaign(self, work: Path, dice: Random, budget: Budget, stage: Stage) -> None:
        ledger = Ledger(stage.figures)
        with Victim(work, SETTINGS) as victim:
            victim.settings["flush.on.ack"] = dice.choice(("true", "false"))
            victim.start()
            with Peer(victim.port) as peer:
                for topic in (*TOPICS, "raw"):
                    check(peer.ask(create(topic, PARTITIONS)).topics[0].error_code, f"creating {topic}")
                    ledger.topic_changed(topic, exists=True)
            crowd = Crowd(victim, ledger, dice, few=self._few)
            crowd.start()
            try:
                for restart in range(RESTARTS):
                    if restart and not budget.take():
                        break
                    stage.tell(f"restart {restart + 1} of {RESTARTS}")
                    self._restart(victim, dice, stage, cleanly=restart % 4 == 3)
                    verify(ledger, victim.port)
                    crowd.check()
            except BaseException:
                crowd.stop(patience=5)
                raise
            crowd.stop(patience=90)
            crowd.check()
            crowd.check_ended()
            ledger.begin_again()
            verify(ledger, victim.port)
            if victim.faults:
                raise BrokenPromiseError("a broker logs no fault of its own", victim.faults[0])

    def _restart(self, victim: Victim, dice: Random, stage: Stage, *, cleanly: bool) -> None:
        sleep(dice.choice((0.02, 0.1, 0.3, 0.6)) * dice.uniform(0.5, 1.5))
        stage.figures.add("resident memory max", victim.resident_mb())
        stage.figures.add("descriptors max", victim.descriptors())
        stage.figures.add("longest step on the loop", victim.longest_step_ms())
        if cleanly:
            victim.terminate()
        else:
            stage.figures.add("kills")
            victim.kill()
        victim.settings["flush.on.ack"] = dice.choice(("true", "false"))
        if dice.random() < 0.25:
            victim.launch()
            sleep(dice.uniform(0.0, 0.1))
            stage.figures.add("kills")
            victim.kill()
        try:
            victim.start()
        except DidNotStartError as error:
            raise BrokenPromiseError("a broker starts after any kill", str(error)) from error
        stage.figures.add("restarts")
