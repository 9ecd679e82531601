"""Run scenarios for some minutes; print figures, and exit with 1 where a promise was broken.

`python -m torture --minutes 30 --only kills,power --seed 7 --json figures.json`
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
import traceback
from pathlib import Path
from random import Random, SystemRandom
from time import monotonic
from typing import TYPE_CHECKING

from torture.clocks import Clocks
from torture.disks import Disks
from torture.exactly_once.scenario import ExactlyOnce
from torture.floods import Floods
from torture.hostile import Hostile
from torture.kills import Kills
from torture.power import Power
from torture.scenario import BROKEN, UNITS, BrokenPromiseError, Budget, Figures, Stage
from torture.sinks import Sinks

if TYPE_CHECKING:
    from torture.scenario import Scenario

SHARES = {
    "kills": 3.0,
    "power": 2.0,
    "disks": 2.0,
    "hostile": 3.0,
    "floods": 2.0,
    "clocks": 1.0,
    "exactly-once": 3.0,
    "sinks": 3.0,
}
"""How the minutes are divided."""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m torture", description="Hurt brokers and check their promises.")
    parser.add_argument("--minutes", type=float, help="for how long, all scenarios together (10; a day with --rounds)")
    parser.add_argument("--rounds", type=int, default=10**9, help="end each scenario after so many rounds")
    parser.add_argument("--only", default=",".join(SHARES), help="scenarios, by commas (all of them)")
    parser.add_argument("--seed", type=int, default=None, help="repeats a run")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument("--work", type=Path, metavar="DIR", help="where data is kept meanwhile (a temporary directory)")
    chosen = parser.parse_args(arguments)
    minutes = chosen.minutes or (10.0 if chosen.rounds == 10**9 else 24 * 60.0)
    names = chosen.only.split(",")
    if unknown := [name for name in names if name not in SHARES]:
        parser.error(f"no scenario {', '.join(unknown)}; there are {', '.join(SHARES)}")
    seed = SystemRandom().getrandbits(32) if chosen.seed is None else chosen.seed
    work = chosen.work or Path(tempfile.mkdtemp(prefix="torture-"))
    seconds = minutes * 60 / sum(SHARES[name] for name in names)
    figures, broken = Figures(), []
    for name in BROKEN:
        figures.add(name, 0)
    print(f"seed {seed}, {minutes:g} minutes, data in {work}", flush=True)
    for scenario in (Kills(), Power(), Disks(), Hostile(), Floods(), Clocks(), ExactlyOnce(), Sinks()):
        if scenario.name in names:
            budget = Budget(seconds * SHARES[scenario.name], chosen.rounds)
            found = run(scenario, budget, seed, work, figures)
            if found is not None:
                broken.append(found)
    print(table(figures))
    for each in broken:
        print(f"\nBROKEN in {each['scenario']}\n  promised: {each['promised']}\n  found:    {each['found']}")
        print(f"  again:    python -m torture --only {each['scenario']} --seed {seed} --minutes {minutes:g}")
    if chosen.json:
        chosen.json.write_text(json.dumps({"seed": seed, "figures": dict(figures.items()), "broken": broken}, indent=2))
    if broken:
        print(f"\nthe data is kept in {work}")
        return 1
    shutil.rmtree(work, ignore_errors=True)
    return 0


def run(scenario: Scenario, budget: Budget, seed: int, work: Path, figures: Figures) -> dict[str, str] | None:
    """Run one scenario; what it found broken, if anything."""
    line = ProgressLine(scenario.name, budget.end)
    stage = Stage(work, Random(f"{seed} {scenario.name}"), line.show)
    try:
        scenario.run(budget, stage)
    except BrokenPromiseError as broken:
        line.close("BROKEN")
        return {"scenario": scenario.name, "promised": broken.promised, "found": broken.found}
    except Exception:
        line.close("FAILED")
        return {"scenario": scenario.name, "promised": "the scenario runs", "found": traceback.format_exc()}
    finally:
        figures.merge(stage.figures)
    line.close("kept every promise")
    return None


class ProgressLine:
    """One line that is written over on a terminal, and now and then elsewhere."""

    def __init__(self, name: str, end: float) -> None:
        self._name, self._end = name, end
        self._is_terminal = sys.stdout.isatty()
        self._next = 0.0

    def show(self, words: str) -> None:
        now = monotonic()
        if now >= self._next:
            self._next = now + (0.2 if self._is_terminal else 10.0)
            text = f"{self._name:12} {max(0, self._end - now):5.0f} s left  {words}"
            columns = shutil.get_terminal_size().columns - 1
            print(f"\r{text[:columns]:{columns}}" if self._is_terminal else text, end="", flush=True)
            if not self._is_terminal:
                print(flush=True)

    def close(self, words: str) -> None:
        self._next = 0.0
        self.show(words)
        if self._is_terminal:
            print(flush=True)


def table(figures: Figures) -> str:
    """The figures as text."""
    rows = [
        (name, f"{value:,.1f}" if UNITS[name] in ("ms", "MB") else f"{value:,.0f}") for name, value in figures.items()
    ]
    width = max((len(name) for name, _ in rows), default=0)
    return "\n".join(["", *(f"{name:{width}}  {value:>14} {UNITS[name]}".rstrip() for name, value in rows)])


if __name__ == "__main__":
    status = main(sys.argv[1:])
    sys.stdout.flush()
    os._exit(status)  # clients of other libraries keep threads that a broken promise leaves behind
