"""The choice of the files that are merged.

Rules:
- Only files smaller than the target size are merged, in their order, into files of about the target size.
- A file is merged only with smaller ones that together have at least its size. So each merge at least doubles the file
  of a byte, and a byte is rewritten a few times, however often compaction runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

TARGET: Final = 128 << 20
"""The size of the merged files, in bytes."""
STAGING: Final = ".compaction"
"""The directory beside the tables in which a table of Parquet is built again."""


def files_to_merge(sizes: Sequence[int], target: int = TARGET) -> list[list[int]]:
    """The positions of the files that become one file each.

    >>> files_to_merge([5, 5, 5, 100, 2, 500], target=200)
    [[0, 1, 2, 4]]
    >>> files_to_merge([60, 60, 60, 60], target=100)
    [[0, 1], [2, 3]]
    """
    small = sorted((position for position, size in enumerate(sizes) if size < target), key=lambda each: sizes[each])
    total = sum(sizes[position] for position in small)
    while small and 2 * sizes[small[-1]] > total:
        total -= sizes[small.pop()]
    groups: list[list[int]] = []
    size = target
    for position in sorted(small):
        if size >= target:
            groups.append([])
            size = 0
        groups[-1].append(position)
        size += sizes[position]
    return [group for group in groups if len(group) > 1]
