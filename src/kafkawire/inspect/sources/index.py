"""Where each packet of a capture file lies: what every reader of a capture format yields.

Rules:
- Columns, one item a packet, in the order of the file.
- A packet's `offset` and `captured` bytes lie within the file; `length` is what it had on the wire.
- Times are nanoseconds since 1970; -1 where the format has none (simple packet blocks).
- A file that is cut or corrupt yields the packets before the fault, and the fault in words.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kafkawire.exceptions import KafkaWireError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


class CaptureError(KafkaWireError):
    """A file that cannot be read as a capture, and where it stops making sense."""


@dataclass(slots=True)
class PacketIndex:
    """The packets of one file."""

    offset: NDArray[np.int64]
    captured: NDArray[np.int64]
    length: NDArray[np.int64]
    time: NDArray[np.int64]
    link: NDArray[np.int32]
    faults: list[str] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.offset)
