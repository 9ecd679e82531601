"""A worker that consumes, transforms and produces in transactions: the loop that all client libraries share.

Rules:
- A worker is a process, so that it can be killed and stopped. SIGTERM ends it after its transaction.
- A worker reads from the committed offsets of its group. After an abort it reads from there again.
- An `assigned` worker has fixed partitions and keeps its transactional id: its successor fences it.
- A `subscribed` worker shares the partitions with its group, under an id of its own. The generation of the group
  fences it (KIP-447), and readers of offsets wait for open transactions.
- An error that the library calls abortable leads to an abort; one that it calls fatal ends the process with FATAL.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Final

from torture.exactly_once.history import Output
from torture.exactly_once.notes import ABORTING, COMMITTED, COMMITTING, FENCED, Journal

if TYPE_CHECKING:
    from pathlib import Path

INPUT: Final = "input"
OUTPUTS: Final = ("left", "right")
GROUP: Final = "workers"
PARTITIONS: Final = 4
FATAL: Final = 3
MOST_INPUTS: Final = 20


@dataclass(frozen=True)
class Task:
    """One worker process."""

    bootstrap: str
    name: str
    transactional_id: str
    journal: Path
    seed: int
    partitions: tuple[int, ...] = ()
    """The partitions of an assigned worker; none for a subscribed one."""
    abort_chance: float = 0.2
    timeout_ms: int = 4_000


class MustAbortError(Exception):
    """The transaction has to be aborted; the worker can go on."""


class MustEndError(Exception):
    """The producer cannot be used any more."""


class Worker(ABC):
    """The loop that all libraries share."""

    def __init__(self, task: Task) -> None:
        self.task = task
        self.is_stopping = False
        self._dice = Random(task.seed)

    def run(self) -> None:
        """Work until SIGTERM; MustEndError if the producer is fenced or otherwise unusable."""
        self.open()
        with Journal(self.task.journal, self.task.name) as journal:
            while not self.is_stopping:
                inputs = self.poll(self._dice.randint(1, MOST_INPUTS))
                if inputs:
                    self._transact(inputs, journal)
        self.close()

    def _transact(self, inputs: list[tuple[int, int]], journal: Journal) -> None:
        transaction = journal.begin()
        asked = False
        try:
            self.begin()
            for partition, offset in inputs:
                value = Output(transaction, len(inputs) * len(OUTPUTS), partition, offset).encode()
                self.produce(OUTPUTS[0], offset % PARTITIONS, value)
                self.produce(OUTPUTS[1], (7 * offset + partition) % PARTITIONS, value)
            if self._dice.random() < self.task.abort_chance / 2:
                raise MustAbortError("before offsets are sent")
            self.send_offsets({partition: offset + 1 for partition, offset in inputs})
            if self._dice.random() < self.task.abort_chance / 2:
                raise MustAbortError("after offsets were sent")
            journal.note(COMMITTING, transaction)
            asked = True
            self.commit()
            journal.note(COMMITTED, transaction)
        except MustAbortError as error:
            if not asked:
                journal.note(ABORTING, transaction, error)
            self._abort(transaction, journal)
        except MustEndError as error:
            journal.note(FENCED, transaction, error)
            raise

    def _abort(self, transaction: str, journal: Journal) -> None:
        try:
            self.abort()
            self.rewind()
        except (MustEndError, MustAbortError) as error:
            journal.note(FENCED, transaction, error)
            raise MustEndError(str(error)) from error

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def close(self) -> None: ...

    @abstractmethod
    def poll(self, most: int) -> list[tuple[int, int]]:
        """Partitions and offsets of input records, in order per partition."""

    @abstractmethod
    def begin(self) -> None: ...

    @abstractmethod
    def produce(self, topic: str, partition: int, value: bytes) -> None: ...

    @abstractmethod
    def send_offsets(self, offsets: dict[int, int]) -> None: ...

    @abstractmethod
    def commit(self) -> None: ...

    @abstractmethod
    def abort(self) -> None: ...

    @abstractmethod
    def rewind(self) -> None:
        """Read from the committed offsets again."""
