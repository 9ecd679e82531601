"""The impossible results of a run: what no order of commits, aborts and failures allows.

Rules:
- A transaction is visible as a whole or not at all, over all partitions that it wrote to.
- A transaction whose commit was confirmed is visible. One that was aborted on purpose is not.
- Every input record below the committed offset of the group has exactly one output per topic. No other input record has
  one. So offsets and output agree.
- The outputs of one input partition are in the order of their inputs, in each output partition.
- A reader that watched all the time saw what a later reader sees, and nothing else.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from torture.exactly_once.notes import ABORTING, COMMITTED
from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Place = tuple[str, int]
SHOWN: Final = 5


class Output(NamedTuple):
    """One output record: its transaction, how many records that has, and the input that it stands for."""

    transaction: str
    size: int
    partition: int
    offset: int

    def encode(self) -> bytes:
        return json.dumps(self).encode()

    @classmethod
    def decode(cls, value: bytes) -> Output:
        """The output in a record.

        >>> Output.decode(Output("a.1", 2, 0, 7).encode())
        Output(transaction='a.1', size=2, partition=0, offset=7)
        """
        return cls(*json.loads(value))


@dataclass
class Reading:
    """The outputs that one reader saw, by partition, each with its offset."""

    name: str
    seen: dict[Place, list[tuple[int, Output]]] = field(default_factory=lambda: defaultdict(list))

    def add(self, place: Place, offset: int, value: bytes) -> None:
        self.seen[place].append((offset, Output.decode(value)))

    @property
    def outputs(self) -> Iterable[tuple[Place, Output]]:
        for place, records in self.seen.items():
            for _, output in records:
                yield place, output


@dataclass
class History:
    """All that is known of a campaign when it is over."""

    topics: tuple[str, ...]
    """The output topics; each has one output per input."""
    committed: Mapping[int, int]
    """The committed offset of the group by input partition."""
    fates: Mapping[str, str]
    final: Reading
    live: list[Reading] = field(default_factory=list)

    def check(self) -> None:
        """Raise BrokenPromiseError for the first impossible result."""
        self._check_atomicity()
        self._check_fates()
        self._check_inputs()
        self._check_order()
        for reading in self.live:
            self._check_live(reading)

    def _check_atomicity(self) -> None:
        visible: Counter[str] = Counter()
        stated: dict[str, int] = {}
        for _, output in self.final.outputs:
            visible[output.transaction] += 1
            stated[output.transaction] = output.size
        torn = [f"{name}: {seen} of {stated[name]}" for name, seen in visible.items() if seen != stated[name]]
        _promise("a transaction is visible as a whole or not at all", torn)

    def _check_fates(self) -> None:
        visible = {output.transaction for _, output in self.final.outputs}
        lost = [name for name, fate in self.fates.items() if fate == COMMITTED and name not in visible]
        _promise("a confirmed transaction is visible", lost)
        wrong = [name for name in visible if self.fates.get(name) == ABORTING]
        _promise("no record of an aborted transaction is visible", wrong)
        unknown = [name for name in visible if name not in self.fates]
        _promise("every visible transaction was begun by a worker", unknown)

    def _check_inputs(self) -> None:
        for topic in self.topics:
            times = Counter(
                (output.partition, output.offset) for place, output in self.final.outputs if place[0] == topic
            )
            twice = [f"{place}: {count} times in {topic}" for place, count in times.items() if count > 1]
            _promise("an input has one output per topic", twice)
            expected = {(index, offset) for index, end in self.committed.items() for offset in range(end)}
            missing = [f"{place} in {topic}" for place in sorted(expected - times.keys())]
            _promise("every input below the committed offset has its output", missing)
            early = [f"{place} in {topic}" for place in sorted(times.keys() - expected)]
            _promise("no input at or above the committed offset has an output", early)

    def _check_order(self) -> None:
        for place, records in self.final.seen.items():
            last: dict[int, int] = {}
            for offset, output in records:
                before = last.get(output.partition, -1)
                if output.offset < before:
                    raise BrokenPromiseError(
                        "outputs are in the order of their inputs",
                        f"{place} offset {offset}: input {output.partition}-{output.offset} after {before}",
                    )
                last[output.partition] = output.offset

    def _check_live(self, reading: Reading) -> None:
        for place, records in reading.seen.items():
            final = self.final.seen.get(place, [])
            known = set(final)
            gone = [f"{place} {each}" for each in records if each not in known]
            _promise(f"{reading.name} saw only records that are still visible", gone)
            _promise(f"{reading.name} saw every record", [] if len(records) == len(final) else [f"{place}"])
            if records != final:
                raise BrokenPromiseError(f"{reading.name} saw records in the order of their offsets", f"{place}")


def _promise(promised: str, violations: list[str]) -> None:
    if violations:
        more = f" and {len(violations) - SHOWN} more" if len(violations) > SHOWN else ""
        raise BrokenPromiseError(promised, f"{len(violations)}: {', '.join(violations[:SHOWN])}{more}")
