"""The statistics of a log as tables, for the command line and the page.

Rules:
- A section has a name, the names of its columns, and its rows. Prices add a column to the sections about codecs.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.log._offline.old_formats import FIELDS as OLD_FORMAT_FIELDS
from kafkawire.log._offline.stats import FILLS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from kafkawire.log._offline.old_formats import OldFormats
    from kafkawire.log._offline.stats import Stats

TOP_KEYS = 10
Section = tuple[str, tuple[str, ...], list[tuple[object, ...]]]


class Price(NamedTuple):
    """A price of storage: an amount for a number of bytes and a period."""

    amount: float
    size: int
    period: str


def stats_sections(
    stats: Stats, *, top: int = TOP_KEYS, cost: Price | None = None, human_size: Callable[[int], str] = str
) -> Iterator[Section]:
    """The sections of statistics; `human_size` shows a number of bytes for people."""
    facts: list[tuple[object, ...]] = [
        ("files", stats.files),
        ("bytes", stats.size),
        ("batches", stats.batches),
        ("records", stats.records),
        ("records per batch", round(stats.records / max(1, stats.batches), 2)),
        ("bytes of keys and values", stats.unpacked_bytes),
        ("control batches", stats.control_batches),
        ("empty batches", stats.empty_batches),
        ("tombstones", stats.tombstones),
        ("records without key", stats.keyless),
        ("keys", len(stats.key_records)),
        ("live keys", len(stats.alive)),
        ("bytes of live records", stats.alive_bytes),
        ("offset gaps", stats.offset_gaps),
        ("batches older than one before", stats.late_batches),
        ("first timestamp", _time(stats.first_timestamp)),
        ("last timestamp", _time(stats.last_timestamp)),
    ]
    yield "contents", ("what", "value"), facts
    formats: list[tuple[object, ...]] = [
        (magic, codec, stamps, stats.batches_by_format[magic, codec, stamps], size, human_size(size))
        for (magic, codec, stamps), size in stats.by_format.most_common()
    ]
    yield "formats", ("magic", "codec", "timestamps", "batches", "bytes", "size"), formats
    fill: list[tuple[object, ...]] = [(_fill(most), count) for most, count in sorted(stats.fill.items())]
    yield "batch fill", ("records", "batches"), fill
    keys: list[tuple[object, ...]] = [
        (key.decode("utf-8", "backslashreplace"), stats.key_records[key], size)
        for key, size in stats.key_bytes.most_common(top)
    ]
    yield "largest keys", ("key", "records", "bytes"), keys
    if stats.what_if:
        yield from _trials(stats, cost)
        if stats.old_formats.records:
            yield from _savings(stats.old_formats, cost)


def _trials(stats: Stats, cost: Price | None) -> Iterator[Section]:
    stored = stats.tried_bytes
    trials: list[tuple[object, ...]] = [("as stored", stored, 1.0 if stored else None, None, *_money(stored, cost))]
    trials += [
        (
            *(trial.codec, trial.size, round(trial.size / stored, 3) if stored else None, round(trial.seconds, 3)),
            *_money(trial.size, cost),
        )
        for trial in stats.what_if
    ]
    yield "size with other codecs", ("codec", "bytes", "of stored", "seconds", *_money_column(cost)), trials


def _savings(found: OldFormats, cost: Price | None) -> Iterator[Section]:
    """Messages of magic 0 and 1 beside the same records in magic 2, by field."""
    pairs = [(name, found.old[name], found.new[name]) for name in OLD_FORMAT_FIELDS]
    pairs.append(("all, without compression", found.old_size, found.new_size))
    rows: list[tuple[object, ...]] = [
        (name, old, new, old - new, f"{(old - new) / found.old_size:.1%}", *_money(old - new, cost))
        for name, old, new in pairs
    ]
    columns = ("field", "magic 0 and 1", "magic 2", "saved", "of all", *_money_column(cost))
    yield "old messages as magic 2, by field", columns, rows


def _money(size: int, cost: Price | None) -> tuple[object, ...]:
    return () if cost is None else (round(size * cost.amount / cost.size, 6),)


def _money_column(cost: Price | None) -> tuple[str, ...]:
    return () if cost is None else (f"per {cost.period}",)


def _fill(most: int) -> str:
    if most > FILLS[-1]:
        return f"over {FILLS[-1]}"
    return f"up to {most}"


def _time(milliseconds: int) -> str | None:
    if milliseconds < 0:
        return None
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="milliseconds")
