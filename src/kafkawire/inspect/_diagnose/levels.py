"""The levels of findings, from the lowest: info (worth knowing), warning (has a cost), error (something fails)."""

from __future__ import annotations

from typing import Final, Literal

Level = Literal["info", "warning", "error"]
LEVELS: Final[tuple[Level, ...]] = ("info", "warning", "error")
