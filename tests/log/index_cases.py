"""Index files of one log, right and wrong, with the words of Apache Kafka's DumpLogSegments and ours for each.

The log has four batches of three records each. The largest timestamp of the second batch is that of its second record.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from kafkawire.records import BatchBuilder

if TYPE_CHECKING:
    from pathlib import Path

TIME = 1_700_000_000_000
STEM = "00000000000000000000"


def _batch(base: int, *stamps: int) -> bytes:
    builder = BatchBuilder(base_offset=base)
    for stamp in stamps:
        builder.append(None, b"v" * 40, timestamp=TIME + stamp)
    return builder.build()


BATCHES = (_batch(0, 0, 1, 2), _batch(3, 3, 9, 5), _batch(6, 10, 11, 12), _batch(9, 20, 21, 22))
SECOND, THIRD = len(BATCHES[0]), len(BATCHES[0] + BATCHES[1])


def _index(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">ii", *entry) for entry in entries)


def _times(*entries: tuple[int, int]) -> bytes:
    return b"".join(struct.pack(">qi", TIME + stamp, offset) for stamp, offset in entries)


INDEX, TIMES = _index((5, SECOND), (8, THIRD)), _times((9, 5), (12, 8))


class IndexCase(NamedTuple):
    """Two index files, the one that is checked, and the complaint of each tool about it; None if it has none."""

    kind: str
    offsets: bytes
    times: bytes
    kafka: str | None
    ours: str | None


def _time_case(times: bytes, kafka: str | None, ours: str | None) -> IndexCase:
    return IndexCase("timeindex", INDEX, times, kafka, ours)


def _offset_case(index: bytes, kafka: str | None, ours: str | None) -> IndexCase:
    return IndexCase("index", index, TIMES, kafka, ours)


NOT_FOUND = "indexed offsets are not found in"
CASES = {
    "time: last offsets": _time_case(TIMES, None, None),
    "time: a batch without an index entry": _time_case(_times((2, 2), (12, 8)), None, None),
    "time: first offset of its batch": _time_case(_times((9, 3), (12, 8)), NOT_FOUND, "no batch ends at offset 3"),
    "time: offset of the record": _time_case(_times((9, 4), (12, 8)), NOT_FOUND, "no batch ends at offset 4"),
    "time: inside the last one": _time_case(_times((9, 5), (12, 7)), NOT_FOUND, "no batch ends at offset 7"),
    "time: past the end": _time_case(_times((9, 5), (99, 100)), NOT_FOUND, "no batch ends at offset 100"),
    "time: too late": _time_case(_times((9, 5), (13, 8)), "timestamp mismatch", f"ends at offset 8 has {TIME + 12}"),
    "time: too early": _time_case(_times((8, 5), (12, 8)), "timestamp mismatch", f"ends at offset 5 has {TIME + 9}"),
    "time: falls": _time_case(_times((12, 8), (9, 5)), "out of order timestamp", "expected it to rise"),
    "time: stays": _time_case(_times((9, 5), (9, 5)), "out of order timestamp", "expected it to rise"),
    "time: allocated ahead": _time_case(TIMES + bytes(48), None, None),
    "offset: last offsets": _offset_case(INDEX, None, None),
    "offset: the first batch": _offset_case(_index((2, 0), (8, THIRD)), None, None),
    "offset: inside its batch": _offset_case(_index((4, SECOND), (8, THIRD)), "Mismatches", "offset 4, the batch at"),
    "offset: inside the bytes": _offset_case(_index((5, SECOND + 5)), "CorruptRecordException", "no batch starts at"),
    "offset: past the end": _offset_case(_index((5, SECOND), (8, 90_000)), "exceeds end position", "position 90000"),
    "offset: allocated ahead": _offset_case(INDEX + bytes(64), None, None),
}


def write_case(directory: Path, case: IndexCase) -> Path:
    """Write a partition with these indexes; the path of the index that is checked."""
    directory.mkdir(parents=True)
    (directory / f"{STEM}.log").write_bytes(b"".join(BATCHES))
    (directory / f"{STEM}.index").write_bytes(case.offsets)
    (directory / f"{STEM}.timeindex").write_bytes(case.times)
    return directory / f"{STEM}.{case.kind}"
