"""How every benchmark measures and what it reports.

Rules:
- Machines are noisy, so contenders take turns: one round of each, then the next round; the best round of each counts.
- A row is a ratio (ours against a peer, or a rate) and the floor it must not fall below.
- A peer that is not installed is reported as missing, never as beaten.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from time import perf_counter

Work = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    work: str
    measure: str
    value: float
    floor: float | None = None
    at_most: bool = False
    note: str = ""

    @property
    def holds(self) -> bool:
        if self.floor is None:
            return True
        return self.value <= self.floor if self.at_most else self.value >= self.floor


def best_times(contenders: Mapping[str, Work], *, seconds: float = 0.25, rounds: int = 7) -> dict[str, float]:
    """Seconds a call of each contender, the best of interleaved rounds."""
    loops: dict[str, int] = {}
    for name, work in contenders.items():
        work()
        start = perf_counter()
        work()
        once = max(perf_counter() - start, 1e-7)
        loops[name] = max(1, int(seconds / rounds / once))
    best = dict.fromkeys(contenders, float("inf"))
    for _ in range(rounds):
        for name, work in contenders.items():
            gc.collect()
            count = loops[name]
            start = perf_counter()
            for _ in range(count):
                work()
            best[name] = min(best[name], (perf_counter() - start) / count)
    return best


def ratios(work: str, ours: Work, peers: Mapping[str, Work | None], floors: Mapping[str, float]) -> Iterator[Row]:
    """One row a peer: how many times faster ours is."""
    present = {name: peer for name, peer in peers.items() if peer is not None}
    best = best_times({"ours": ours, **present})
    for name in peers:
        if name not in present:
            yield Row(work, f"{name} is not installed", float("nan"))
            continue
        note = f"{best['ours'] * 1e6:,.1f} us against {best[name] * 1e6:,.1f} us"
        yield Row(work, f"x {name}", best[name] / best["ours"], floors.get(name), note=note)


def growth(work: str, unit: str, costs: Mapping[int, float]) -> Row:
    """How much more a unit costs in the largest input than in the one before; `costs` has the seconds a unit by size.

    The smallest input is only shown: there, what is paid once outweighs the rest.
    """
    *_, before, last = costs.values()
    shown = ", ".join(f"{size:,}: {cost * 1e6:,.2f}" for size, cost in costs.items())
    return Row(
        f"growth of {work}", "x the last size", last / before, 1.3, at_most=True, note=f"us per {unit} of {shown}"
    )


def render(rows: Iterator[Row]) -> bool:
    """Print rows as they come; tell whether every floor holds."""
    fine = True
    for row in rows:
        bound = "" if row.floor is None else f"{'at most' if row.at_most else 'at least'} {row.floor:g}"
        mark = "ok  " if row.holds else "MISS"
        fine &= row.holds
        print(f"{mark} {row.work:<58} {row.value:>9.2f} {row.measure:<18} {bound:<14} {row.note}", flush=True)
    return fine
