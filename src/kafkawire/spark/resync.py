"""Finding where sound batches go on, behind bytes that are none.

Rules:
- A batch is believed only whole: a header that makes sense, offsets behind the last known one, and a CRC that agrees.
- Bytes that look like a header are common in hostile files and each costs a CRC, so the search ends after a number of
  them turned out false; what follows is lost then.
- Offsets from 2**48 on do not occur, which rules out nearly every false start cheaply.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final

import numpy as np

from kafkawire.records import scan_batches

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafkawire.spark.listing import OpenFile

_WINDOW: Final = 4 * 1024 * 1024
_HEAD: Final = 17
_SMALLEST: Final = 26
_MAX_CANDIDATES: Final = 256


def find_batch(file: OpenFile, position: int, end: int, *, after_offset: int) -> int | None:
    """The first position behind `position` at which a sound batch starts that ends by `end`, if there is one."""
    for candidate, size in islice(_candidates(file, position + 1, end), _MAX_CANDIDATES):
        scan = scan_batches(file.read(candidate, size), limit=1)
        if scan.count and scan.base_offset[0] > after_offset:
            return candidate
    return None


def _candidates(file: OpenFile, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Positions whose first bytes could be those of a batch that ends in time, with its size."""
    while end - start > _HEAD:
        data = np.frombuffer(file.read(start, min(_WINDOW, end - start)), np.uint8)
        count = len(data) - _HEAD + 1
        if count <= 0:
            return
        possible = np.flatnonzero((data[:count] == 0) & (data[1 : count + 1] == 0) & (data[16 : count + 16] <= 2))
        sizes = 12 + np.stack([data[possible + 8 + byte] for byte in range(4)], axis=1).view(">i4")[:, 0].astype(
            np.int64
        )
        fitting = (sizes >= _SMALLEST) & (sizes <= end - start - possible)
        yield from zip((possible[fitting] + start).tolist(), sizes[fitting].tolist(), strict=True)
        start += count
