"""The short form of `make torture`: every scenario with a small budget and a fixed seed.

`-m 'not torture'` leaves it out.
"""

from __future__ import annotations

import logging
from random import Random
from typing import TYPE_CHECKING

import pytest
from tests.spark.class_archive import java_options
from torture.clocks import Clocks
from torture.disks import Disks
from torture.exactly_once.scenario import ExactlyOnce
from torture.floods import FLOODS, Floods
from torture.hostile import Hostile
from torture.kills import Kills
from torture.power import Power
from torture.scenario import BrokenPromiseError, Budget, Stage
from torture.sinks import Sinks

from kafkawire.spark import JavaNotFoundError
from kafkawire.spark.java import find_java

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.torture, pytest.mark.filterwarnings("ignore::ResourceWarning")]
SEED = 20261116
BUSY_MS = 2000.0
"""How long a neighbour may wait on a machine that runs other tests."""
ATTEMPTS = 3
"""A machine may stand still for as long, but not each time. A broker that keeps a neighbour waiting does it again."""


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path, Random(SEED), logging.getLogger("torture").info)


def test_kills_take_nothing_that_was_acknowledged(stage: Stage) -> None:
    Kills(few=True).run(Budget(30, rounds=7), stage)
    assert stage.figures.get("restarts") == 7
    assert stage.figures.get("records acknowledged") > 100


def test_power_cuts_leave_what_was_promised(stage: Stage) -> None:
    Power().run(Budget(30, rounds=6), stage)
    assert stage.figures.get("power cuts") >= 40


def test_failing_disks_are_errors_and_lose_nothing(stage: Stage) -> None:
    Disks().run(Budget(30, rounds=100), stage)
    assert stage.figures.get("faults injected") >= 100


def run_again_if_slow(run: Callable[[Stage], None], work: Path) -> Stage:
    """Run a scenario until its neighbour is served in time. All other promises hold in every attempt."""
    for attempt in range(ATTEMPTS):
        stage = Stage(work / str(attempt), Random(SEED), logging.getLogger("torture").info)
        try:
            run(stage)
            break
        except BrokenPromiseError as broken:
            if attempt == ATTEMPTS - 1 or "neighbour" not in broken.promised:
                raise
    return stage


def test_hostile_frames_hurt_nobody(tmp_path: Path) -> None:
    stage = run_again_if_slow(lambda stage: Hostile(stall_ms=BUSY_MS).run(Budget(30, rounds=3), stage), tmp_path)
    assert stage.figures.get("hostile frames answered") > 1000


def test_floods_do_not_stop_a_neighbour(tmp_path: Path) -> None:
    def run(stage: Stage) -> None:
        Floods(scale=0.05, stall_ms=BUSY_MS).run(Budget(60, rounds=len(FLOODS)), stage)

    stage = run_again_if_slow(run, tmp_path)
    assert stage.figures.get("floods") == len(FLOODS)


def test_a_clock_that_is_set_ends_nothing(stage: Stage) -> None:
    Clocks().run(Budget(30, rounds=4), stage)
    assert stage.figures.get("clock jumps") == 4


def test_transactions_are_exactly_once_under_faults(stage: Stage) -> None:
    ExactlyOnce().run(Budget(120, rounds=5), stage)
    assert stage.figures.get("rounds of transactions") == 5
    assert stage.figures.get("transactions committed") > 20
    assert stage.figures.get("transactions aborted") > 2


def test_a_stream_to_topics_whose_driver_and_broker_are_killed_writes_every_record_once(stage: Stage) -> None:
    try:
        find_java()
    except JavaNotFoundError as error:
        pytest.skip(str(error))
    campaigns = 0
    while campaigns < 3 and not (stage.figures.get("drivers killed") and stage.figures.get("kills")):
        campaigns += 1  # a driver that ends by itself, for example because its broker was away, is not killed
        Sinks(kills=1, records=3_000, few=True, java_options=java_options()).run(Budget(600, rounds=1), stage)
    assert stage.figures.get("drivers killed") >= 1
    assert stage.figures.get("kills") >= 1
    assert stage.figures.get("records copied once") == campaigns * 3_000
