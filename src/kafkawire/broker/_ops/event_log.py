"""The broker's log of events: one line each, with a sentence for people and fields for programs.

Rules:
- A line is for the operator of the broker: what started, stopped or changed. Requests are logged only at level DEBUG
  (`-v`), and cost nothing otherwise.
- A field has the same name in every event.
- Clients choose names. Values are escaped, so that no name can start a line or move the cursor.
"""

from __future__ import annotations

import json
import logging
from typing import Final

_log: Final = logging.getLogger("kafkawire.broker")


def log_event(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log an event.

    >>> log_event("topic created", topic="orders", partitions=3)
    """
    if _log.isEnabledFor(level):
        words = (event, *(f"{name}={_text(value)}" for name, value in fields.items()))
        _log.log(level, "%s", " ".join(words), extra={"fields": {"event": event, **fields}})


def debug_enabled() -> bool:
    """Whether every connection and request is logged."""
    return _log.isEnabledFor(logging.DEBUG)


def _text(value: object) -> str:
    text = str(value)
    return json.dumps(text) if not text or " " in text or '"' in text or not text.isprintable() else text
