"""One fault in a data directory, and its remedy.

Rules:
- A repair without `work` changes nothing: its remedy says what happens to the file, or what the operator has to do.
- A plan changes nothing on the disk. The work of its repairs runs in the order of the plan.
- The level is that of the log line: WARNING if nothing was lost, ERROR if something was, CRITICAL if a broker must not
  start with it.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


class Repair(NamedTuple):
    """A fault of a file, and its remedy; `position` is a byte in the file, or -1."""

    path: Path
    position: int
    fault: str
    remedy: str
    level: int = logging.WARNING
    work: Callable[[], None] | None = None
    is_repaired: bool = True
    """Whether the fault is gone after the work or, without work, after the next start of a broker."""
