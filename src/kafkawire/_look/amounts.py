"""Numbers as text: in full for tables, and in short for the axes of charts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, Final, Literal

Unit = Literal["text", "count", "bytes", "us", "share", "ms", "code", "exchange"]
_SIZES: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_COUNTS: Final = ("", "k", "M", "G", "T")


def show(value: Any, unit: Unit) -> str:
    """A value in full, for tables.

    >>> show(1234567, "count"), show(2048, "bytes"), show(1500, "us"), show(0.125, "share"), show(None, "count")
    ('1\\u202f234\\u202f567', '2.0 KiB', '1.5 ms', '12.5 %', '-')
    """
    if value is None:
        return "-"
    if unit == "count":
        return f"{value:,}".replace(",", "\u202f")
    if unit == "bytes":
        return _scaled(value, _SIZES, 1024)
    if unit == "us":
        return duration(value)
    if unit == "share":
        return f"{100 * value:.1f} %"
    if unit == "ms":
        return moment(value)
    return str(value)


def short(value: float, unit: Unit) -> str:
    """A value in short, for the axis of a chart.

    >>> short(1_500_000, "count"), short(3 << 20, "bytes"), short(20, "count"), short(0.5, "bytes"), short(1000, "us")
    ('1.5M', '3 MiB', '20', '0.5 B', '1 ms')
    """
    if unit == "bytes":
        return _scaled(value, _SIZES, 1024).replace(".0 ", " ") if value >= 1024 else f"{value:g} B"
    if unit == "us":
        return duration(value).replace(".0 ", " ")
    return _scaled(value, _COUNTS, 1000).replace(".0", "").replace(" ", "") if value >= 1000 else f"{value:g}"


def duration(microseconds: float) -> str:
    """A duration in a suitable unit.

    >>> duration(850), duration(12_300), duration(4_000_000)
    ('850 µs', '12.3 ms', '4.0 s')
    """
    if microseconds < 1000:
        return f"{microseconds:.0f} µs"
    return f"{microseconds / 1000:.1f} ms" if microseconds < 1_000_000 else f"{microseconds / 1_000_000:.1f} s"


def moment(milliseconds: int) -> str:
    """A time in UTC, to the millisecond."""
    try:
        when = datetime.fromtimestamp(milliseconds // 1000, UTC)
    except (OverflowError, ValueError, OSError):
        return f"{milliseconds} ms"
    return when.strftime("%Y-%m-%d %H:%M:%S.") + f"{milliseconds % 1000:03}"


def _scaled(value: float, names: tuple[str, ...], base: int) -> str:
    rank = 0
    while value >= base and rank < len(names) - 1:
        value, rank = value / base, rank + 1
    return f"{value:.0f} {names[0]}".rstrip() if rank == 0 else f"{value:.1f} {names[rank]}"
