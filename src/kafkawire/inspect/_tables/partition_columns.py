"""The rows of partitions, read from frames without objects.

`_partition_columns.pyx` is the compiled twin. Rules of `read_partitions`:
- `wanted` has a byte per exchange; exchanges whose byte is 0 are skipped.
- A row has the numbers of ROW: the exchange, the name and the id of the topic, the partition, and VALUES.
- Names and ids are numbers of `names` and `ids`, which map bytes to numbers. An absent name is that of no bytes.
- Records are (row, whether a response has them, bytes). The rows of an exchange are in the order of the reference.
- It returns the rows, the records, and the exchanges that it read. The reference, `partition_rows`, reads the others.
- This form leaves every exchange to the reference.
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final

from kafkawire.inspect._tables.partition_programs import VALUES

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray

    from kafkawire.inspect._capture.frames import Frames
    from kafkawire.inspect._tables.partition_programs import Divided

ROW: Final = ("exchange", "name", "id", "partition", *VALUES)


def read_partitions(
    requests: Frames,
    responses: Frames,
    asked: NDArray[np.int64],
    answered: NDArray[np.int64],
    wanted: NDArray[np.uint8],
    program: Callable[[int, int], Divided | None],
    names: dict[bytes, int],
    ids: dict[bytes, int],
) -> tuple[array[int], list[tuple[int, bool, bytes]], list[int]]:
    """The rows of exchanges, their records, and the exchanges that were read."""
    return array("q"), [], []
