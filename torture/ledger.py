"""The promises that clients got, and whether they hold.

Rules:
- A record's value is derived from its writer and its number, so that wrong bytes, and records that nobody sent, show.
- An acknowledged record is at the offset that its acknowledgement named, with its own bytes.
- The records of an idempotent writer are there once and in order per partition. Those of another writer may be there
  more than once, and their first occurrences are in order.
- A committed offset never goes back. A topic whose creation was acknowledged exists, one whose deletion was does not;
  a topic whose change was not answered may be either.
- Verification goes on where it stopped; `begin_again` lets it read everything once more.
- Clients in any thread may write here.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from threading import RLock
from typing import TYPE_CHECKING, Final, NamedTuple

from torture.scenario import BrokenPromiseError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from torture.scenario import Figures

TopicPartition = tuple[str, int]
_FILLER: Final = 40


def value_of(writer: str, number: int) -> bytes:
    """The value of a writer's record.

    >>> value_of("plain", 3)
    b'plain 3 3,3,3,'
    """
    return b"%s %d " % (writer.encode(), number) + b"%d," % number * (number % _FILLER)


class Sent(NamedTuple):
    """A record: whose, and which."""

    writer: str
    number: int


@dataclass
class Writer:
    """One producer, as the ledger knows it."""

    name: str
    is_idempotent: bool
    sent: int = 0
    acknowledged: int = 0


@dataclass
class _Partition:
    """The promises about a partition, and how far it was read."""

    position: int = 0
    promised: dict[int, Sent] = field(default_factory=dict)
    kept: dict[int, Sent] = field(default_factory=dict)
    seen: defaultdict[str, set[int]] = field(default_factory=lambda: defaultdict(set))
    last: defaultdict[str, int] = field(default_factory=lambda: defaultdict(lambda: -1))


class Ledger:
    """The promises of one data directory."""

    def __init__(self, figures: Figures) -> None:
        self._figures = figures
        self._guard = RLock()
        self._writers: dict[str, Writer] = {}
        self._partitions: defaultdict[TopicPartition, _Partition] = defaultdict(_Partition)
        self._commits: dict[tuple[str, TopicPartition], int] = {}
        self._topics: dict[str, bool | None] = {}

    def writer(self, name: str, *, idempotent: bool) -> Writer:
        with self._guard:
            return self._writers.setdefault(name, Writer(name, idempotent))

    def next_value(self, writer: Writer) -> tuple[int, bytes]:
        """The next record of a writer: its number and its value; it counts as sent."""
        with self._guard:
            number = writer.sent
            writer.sent += 1
        return number, value_of(writer.name, number)

    def acknowledge(self, writer: Writer, number: int, place: TopicPartition, offset: int) -> None:
        """A client got the answer that a record is at an offset."""
        with self._guard:
            writer.acknowledged += 1
            self._figures.add("records acknowledged")
            partition = self._partitions[place]
            before = partition.promised.get(offset) or partition.kept.get(offset)
            if before not in (None, Sent(writer.name, number)):
                raise BrokenPromiseError(
                    f"offset {offset} of {_name(place)} is {before}", f"it was given to {writer.name} {number} too"
                )
            partition.promised[offset] = Sent(writer.name, number)

    def refuse_fatally(self, writer: Writer, reason: object) -> None:
        """An error that ended a client which should have gone on."""
        self._figures.add("fatal client errors")
        raise BrokenPromiseError(f"{writer.name} never gets a fatal error", str(reason))

    @property
    def places(self) -> list[TopicPartition]:
        """Every partition that something was promised of."""
        with self._guard:
            return list(self._partitions)

    def position(self, place: TopicPartition) -> int:
        """The offset at which verification continues."""
        with self._guard:
            return self._partitions[place].position

    def begin_again(self) -> None:
        """Let verification read everything once more."""
        with self._guard:
            for partition in self._partitions.values():
                partition.position = 0
                partition.promised.update(partition.kept)
                partition.kept.clear()
                partition.seen.clear()
                partition.last.clear()

    def verify(self, place: TopicPartition, read: Callable[[int], Iterable[tuple[int, bytes]]]) -> None:
        """Check what a partition holds from the position on, up to its end, against the promises made so far."""
        with self._guard:
            partition = self._partitions[place]
            promised = dict(partition.promised)
        for offset, value in read(partition.position):
            if offset != partition.position:
                self._break("records lost", 1, f"offsets of {_name(place)} run on at {partition.position}", offset)
            found = self._check_record(place, partition, offset, bytes(value))
            with self._guard:
                expected = partition.promised.pop(offset, None)
                partition.kept[offset] = found
            if expected not in (None, found):
                self._break("records lost", 1, f"{expected} at offset {offset} of {_name(place)}", found)
            partition.position = offset + 1
        missing = {offset: sent for offset, sent in promised.items() if offset >= partition.position}
        if missing:
            self._break(
                "records lost",
                len(missing),
                f"{_name(place)} holds {missing[min(missing)]} at offset {min(missing)}",
                f"it ends at {partition.position}, {len(missing)} acknowledged records are missing",
            )

    def forget_after(self, place: TopicPartition, end: int) -> None:
        """Acknowledged records from an offset on were lost, and nobody was promised that they would not be."""
        with self._guard:
            partition = self._partitions[place]
            for known in (partition.promised, partition.kept):
                for offset in [offset for offset in known if offset >= end]:
                    del known[offset]
        self.begin_again()

    def copy(self) -> Ledger:
        """The same promises, to be kept by another broker on a copy of the data."""
        with self._guard:
            made = Ledger(self._figures)
            made._writers = self._writers
            made._commits = dict(self._commits)
            made._topics = dict(self._topics)
            for place, partition in self._partitions.items():
                made._partitions[place].promised = {**partition.kept, **partition.promised}
            return made

    def commit(self, group: str, place: TopicPartition, offset: int) -> None:
        """A client got the answer that an offset is committed."""
        with self._guard:
            self._figures.add("offsets committed")
            before = self._commits.get((group, place), -1)
            self._commits[group, place] = max(before, offset)

    def verify_commits(self, committed: Callable[[str, TopicPartition], int]) -> None:
        with self._guard:
            commits = dict(self._commits)
        for (group, place), offset in commits.items():
            found = committed(group, place)
            if found < offset:
                promise = f"offset {offset} is committed for group {group} in {_name(place)}"
                self._break("offsets gone back", 1, promise, found)

    def forget_commits(self) -> None:
        """Committed offsets may have been lost, and nobody was promised that they would not be."""
        with self._guard:
            self._commits.clear()

    def change_topic(self, name: str) -> None:
        """A topic is about to be created or deleted: until the answer it may be there or not."""
        with self._guard:
            self._topics[name] = None

    def topic_changed(self, name: str, *, exists: bool) -> None:
        """A client got the answer that a topic exists now, or does not."""
        with self._guard:
            self._topics[name] = exists
            self._figures.add("topics created", int(exists))

    def verify_topics(self, listed: Callable[[], Collection[str]]) -> None:
        """Compare the topics that a broker lists; clients may change others meanwhile."""
        with self._guard:
            before = dict(self._topics)
        found = listed()
        with self._guard:
            topics = {name: exists for name, exists in before.items() if self._topics[name] is exists}
        for name, exists in topics.items():
            if exists is not None and exists != (name in found):
                words = ("is deleted", "exists")
                self._break("records lost", 0, f"topic {name} {words[exists]}", f"it {words[not exists]}")

    def _check_record(self, place: TopicPartition, partition: _Partition, offset: int, value: bytes) -> Sent:
        words = value.split(b" ", 2)
        name = words[0].decode(errors="replace")
        writer = self._writers.get(name)
        number = int(words[1]) if len(words) == 3 and words[1].isdigit() else -1
        if writer is None or not 0 <= number < writer.sent or value != value_of(name, number):
            promise = f"{_name(place)} holds only what was sent"
            raise BrokenPromiseError(promise, f"{value[:80]!r} at offset {offset}")
        seen = partition.seen[name]
        if number in seen and writer.is_idempotent:
            self._break("records duplicated (idempotent)", 1, f"{name} {number} once", f"again at offset {offset}")
        if number < partition.last[name] and number not in seen:
            found = f"after {partition.last[name]}, at offset {offset}"
            self._break("records reordered", 1, f"{name} {number} in its turn in {_name(place)}", found)
        seen.add(number)
        partition.last[name] = max(partition.last[name], number)
        return Sent(name, number)

    def _break(self, figure: str, count: int, promised: str, found: object) -> None:
        self._figures.add(figure, count)
        raise BrokenPromiseError(promised, str(found))


def _name(place: TopicPartition) -> str:
    return f"{place[0]}-{place[1]}"
