"""What happens in a broker, one line each: words for people, fields for machines.

Rules:
- A line is for who operates the broker: what began, ended or changed, not what every request does. That is there too,
  for `-v`, and costs nothing without.
- Fields have the same names in every event.
- Clients choose names: whatever is in one, it begins no line and moves no cursor.
"""

from __future__ import annotations

import json
import logging
from typing import Final

_log: Final = logging.getLogger("kafkawire.broker")


def tell(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log an event.

    >>> tell("topic created", topic="orders", partitions=3)
    """
    if _log.isEnabledFor(level):
        words = (event, *(f"{name}={_text(value)}" for name, value in fields.items()))
        _log.log(level, "%s", " ".join(words), extra={"fields": {"event": event, **fields}})


def tells_all() -> bool:
    """Whether somebody wants to hear of every connection and request."""
    return _log.isEnabledFor(logging.DEBUG)


def _text(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or " " in text or '"' in text or not text.isprintable() else text
