"""The cost of queries of Spark, in wall and processor time.

Rules:
- Contenders take turns, after a round that warms up. The cheapest round of each counts, for either time by itself.
- Processor time is that of the virtual machine and of the Python workers, with the compiler threads of the virtual
  machine. That of brokers does not count. A round in which a worker ended does not count either, because its time is
  lost with it.
"""

from __future__ import annotations

import os
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import SparkSession

ROUNDS: Final = 3
_TICKS: Final = os.sysconf("SC_CLK_TCK")


class Cost(NamedTuple):
    """Seconds of a query."""

    wall: float
    processor: float


def best_costs(spark: SparkSession, contenders: dict[str, Callable[[], None]]) -> dict[str, Cost]:
    """The cost of each contender."""
    found: dict[str, list[Cost]] = {name: [] for name in contenders}
    for turn in range(ROUNDS + 1):
        for name, work in contenders.items():
            cost = _cost(spark, work)
            while cost is None:
                cost = _cost(spark, work)
            if turn:
                found[name].append(cost)
    return {
        name: Cost(min(each.wall for each in costs), min(each.processor for each in costs))
        for name, costs in found.items()
    }


def _cost(spark: SparkSession, work: Callable[[], None]) -> Cost | None:
    """The cost of a query; None if a worker ended meanwhile."""
    before, begun = _processor(spark), perf_counter()
    work()
    wall, after = perf_counter() - begun, _processor(spark)
    if not before.keys() <= after.keys():
        return None
    return Cost(wall, sum(used - before.get(pid, 0.0) for pid, used in after.items()))


def _processor(spark: SparkSession) -> dict[int, float]:
    """Seconds of processor time of the virtual machine and each process below it."""
    machine: Any = spark
    wanted = {int(machine._jvm.java.lang.ProcessHandle.current().pid())}
    processes: dict[int, tuple[int, int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = place.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        processes[int(place.parent.name)] = (int(fields[1]), sum(map(int, fields[11:13])))
    while more := {pid for pid, (parent, _) in processes.items() if parent in wanted} - wanted:
        wanted |= more
    return {pid: processes[pid][1] / _TICKS for pid in wanted if pid in processes}
