"""The short form of `make torture`: every scenario with a small budget and a fixed seed.

`-m 'not torture'` leaves it out.
"""

from __future__ import annotations

import logging
from random import Random
from typing import TYPE_CHECKING

import pytest
from torture.clocks import Clocks
from torture.disks import Disks
from torture.floods import FLOODS, Floods
from torture.hostile import Hostile
from torture.kills import Kills
from torture.power import Power
from torture.scenario import Budget, Stage

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [pytest.mark.torture, pytest.mark.filterwarnings("ignore::ResourceWarning")]
SEED = 20261116


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


def test_hostile_frames_hurt_nobody(stage: Stage) -> None:
    Hostile().run(Budget(30, rounds=3), stage)
    assert stage.figures.get("hostile frames answered") > 1000


def test_floods_do_not_stop_a_neighbour(stage: Stage) -> None:
    Floods(scale=0.05).run(Budget(60, rounds=len(FLOODS)), stage)
    assert stage.figures.get("floods") == len(FLOODS)


def test_a_clock_that_is_set_ends_nothing(stage: Stage) -> None:
    Clocks().run(Budget(30, rounds=4), stage)
    assert stage.figures.get("clock jumps") == 4
