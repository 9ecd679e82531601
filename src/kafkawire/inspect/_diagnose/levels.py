"""The levels of findings. The help of commands names them, so that this module needs no extra."""

from __future__ import annotations

from typing import Final, Literal

Level = Literal["info", "warning", "error"]
LEVELS: Final[tuple[Level, ...]] = ("info", "warning", "error")
"""From the lowest: worth knowing, has a cost, something fails."""
