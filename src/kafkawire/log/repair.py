"""One fault in a data directory, and its remedy.

Rules:
- A repair without `work` changes nothing: its remedy says what happens to the file, or what an operator has to do.
- Repairs are planned without a change to the disk. Their works run in the order of the plan.
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
    """What is wrong with a file, and what is done about it; `position` is a byte in the file, or -1."""

    path: Path
    position: int
    fault: str
    remedy: str
    level: int = logging.WARNING
    work: Callable[[], None] | None = None
    is_repaired: bool = True
    """Whether nothing is wrong any more after the work, or, without work, after the next start of a broker."""
