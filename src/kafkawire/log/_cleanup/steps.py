"""Background work on a log, in steps.

Rules:
- The generator yields a step, which may run in any thread while the log is read and appended to. The code between two
  steps runs in the log's own thread. A failed step raises at its yield.
- A step uses only files that were passed to it and files that it creates, never the log.
- If the generator is closed between two steps, the log is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

T = TypeVar("T")
Step = Callable[[], object]
BackgroundWork = Generator[Step, None, T]


def run(work: BackgroundWork[T]) -> T:
    """Run all steps in this thread.

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
        return end.value  # type: ignore[no-any-return]  # the value that the generator returned
