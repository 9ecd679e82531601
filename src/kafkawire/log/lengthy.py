"""Work on a log that takes long, in steps.

Rules:
- A step is yielded, and may run in any thread while the log is read and appended to; what happens between two steps
  belongs to the log's own thread. A failed step raises where it was yielded.
- A step touches files that it was given and files that nobody else knows yet, never the log.
- Work that is closed between two steps leaves the log as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")
Step = Callable[[], object]
Lengthy = Generator[Step, None, T]


def run(work: Lengthy[T]) -> T:
    """Do all of it here and now.

    >>> def two_steps():
    ...     yield lambda: print("anywhere")
    ...     return "done"
    >>> run(two_steps())
    anywhere
    'done'
    """
    try:
        step = next(work)
        while True:
            try:
                step()
            except Exception as error:
                step = work.throw(error)
            else:
                step = next(work)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the generator returned
