"""A partition as a strip of batches, and the list of its batches.

Rules:
- The width of a mark is its bytes. Neighbours are merged until at most the requested number of marks is left; a mark
  with a fault, a control batch or an offset gap keeps its sign.
- Positions on the strip count the bytes of all segments, one after the other.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute

from kafkawire.web._filter.columns import Field, Fields
from kafkawire.web._filter.language import parse
from kafkawire.web._server.problems import Problem

if TYPE_CHECKING:
    from kafkawire.web._logs.source import LogSource

pc: Any = pyarrow.compute  # its stubs do not know most of these calls

CODECS: Final = ("none", "gzip", "snappy", "lz4", "zstd")
BATCH_FIELDS: Final = Fields(
    {
        "offset": Field("number", "base_offset"),
        "last": Field("number", "last_offset"),
        "records": Field("number", "record_count"),
        "size": Field("size", "size"),
        "codec": Field("text", "codec"),
        "magic": Field("number", "magic"),
        "producer": Field("number", "producer_id"),
        "epoch": Field("number", "producer_epoch"),
        "sequence": Field("number", "base_sequence"),
        "leader": Field("number", "leader_epoch"),
        "control": Field("flag", "is_control"),
        "transactional": Field("flag", "is_transactional"),
        "ok": Field("flag", "crc_ok"),
        "time": Field("time", "time"),
    },
    ("codec",),
)


def batches_of(source: LogSource, topic: str, partition: int) -> Any:
    """The batches of a partition, with the columns that the views add."""
    table: Any = source.tables["batches"]
    table = table.filter(pc.and_(pc.equal(table["topic"], topic), pc.equal(table["partition"], partition)))
    files = source.files()
    numbers = pc.index_in(table["file"], value_set=pa.array(files, pa.string()))
    if not any(each["topic"] == topic and each["partition"] == partition for each in _logs(source)):
        raise Problem(f"there is no partition {topic}-{partition}", status=404)
    time = table["max_timestamp"].cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    for name, column in (("number", numbers), ("time", time)):
        table = table.append_column(name, column)
    return table


def marks_of(source: LogSource, topic: str, partition: int, span: tuple[int, int], most: int) -> dict[str, Any]:
    """The strip between two positions: segments with their files, and marks of batches."""
    table = batches_of(source, topic, partition)
    logs = [each for each in _logs(source) if each["topic"] == topic and each["partition"] == partition]
    starts, at = {}, 0
    segments = []
    for each in sorted(logs, key=lambda row: row["base_offset"]):
        starts[each["file"]] = at
        segments.append(
            {
                "start": at,
                "size": each["size"],
                "base": str(each["base_offset"]),
                "state": each["state"],
                "fault": each["fault"],
            }
        )
        at += each["size"]
    files = source.files()
    offsets = np.array([starts.get(file, 0) for file in files] or [0])
    number = np.asarray(table["number"])
    place = np.asarray(table["position"]) + offsets[number]
    order = np.argsort(place, kind="stable")
    columns = {
        name: np.asarray(table[name])[order] for name in ("size", "base_offset", "last_offset", "is_control", "crc_ok")
    }
    codec = np.asarray(pc.fill_null(pc.index_in(table["codec"], value_set=pa.array(CODECS)), 0))[order]
    place = place[order]
    low, high = max(0, span[0]), at if span[1] < 0 else min(span[1], at)
    inside = (place + columns["size"] > low) & (place < high)
    gaps = np.concatenate([[False], columns["base_offset"][1:] != columns["last_offset"][:-1] + 1])
    rows = np.flatnonzero(inside)
    step = max(1, -(-len(rows) // most))
    marks = []
    for first in range(0, len(rows), step):
        part = rows[first : first + step]
        one, last = int(part[0]), int(part[-1])
        sign = "fault" if not columns["crc_ok"][part].all() else "control" if columns["is_control"][part].any() else ""
        sign = sign or ("gap" if gaps[part].any() else "")
        marks.append(
            [
                int(place[one]),
                int(place[last] + columns["size"][last] - place[one]),
                int(np.bincount(codec[part], minlength=1).argmax()),
                sign,
                str(columns["base_offset"][one]),
                str(columns["last_offset"][last]),
                len(part),
                int(order[one]),
            ]
        )
    return {
        "size": at,
        "from": low,
        "to": high,
        "segments": segments,
        "marks": marks,
        "codecs": CODECS,
        "batches": len(table),
    }


def batch_rows(
    source: LogSource, topic: str, partition: int, text: str, start: int, count: int, *, offset: int = -1
) -> dict[str, Any]:
    """A window of the batches that fit a filter; `place` is that of the first one at an offset or after it."""
    table = batches_of(source, topic, partition)
    mask = BATCH_FIELDS.mask(table, parse(text))
    fits = table if mask is None else table.filter(mask)
    shown = fits.slice(start, count)
    rows = [
        [
            f"{row['number']}@{row['position']}",
            str(row["base_offset"]),
            str(row["last_offset"]),
            row["record_count"],
            row["size"],
            row["codec"],
            None if row["time"] is None else str(row["time"]),
            None if row["producer_id"] < 0 else f"{row['producer_id']}:{row['producer_epoch']}",
            None if row["base_sequence"] < 0 else row["base_sequence"],
            row["leader_epoch"],
            "control" if row["is_control"] else "transactional" if row["is_transactional"] else "",
            row["crc_ok"],
            row["magic"],
        ]
        for row in shown.to_pylist()
    ]
    found = np.flatnonzero(np.asarray(fits["last_offset"]) >= offset)
    place = int(found[0]) if offset >= 0 and len(found) else -1
    return {"total": len(table), "matched": len(fits), "start": start, "rows": rows, "place": place}


def _logs(source: LogSource) -> list[dict[str, Any]]:
    return [row for row in source.tables["segment_files"].to_pylist() if row["kind"] == "log"]
