"""Long work on groups, in steps.

Rules:
- A step is short, and leaves the groups consistent. Between two steps requests are served, so groups may change.
- A step that fails ends the work; the steps before it stay done.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from kafkawire.broker._dispatch.registry import RequestContext

T = TypeVar("T")
Steps = Generator[None, None, T]


def finish(steps: Steps[T]) -> T:
    """Run all steps here and now; returns the result of the work.

    >>> def work():
    ...     yield
    ...     return "done"
    >>> finish(work())
    'done'
    """
    try:
        while True:
            next(steps)
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the generator returned


async def finish_in_turns(steps: Steps[T], context: RequestContext) -> T:
    """Run all steps on behalf of a request, which lets other connections be served in between."""
    try:
        while True:
            next(steps)
            await context.yield_if_due()
    except StopIteration as end:
        return end.value  # type: ignore[no-any-return]  # what the generator returned
    finally:
        steps.close()
