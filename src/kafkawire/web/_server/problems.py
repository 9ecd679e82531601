"""The errors that the page shows.

Rules:
- A problem has a status of HTTP and a text that says what to do. `column` is the place in the text that the user typed.
- Other errors of kafkawire are answered with 422 and their text. Anything else is a defect: 500, and a log entry.
"""

from __future__ import annotations

from kafkawire.exceptions import KafkaWireError


class Problem(KafkaWireError):  # noqa: N818  # the page calls it so
    """A request that the page cannot serve."""

    def __init__(self, text: str, *, status: int = 422, column: int | None = None) -> None:
        super().__init__(text)
        self.status, self.column = status, column


def missing(what: str) -> Problem:
    """The problem that something is not there, or not any more."""
    return Problem(f"{what} is not there any more; open it again", status=404)
