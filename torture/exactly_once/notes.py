"""The journal of a worker: the fate of its transactions, as far as the worker learned it.

Rules:
- Every note is one line, written before the next step is taken. A killed worker leaves a complete journal.
- A transaction with the note BEGIN and no later note is in doubt: it may be committed or aborted, as a whole.
- COMMITTING alone is in doubt too: the broker may have committed it.
- ABORTING excludes a commit: the worker never asked for one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Self

BEGIN: Final = "begin"
COMMITTING: Final = "committing"
COMMITTED: Final = "committed"
ABORTING: Final = "aborting"
FENCED: Final = "fenced"
"""The producer was fenced or its transaction expired; the outcome is the one of the note before."""


class Journal:
    """The notes of one worker process."""

    def __init__(self, path: Path, worker: str) -> None:
        self._file = path.open("a", encoding="utf-8", buffering=1)
        self._worker = worker
        self._number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def begin(self) -> str:
        """The id of a new transaction."""
        self._number += 1
        transaction = f"{self._worker}.{self._number}"
        self.note(BEGIN, transaction)
        return transaction

    def note(self, event: str, transaction: str, reason: object = "") -> None:
        self._file.write(f"{event} {transaction} {' '.join(str(reason).split())}".rstrip() + "\n")


def fates(lines: Iterable[str]) -> dict[str, str]:
    """The last note about every transaction; FENCED does not replace the note before it.

    >>> fates(["begin a.1", "committing a.1", "committed a.1", "begin a.2", "fenced a.2 timed out"])
    {'a.1': 'committed', 'a.2': 'begin'}
    """
    found: dict[str, str] = {}
    for line in lines:
        event, _, rest = line.partition(" ")
        transaction = rest.split(" ", 1)[0].strip()
        if event != FENCED:
            found[transaction] = event
    return found
