"""Times and counts as people type them, with one syntax in every command.

Rules:
- A time is milliseconds since 1970, an ISO time, a clock time, or a distance such as `-2h`. A leading @ is ignored.
- A time without a zone is UTC, as in Kafka's own tools. A clock time is the latest one that is not in the future.
- Counts are not negative. Their errors are those of argparse, so that the usage is printed too.
"""

from __future__ import annotations

import argparse
import re
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from datetime import time as clock_time
from typing import Final

from kafkawire.cli.registry import UsageError

TIMES: Final = "milliseconds, @2026-01-31T12:00, @12:30 or @-2h (s, m, h, d)"
_UNITS: Final = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_time(text: str, now: float | None = None) -> int:
    """Parse a time into milliseconds since 1970.

    >>> parse_time("1700000000000", 0), parse_time("2023-11-14T22:13:20", 0), parse_time("@-2h", 7200.5)
    (1700000000000, 1700000000000, 500)
    >>> parse_time("01:30", 7200), parse_time("23:00", 7200)
    (5400000, -3600000)
    """
    said = text.removeprefix("@")
    seconds = time.time() if now is None else now
    if said.isdecimal():
        return int(said)
    ago = re.fullmatch(r"-(\d{1,9})([smhd])", said)
    if ago is not None:
        return int((seconds - int(ago[1]) * _UNITS[ago[2]]) * 1000)
    with suppress(ValueError, OverflowError):
        return round(_moment(said, datetime.fromtimestamp(seconds, UTC)).timestamp() * 1000)
    raise UsageError(f"time {said!r}: expected {TIMES}")


def moment(text: str) -> datetime:
    """A time as the type of an argument."""
    try:
        return datetime.fromtimestamp(parse_time(text) / 1000, UTC)
    except (UsageError, ValueError, OverflowError, OSError):
        raise argparse.ArgumentTypeError(f"{text!r}: expected {TIMES}") from None


def span(text: str) -> int:
    """A length of time in milliseconds, as the type of an argument.

    >>> span("1h"), span("250")
    (3600000, 250)
    """
    found = re.fullmatch(r"(\d{1,15})(ms|[smhd])?", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"{text!r}: expected milliseconds, or a time such as 30s, 15m, 12h or 7d")
    return int(found[1]) * (1 if found[2] in (None, "ms") else _UNITS[found[2]] * 1000)


def count(text: str) -> int:
    """A number from 0 on, as the type of an argument."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 0 on")
    return int(text)


def positive(text: str) -> int:
    """A number from 1 on, as the type of an argument."""
    if not text.isdecimal() or int(text) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a whole number from 1 on")
    return int(text)


def port(text: str) -> int:
    """A port, as the type of an argument."""
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise argparse.ArgumentTypeError(f"{text!r}: expected a port from 1 to 65535")
    return int(text)


def _moment(text: str, now: datetime) -> datetime:
    if re.match(r"\d{1,2}:", text):
        clock = clock_time.fromisoformat(text.zfill(5) if text[1] == ":" else text)
        today = datetime.combine(now, clock if clock.tzinfo else clock.replace(tzinfo=UTC))
        return today if today <= now else today - timedelta(days=1)
    stamp = datetime.fromisoformat(text)
    return stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)
