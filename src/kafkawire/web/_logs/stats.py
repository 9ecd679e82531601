"""The checks and the measures of logs, as a stream: first the faults, then the statistics of `kafkawire log stats`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from kafkawire.exceptions import KafkaWireError
from kafkawire.log import available_codecs, collect_stats, log_files, stats_sections, verify_paths

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from threading import Event

MOST_FAULTS: Final = 2_000


class LeftError(KafkaWireError):
    """The tab was closed while files were read."""


def measured(paths: Sequence[Path], stop: Event, *, what_if: bool) -> Iterator[dict[str, Any]]:
    """The events: `faults`, `checked`, `done` in percent, `sections`."""
    for number, fault in enumerate(verify_paths(paths)):
        if stop.is_set() or number == MOST_FAULTS:
            break
        place = None if fault.position < 0 else fault.position
        yield {"faults": [[f"{fault.path.parent.name}/{fault.path.name}", place, fault.message]]}
    yield {"checked": True}
    files = [found for path in paths for found in log_files(path)]
    total = max(1, sum(path.stat().st_size for path in files))
    done = 0

    def progress(size: int) -> None:
        nonlocal done
        done += size
        if stop.is_set():
            raise LeftError

    # One file after the other would count its keys apart, so all are collected at once.
    stats = collect_stats(files, codecs=available_codecs() if what_if else [], progress=progress)
    yield {"done": round(100 * done / total)}
    for title, columns, rows in stats_sections(stats):
        if rows:
            are_numbers = [all(isinstance(row[at], int | float | None) for row in rows) for at in range(len(columns))]
            heads = [f">{name}" if is_number else name for name, is_number in zip(columns, are_numbers, strict=True)]
            yield {"sections": [{"title": title, "heads": heads, "rows": rows}]}
    yield {"end": "all"}
